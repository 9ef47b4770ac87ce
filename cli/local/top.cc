#include "cli/local/top.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/local/file_tail.h"
#include "cli/local/held_back.h"
#include "cli/local/objects.h"
#include "cli/local/tasks.h"
#include "kube/objects.h"
#include "model/audit_line.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/reason.h"
#include "model/strategy.h"
#include "operate/get.h"
#include "operate/list_pages.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr base::Duration kOldMeasure = std::chrono::minutes(3);  // reports come once a minute

enum Part : std::size_t { kOnline, kMid, kBatch, kFree, kSystem, kParts };

std::size_t part_of(model::Qos qos, model::PriorityClass priority_class) {
  if (qos != model::Qos::kBe) return kOnline;
  switch (priority_class) {
    case model::PriorityClass::kMid:
      return kMid;
    case model::PriorityClass::kFree:
      return kFree;
    case model::PriorityClass::kBatch:
    case model::PriorityClass::kProd:
    case model::PriorityClass::kNone:
      break;
  }
  return kBatch;
}

std::string amounts_text(const model::Resources& amounts) {
  return cat(cores_text(amounts.cpu.value), amounts.cpu.value == 1000 ? " core, " : " cores, ",
             memory_text(amounts.memory.value));
}

void take_node(const kube::Node& node, TopValues& values) {
  values.node = node.meta.name.view();
  values.capacity = {{node.capacity.cpu_milli().value_or(0)}, {node.capacity.memory_bytes().value_or(0)}};
  values.batch.sellable = {{node.allocatable.get(model::kBatchCpu)}, {node.allocatable.get(model::kBatchMemory)}};
  values.mid.sellable = {{node.allocatable.get(model::kMidCpu)}, {node.allocatable.get(model::kMidMemory)}};
  const kube::NodeCondition* isolation = node.condition(model::kIsolationCondition);
  values.isolation = isolation == nullptr ? "no agent reported its status" : cat("agent: ", isolation->reason.view());
  const std::string_view state = node.meta.labels.get(model::kStateLabel);
  if (!state.empty()) values.isolation += cat(", ordered: ", state);
}

void take_metric(const kube::NodeMetric& metric, base::WallTime now, TopValues& values) {
  if (!metric.has_node_metric || !metric.updated) return;
  values.age = now - *metric.updated;
  values.parts = {{'o', "online", {}}, {'m', "mid", {}}, {'b', "batch", {}}, {'f', "free", {}}, {'s', "system", {}}};
  for (const model::PodUsage& pod : metric.pods) values.parts[part_of(pod.qos, pod.priority)].used += pod.usage;
  for (const kube::HostApplicationMetric& one : metric.host_applications) {
    const std::size_t part =
        part_of(model::parse_qos(one.qos.view()), model::parse_priority_class(one.priority.view()));
    values.parts[part].used += {{one.usage.cpu_milli().value_or(0)}, {one.usage.memory_bytes().value_or(0)}};
  }
  values.parts[kSystem].used = {{metric.system_usage.cpu_milli().value_or(0)},
                                {metric.system_usage.memory_bytes().value_or(0)}};
  // What this machine has none of is not listed: mid and free work are rare.
  for (const std::size_t part : {kFree, kMid}) {
    if (values.parts[part].used == model::Resources())
      values.parts.erase(values.parts.begin() + static_cast<std::ptrdiff_t>(part));
  }
  if (*values.age > kOldMeasure)
    values.trouble = cat("usage was measured ", age_text(*values.age), " ago; check that the agent runs");
}

// The line that the agent holds offline work to.
void take_slo(std::string_view bytes, TopValues& values) {
  const auto slo = Json::parse(bytes);
  const Json* rules = slo ? slo->at("spec", "resourceUsedThresholdWithBE") : nullptr;
  if (rules == nullptr) return;
  const Json* enable = rules->at("enable");
  if (enable == nullptr || !enable->get_bool().value_or(false)) return;
  const auto percent = [&](std::string_view key) {
    const Json* found = rules->at(key);
    return found == nullptr ? std::nullopt : found->get_int();
  };
  values.line_cpu_percent = percent("cpuSuppressThresholdPercent");
  values.line_memory_percent = percent("memoryEvictThresholdPercent");
  const Json* policy = rules->at("cpuSuppressPolicy");
  values.line_cpu_of_sold = policy != nullptr && policy->get_string() == "idle";
}

void take_tasks(const LocalObjects& objects, const HeldBack& held, base::WallTime now, TopValues& values) {
  for (const PodSeen& pod : objects.pods) {
    if (pod.node.empty() || pod.over() || !pod.offline) continue;
    if (pod.priority_class == model::PriorityClass::kBatch) values.batch.sold += pod.asked;
    if (pod.priority_class == model::PriorityClass::kMid) values.mid.sold += pod.asked;
  }
  std::vector<const LocalTask*> waiting;
  const std::vector<LocalTask> tasks = local_tasks(objects, "", held);
  for (const LocalTask& task : tasks) {
    if (task.state == TaskState::kLimited) values.limited.push_back({task.name, "", task.why});
    if (task.queue > 0) waiting.push_back(&task);
  }
  std::ranges::sort(waiting, {},
                    [](const LocalTask* task) { return std::tuple(task->work_class != "online", task->place); });
  for (const LocalTask* task : waiting) {
    const std::string age = task->created ? cat(", ", age_text(now - *task->created)) : "";
    values.queue.push_back({cat(task->place, " ", task->name), cat(amounts_text(task->asked), age), task->why});
  }
}

std::string_view sentence_of(std::string_view id) {
  for (const model::ReasonInfo& each : model::all_reasons()) {
    if (each.id == id) return each.sentence;
  }
  return "";
}

}  // namespace

std::vector<TopRow> evicted_by(std::span<const std::string_view> lines) {
  std::vector<TopRow> out;
  for (const std::string_view line : lines) {
    const bool pods = line.contains(R"("eviction")");
    if (!pods && !line.contains(R"("CopilotTask")")) continue;  // most lines are others', and are not parsed
    const auto read = model::parse_audit_line(line);
    if (!read || read->lost > 0) continue;
    const model::AuditLine& deed = read->line;
    const bool of_copilot = deed.kind == "CopilotTask";
    if (!of_copilot && (deed.part != "eviction" || deed.kind != "Pod")) continue;
    if (deed.outcome != model::AuditOutcome::kDone) continue;
    std::string name = of_copilot ? deed.name : cat(deed.ns, "/", deed.name);
    // A container that was asked to end and killed after its grace period has two lines.
    if (of_copilot && std::ranges::find(out, name, &TopRow::name) != out.end()) continue;
    const std::string_view sentence = sentence_of(deed.reason);
    out.push_back({std::move(name), base::format_rfc3339(deed.time),
                   sentence.empty() ? deed.reason : cat(sentence, " [", deed.reason, "]")});
    if (out.size() == kTopEvictedMax) break;
  }
  return out;
}

net::Task<Result<TopValues>> read_top(net::EventLoop& loop, kube::Client& client, LocalServer server) {
  TopValues values;
  kube::Interner interner;
  std::optional<kube::Node> node;
  kube::NodeFields fields;
  fields.meta.labels = {model::kStateLabel};
  TM_CO_TRY_VOID(co_await operate::list_pages(
      loop, client, kube::kNodes, {}, server.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto read, kube::decode_node(item, fields, interner));
        // A user may have created other nodes; the ready one is this machine's.
        if (!node || (node->ready() != kube::Truth::kTrue && read.ready() == kube::Truth::kTrue))
          node = std::move(read);
        return {};
      },
      [&] { node.reset(); }));
  values.now = loop.clock().wall();
  if (node) {
    take_node(*node, values);
    TM_CO_TRY(const auto metric,
              co_await operate::get_if_there(client, kube::kNodeMetrics, "", values.node, server.limit));
    if (metric) {
      TM_CO_TRY(const auto read, kube::decode_node_metric(*metric, {}, interner));
      take_metric(read, values.now, values);
    }
    TM_CO_TRY(const auto slo, co_await operate::get_if_there(client, kube::kNodeSlos, "", values.node, server.limit));
    if (slo) take_slo(*slo, values);
  }
  TM_CO_TRY(const auto objects, co_await read_local_objects(loop, client, server.limit));
  const auto record = last_record(server.data_dir, values.now);
  if (record) values.offline_limit_milli = record->offline_limit_milli;
  take_tasks(objects, record ? held_back(*record) : HeldBack(), values.now, values);
  FileTail audit;
  read_tail(cat(server.data_dir, "/agent/audit.jsonl"), audit);
  values.evicted = evicted_by(audit.lines);
  co_return values;
}

}  // namespace tidemark::cli
