#include "manager/state/contests.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/convert.h"
#include "manager/state/mark_write.h"
#include "manager/state/other_writer.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using model::Reason;
using policy::ContestEvent;

constexpr base::Duration kReadLimit = std::chrono::seconds(4);

constexpr std::string_view kAmountFields[] = {"f:kubernetes.io/batch-cpu", "f:kubernetes.io/batch-memory",
                                              "f:kubernetes.io/mid-cpu", "f:kubernetes.io/mid-memory"};

bool owns_amounts(const Json& fields) {
  for (const std::string_view list : {"f:allocatable", "f:capacity"}) {
    const Json* owned = fields.at("f:status", list);
    if (owned == nullptr) continue;
    if (std::ranges::any_of(kAmountFields, [&](std::string_view key) { return owned->member(key) != nullptr; })) {
      return true;
    }
  }
  return false;
}

bool same_mark(const kube::Node& a, const kube::Node& b) {
  const auto x = mark_of(a);
  const auto y = mark_of(b);
  return x.label == y.label && x.detail == y.detail;
}

}  // namespace

std::string writer_of_amounts(std::string_view node_bytes) {
  return other_writer(node_bytes, owns_amounts);
}

Contests::Contests(net::EventLoop& loop, ContestContext context, const base::Log& log, base::Registry& metrics)
    : loop_(loop), context_(std::move(context)), log_(log), metrics_(metrics), scope_(loop) {}

void Contests::before_write(const model::NodeName& node, const model::ExtendedResources& amounts) {
  entries_[node.value].pending = amounts;
}

void Contests::after_write(const model::NodeName& node, bool written) {
  const auto found = entries_.find(node.value);
  if (found == entries_.end()) return;  // the node went meanwhile
  if (written) found->second.ours = found->second.pending;
  found->second.pending.reset();
}

void Contests::lost_write(const model::NodeName& node) {
  const auto found = entries_.find(node.value);
  if (found == entries_.end()) return;
  found->second.ours.reset();
  found->second.pending.reset();
}

void Contests::node_changed(const std::string& name, const kube::Node* before, const kube::Node* after) {
  const bool another = before != nullptr && after != nullptr && before->meta.uid != after->meta.uid;
  if (after == nullptr || another) {
    const auto gone = entries_.find(name);
    if (gone == entries_.end()) return;
    const bool counted = gone->second.contest.standing_back;
    const std::string pool = gone->second.pool;
    entries_.erase(gone);
    if (counted && count(pool, -1)) context_.look_at_all();
    return;
  }
  if (before == nullptr) return;
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (!same_mark(*before, *after)) {
    if (!entry.contest.standing_back) return;
    const auto marks = read_marks(mark_of(*after)).marks;
    const auto state = policy::effective(marks, policy::Mode::kEnforce, loop_.clock().wall());
    const bool ordered_on = state.order && state.strictest() == policy::NodeState::kOn;
    if (ordered_on && marks.generation > entry.mark_generation) {
      entry.contest = {};
      entry.ours.reset();
      returns(name, entry, Reason::kContestOrdered);
    }
    return;
  }
  const auto was = kube::extended_resources(before->allocatable);
  const auto is = kube::extended_resources(after->allocatable);
  if (was == is) return;
  if (entry.pending == is || entry.ours == is) return;
  if (!context_.leading()) return;
  if (entry.contest.standing_back) return happens(name, *after, entry, ContestEvent::kForeign);
  if (entry.ours == was) happens(name, *after, entry, ContestEvent::kOverwritten);
}

void Contests::take_over() {
  context_.nodes.for_each([this](const kube::ObjectKey& key, const kube::Node& node) {
    const kube::NodeCondition* condition = node.condition(model::kStateCondition);
    // Nodes that only follow their pool come under the rule again by the others.
    const bool itself = condition != nullptr && condition->reason.view() == kSecondWriter &&
                        condition->message.view().starts_with(model::reason_sentence(Reason::kContestStanding));
    if (!itself) return;
    Entry& entry = entries_[key.name];
    if (entry.contest.standing_back) return;
    entry.contest.standing_back = true;
    entry.contest.times = std::max<std::int64_t>(entry.contest.times, 1);
    entry.contest.foreign_at = loop_.clock().monotonic();
    entry.writer = left_to_others(node).watched_why;
    stands_back(key.name, node, entry);
  });
}

void Contests::leave() {
  entries_.clear();
  left_.for_each([this](const std::string& pool) { contested(pool).set(0); });
  left_.clear();
}

base::Gauge& Contests::contested(const std::string& pool) {
  return metrics_.gauge("tidemark_manager_contested_nodes",
                        "Nodes that are left to another writer of the same amounts.", {{"pool", pool}});
}

void Contests::happens(const std::string& name, const kube::Node& node, Entry& entry, ContestEvent event) {
  const bool stood = entry.contest.standing_back;
  const std::string pool = context_.pool_of(node);
  policy::ContestConfig config = context_.config;
  if (left_.whole(pool)) config.overwrites = 1;
  auto step = policy::step(entry.contest, event, config, loop_.clock().monotonic());
  entry.contest = std::move(step.state);
  if (event == ContestEvent::kOverwritten) {
    metrics_
        .counter("tidemark_manager_overwrites_total", "Amounts of nodes that another writer replaced.",
                 {{"pool", pool}})
        .add();
    log_.warn("another writer replaced amounts of a node",
              {{"node", name}, {"reason", step.reason ? model::reason_id(*step.reason) : ""}});
  }
  if (!stood && entry.contest.standing_back) stands_back(name, node, entry);
  if (stood && !entry.contest.standing_back) returns(name, entry, Reason::kContestReturn);
}

void Contests::stands_back(const std::string& name, const kube::Node& node, Entry& entry) {
  entry.ours.reset();
  entry.pool = context_.pool_of(node);
  entry.mark_generation = read_marks(mark_of(node)).marks.generation;
  const bool whole_pool = count(entry.pool, 1);
  log_.error(model::reason_sentence(Reason::kContestStandBack),
             {{"node", name}, {"pool", entry.pool}, {"reason", model::reason_id(Reason::kContestStandBack)}});
  if (entry.writer.empty()) scope_.spawn(find_writer(name));
  if (!whole_pool) return context_.look_at(name);
  log_.error(model::reason_sentence(Reason::kContestPool),
             {{"pool", entry.pool}, {"reason", model::reason_id(Reason::kContestPool)}});
  context_.look_at_all();
}

void Contests::returns(const std::string& name, Entry& entry, Reason reason) {
  entry.writer.clear();
  log_.warn(model::reason_sentence(reason), {{"node", name}, {"reason", model::reason_id(reason)}});
  if (const kube::Node* node = context_.nodes.find({"", name})) {
    context_.recorder.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kNormal,
                             "CoLocationResumed",
                             base::cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]"));
  }
  if (count(entry.pool, -1)) return context_.look_at_all();
  context_.look_at(name);
}

// True where the whole pool came under, or left, the rule.
bool Contests::count(const std::string& pool, int by) {
  const bool turned = left_.count(pool, by);
  contested(pool).set(static_cast<double>(left_.nodes(pool)));
  return turned;
}

net::Task<void> Contests::find_writer(std::string name) {
  auto bytes = co_await context_.reader.get(kube::kNodes, "", name, kReadLimit);
  const auto found = entries_.find(name);
  if (!bytes || found == entries_.end()) co_return;
  found->second.writer = writer_of_amounts(*bytes);  // "": the server keeps no managedFields of this node
  if (!found->second.writer.empty()) {
    log_.error("the other writer of a node's amounts", {{"node", name}, {"writer", found->second.writer}});
  }
  context_.look_at(name);
}

Contests::Held Contests::look(const kube::Node& node) {
  Held held;
  const auto found = entries_.find(std::string(node.meta.name));
  if (found != entries_.end()) {
    Entry& entry = found->second;
    const bool stood = entry.contest.standing_back;
    auto step = policy::step(entry.contest, ContestEvent::kNothing, context_.config, loop_.clock().monotonic());
    entry.contest = std::move(step.state);
    if (entry.contest.standing_back) {
      held.reason = Reason::kContestStanding;
      held.why = entry.writer.empty() ? kUnnamedWriter : entry.writer;
      held.again_after = step.again_after;
      return held;
    }
    if (stood) returns(found->first, entry, Reason::kContestReturn);
  }
  if (left_.none()) return held;
  if (const std::string pool = context_.pool_of(node); left_.whole(pool)) {
    held.reason = Reason::kContestPool;
    held.why = base::cat("pool ", pool);
  }
  return held;
}

}  // namespace tidemark::manager
