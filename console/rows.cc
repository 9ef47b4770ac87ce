#include "console/rows.h"

#include <algorithm>
#include <utility>

#include "kube/intern.h"
#include "model/annotations.h"
#include "model/names.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/state/mark.h"

namespace tidemark::console {
namespace {

Report report_on(const kube::Node& node, const NodeReport* report, const policy::sell::NodeStrategy& strategy,
                 const Known& known, base::WallTime now) {
  if (node.ready() != kube::Truth::kTrue) return Report::kNotReady;
  if (!known.reports) return Report::kUnread;
  if (report == nullptr || !report->updated || !report->used) return Report::kMissing;
  const bool stale = policy::sell::is_stale(*report->updated, strategy.values.degrade_time_minutes, now);
  return stale ? Report::kStale : Report::kFresh;
}

// nullopt: the book cannot be read, or does not say it.
std::optional<model::Resources> held_by_yarn(const kube::Node& node) {
  model::Resources held;
  const auto* text = node.meta.annotations.find(model::kYarnBookAnnotation);
  if (text == nullptr) return held;
  const auto book = model::parse_yarn_book(text->view());
  if (!book || !book->sold) return std::nullopt;
  for (const auto& each : *book->sold) held += each.amount;
  return held;
}

std::int64_t percent_of(std::int64_t amount, std::int64_t percent) {
  return amount / 100 * percent + amount % 100 * percent / 100;
}

// Unknown plus anything is unknown.
void add_to(std::optional<std::int64_t>& sum, std::optional<std::int64_t> amount) {
  sum = sum && amount ? std::optional(*sum + *amount) : std::nullopt;
}

void add_to(SumAmounts& sum, const RowAmounts& row) {
  sum.capacity += row.capacity;
  sum.offered += row.offered;
  add_to(sum.sold, row.sold);
  add_to(sum.line, row.line_percent ? std::optional(percent_of(row.capacity, *row.line_percent)) : std::nullopt);
  if (!row.online || !row.offline) return;
  sum.online += *row.online;
  sum.offline += *row.offline;
  sum.capacity_known += row.capacity;
}

}  // namespace

policy::state::NodeMarks marks_of(const kube::Node& node) {
  const auto text = [](const kube::Text* found) {
    return found == nullptr ? std::nullopt : std::optional(found->view());
  };
  auto reading = policy::state::read_marks(text(node.meta.labels.find(model::kStateLabel)),
                                           text(node.meta.annotations.find(model::kStateDetailAnnotation)));
  return std::move(reading.marks);
}

policy::state::EffectiveState effective_state(const kube::Node& node, const model::Pool& pool, base::WallTime now) {
  return policy::state::effective(marks_of(node), pool.modes.capacity, now);
}

std::string_view to_string(Report report) {
  switch (report) {
    case Report::kFresh:
      return "fresh";
    case Report::kStale:
      return "stale";
    case Report::kMissing:
      return "missing";
    case Report::kUnread:
      return "unread";
    case Report::kNotReady:
      return "notReady";
  }
  return "missing";
}

std::size_t NodeRow::bytes() const {
  std::size_t bytes = sizeof(NodeRow) + kube::string_bytes(name) + kube::string_bytes(pool);
  for (const std::string& each : classes_off) bytes += sizeof each + kube::string_bytes(each);
  return bytes;
}

NodeRow row_of(const kube::Node& node, const NodeReport* report, std::span<const Task* const> tasks, Settings& settings,
               const Known& known, base::WallTime now) {
  const model::Pool& pool = settings.pool_of(node);
  const policy::sell::NodeStrategy strategy = settings.strategy_of(node, pool);
  NodeRow row;
  row.name = node.meta.name.view();
  row.pool = pool.name;
  policy::state::EffectiveState state = effective_state(node, pool, now);
  row.state = state.strictest();
  if (state.order && state.order->until) {
    row.until_s = std::chrono::floor<std::chrono::seconds>(state.order->until->since_epoch).count();
  }
  row.classes_off = std::move(state.classes_off);
  row.report = report_on(node, report, strategy, known, now);
  if (report != nullptr && report->updated) {
    row.reported_s = std::chrono::floor<std::chrono::seconds>(report->updated->since_epoch).count();
  }
  row.cpu.capacity = node.capacity.cpu_milli().value_or(0);
  row.memory.capacity = node.capacity.memory_bytes().value_or(0);
  row.cpu.offered = node.allocatable.get(model::kBatchCpu);
  row.memory.offered = node.allocatable.get(model::kBatchMemory);
  if (known.tasks) {
    auto sold = held_by_yarn(node);
    row.tasks = 0;
    for (const Task* task : tasks) {
      if (!task->sold()) continue;
      if (sold) *sold += task->request;
      ++*row.tasks;
    }
    if (sold) {
      row.cpu.sold = sold->cpu.value;
      row.memory.sold = sold->memory.value;
    }
  }
  if (known.settings) {
    const model::LinePlan line = settings.line(pool, strategy, now);
    row.cpu.line_percent = line.cpu.hold;
    row.memory.line_percent = line.memory.hold;
  }
  if (row.report == Report::kFresh) {
    row.cpu.offline = report->offline.cpu.value;
    row.memory.offline = report->offline.memory.value;
    row.cpu.online = std::max<std::int64_t>(0, report->used->cpu.value - report->offline.cpu.value);
    row.memory.online = std::max<std::int64_t>(0, report->used->memory.value - report->offline.memory.value);
  }
  return row;
}

void Sums::add(const NodeRow& row) {
  ++nodes;
  if (row.report != Report::kFresh) ++unknown;
  switch (row.state) {
    case model::NodeState::kOn:
      ++on;
      break;
    case model::NodeState::kObserve:
      ++observe;
      break;
    case model::NodeState::kDraining:
      ++draining;
      break;
    case model::NodeState::kOff:
      ++off;
      break;
  }
  add_to(tasks, row.tasks);
  add_to(cpu, row.cpu);
  add_to(memory, row.memory);
}

}  // namespace tidemark::console
