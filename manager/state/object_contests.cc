#include "manager/state/object_contests.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "manager/state/mark_write.h"
#include "manager/state/other_writer.h"
#include "manager/state/standing.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using model::Reason;
using policy::ContestEvent;

constexpr base::Duration kObjectReadLimit = std::chrono::seconds(4);
constexpr base::Duration kBeginAgain = std::chrono::seconds(1);

struct KeptInfo {
  const kube::Resource& resource;
  std::string_view fields;     // in managedFields
  std::string_view component;  // of metrics
};
constexpr std::array<KeptInfo, kKeptObjects> kKept{{
    {kube::kNodeSlos, "f:spec", "nodeslo"},
    {kube::kNodeMetrics, "f:spec", "nodemetric"},
    {kube::kNodeResourceTopologies, "f:zones", "zones"},
}};
const KeptInfo& info_of(KeptObject object) {
  return kKept[static_cast<std::size_t>(object)];
}
KeptObject object_at(std::size_t index) {
  return static_cast<KeptObject>(index);
}

// Ordered on, since `generation`.
bool ordered_on(const kube::Node& before, const kube::Node& after, std::int64_t generation, base::WallTime now) {
  const auto was = mark_of(before);
  const auto is = mark_of(after);
  if (was.label == is.label && was.detail == is.detail) return false;
  const auto marks = read_marks(is).marks;
  const auto state = policy::effective(marks, policy::Mode::kEnforce, now);
  return state.order && state.strictest() == policy::NodeState::kOn && marks.generation > generation;
}

// The last other writer of our part of the object; "" if unnamed.
std::string writer_of(KeptObject object, std::string_view bytes) {
  return other_writer(bytes, [object](const Json& fields) { return fields.member(info_of(object).fields) != nullptr; });
}

}  // namespace

ObjectContests::ObjectContests(net::EventLoop& loop, ContestContext context, const base::Log& log,
                               base::Registry& metrics)
    : loop_(loop), context_(std::move(context)), log_(log), metrics_(metrics), scope_(loop) {
  for (std::size_t i = 0; i < kKeptObjects; ++i) contested(object_at(i)).set(0);  // an alert goes by it
}

void ObjectContests::begin() {
  begun_ = true;
}

void ObjectContests::writes(KeptObject object, const model::NodeName& node) {
  if (const auto found = of(object).find(node.value); found != of(object).end()) found->second.ours.reset();
}

void ObjectContests::wrote(KeptObject object, const model::NodeName& node, std::uint64_t content,
                           std::uint64_t revision) {
  // The answer may come after the lease, or the node, has gone.
  if (!context_.leading() || context_.nodes.find({"", node.value}) == nullptr) return;
  Entry& entry = of(object)[node.value];
  entry.ours = content;
  entry.revision = revision;
}

ObjectContests::Held ObjectContests::look(KeptObject object, const model::NodeName& name, const ObjectSeen& seen) {
  const kube::Node* node = context_.nodes.find({"", name.value});
  if (node == nullptr || !context_.leading()) return {};
  if (!begun_) return {Reason::kContestObject, kBeginAgain};
  const auto found = of(object).find(name.value);
  if (found != of(object).end()) {
    Entry& entry = found->second;
    const bool stood = entry.contest.standing_back;
    ContestEvent event = ContestEvent::kNothing;
    if (stood) {
      if (seen.content != entry.seen) event = ContestEvent::kForeign;
      entry.seen = seen.content;
    } else if (seen.differs && entry.ours && seen.content != *entry.ours && seen.revision > entry.revision) {
      event = ContestEvent::kOverwritten;
      entry.ours.reset();  // once for each write of ours, however often the object changes until the next
    }
    auto step = policy::step(entry.contest, event, context_.config, loop_.clock().monotonic());
    entry.contest = std::move(step.state);
    if (event == ContestEvent::kOverwritten) {
      metrics_
          .counter("tidemark_manager_object_overwrites_total",
                   "Objects of nodes that another writer replaced, by kind.",
                   {{"component", info_of(object).component}})
          .add();
      log_.warn("another writer replaced an object of a node",
                {{"kind", info_of(object).resource.kind},
                 {"node", name.value},
                 {"reason", step.reason ? model::reason_id(*step.reason) : ""}});
    }
    if (!stood && entry.contest.standing_back) {
      entry.seen = seen.content;
      stands_back(object, *node, entry);
    }
    if (stood && !entry.contest.standing_back) returns(object, name.value, entry, Reason::kContestReturn);
    if (entry.contest.standing_back) return {Reason::kContestObject, step.again_after};
  }
  if (pools_left(object).whole(context_.pool_of(*node))) return {Reason::kContestObjectPool, std::nullopt};
  return {};
}

void ObjectContests::stands_back(KeptObject object, const kube::Node& node, Entry& entry) {
  entry.ours.reset();
  entry.pool = context_.pool_of(node);
  entry.mark_generation = read_marks(mark_of(node)).marks.generation;
  const std::string name(node.meta.name);
  const bool whole_pool = count(object, entry.pool, 1);
  log_.error(model::reason_sentence(Reason::kContestObject), {{"kind", info_of(object).resource.kind},
                                                              {"node", name},
                                                              {"pool", entry.pool},
                                                              {"reason", model::reason_id(Reason::kContestObject)}});
  if (entry.writer.empty()) scope_.spawn(find_writer(object, name));
  if (!whole_pool) return context_.look_at(name);
  log_.error(model::reason_sentence(Reason::kContestObjectPool),
             {{"kind", info_of(object).resource.kind},
              {"pool", entry.pool},
              {"reason", model::reason_id(Reason::kContestObjectPool)}});
  context_.look_at_all();
}

void ObjectContests::returns(KeptObject object, const std::string& name, Entry& entry, Reason reason) {
  entry.writer.clear();
  const std::string_view kind = info_of(object).resource.kind;
  log_.warn(model::reason_sentence(reason), {{"kind", kind}, {"node", name}, {"reason", model::reason_id(reason)}});
  if (const kube::Node* node = context_.nodes.find({"", name})) {
    context_.recorder.record(
        {"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kNormal, "CoLocationResumed",
        base::cat(kind, ": ", model::reason_sentence(reason), " [", model::reason_id(reason), "]"));
  }
  if (count(object, entry.pool, -1)) return context_.look_at_all();
  context_.look_at(name);
}

base::Gauge& ObjectContests::contested(KeptObject object) {
  return metrics_.gauge("tidemark_manager_contested_objects",
                        "Nodes whose object is left to another writer, by kind of object.",
                        {{"component", info_of(object).component}});
}

// True where the whole pool came under, or left, the rule.
bool ObjectContests::count(KeptObject object, const std::string& pool, int by) {
  const bool turned = pools_left(object).count(pool, by);
  contested(object).set(static_cast<double>(pools_left(object).nodes_in_all()));
  return turned;
}

net::Task<void> ObjectContests::find_writer(KeptObject object, std::string name) {
  auto bytes = co_await context_.reader.get(info_of(object).resource, "", name, kObjectReadLimit);
  const auto found = of(object).find(name);
  if (found == of(object).end() || !found->second.contest.standing_back) co_return;
  Entry& entry = found->second;
  if (bytes) entry.writer = writer_of(object, *bytes);
  if (entry.writer.empty()) entry.writer = kUnnamedWriter;  // or the server keeps no managedFields
  const std::string_view kind = info_of(object).resource.kind;
  log_.error("the other writer of an object", {{"kind", kind}, {"node", name}, {"writer", entry.writer}});
  if (const kube::Node* node = context_.nodes.find({"", name})) {
    context_.recorder.record(
        {"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning, "CoLocationSecondWriter",
        base::cat(kind, ", by ", entry.writer, ": ", model::reason_sentence(Reason::kContestObject), " [",
                  model::reason_id(Reason::kContestObject), "]"));
  }
  context_.look_at(name);
}

void ObjectContests::forget(KeptObject object, const std::string& node) {
  const auto found = of(object).find(node);
  if (found == of(object).end()) return;
  const bool counted = found->second.contest.standing_back;
  const std::string pool = found->second.pool;
  of(object).erase(found);
  if (counted && count(object, pool, -1)) context_.look_at_all();
}

void ObjectContests::node_changed(const std::string& name, const kube::Node* before, const kube::Node* after) {
  const bool gone = after == nullptr || (before != nullptr && before->meta.uid != after->meta.uid);
  for (std::size_t i = 0; i < kKeptObjects; ++i) {
    const auto found = entries_[i].find(name);
    if (found == entries_[i].end()) continue;
    if (gone) {
      forget(object_at(i), name);
      continue;
    }
    Entry& entry = found->second;
    if (before == nullptr || !entry.contest.standing_back) continue;
    if (!ordered_on(*before, *after, entry.mark_generation, loop_.clock().wall())) continue;
    entry.contest = {};
    returns(object_at(i), name, entry, Reason::kContestOrdered);
  }
}

void ObjectContests::take_over() {
  context_.nodes.for_each([this](const kube::ObjectKey& key, const kube::Node& node) {
    const std::string left = left_to_others(node).objects_left;
    if (left.empty()) return;
    for (std::size_t i = 0; i < kKeptObjects; ++i) {
      // "KIND (WHO)"; what only follows its pool comes under the rule again by the others.
      const std::string begin = base::cat(kKept[i].resource.kind, " (by ");
      const auto at = left.find(begin);
      if (at == std::string::npos) continue;
      Entry& entry = entries_[i][key.name];
      if (entry.contest.standing_back) continue;
      entry.contest.standing_back = true;
      entry.contest.times = 1;
      entry.contest.foreign_at = loop_.clock().monotonic();
      const std::string_view rest = std::string_view(left).substr(at + begin.size());
      const auto end = rest.find(");");
      entry.writer = rest.substr(0, end);
      if (end == std::string_view::npos && entry.writer.ends_with(')')) entry.writer.pop_back();
      if (entry.writer == kUnnamedWriter) entry.writer.clear();  // to be asked again
      stands_back(object_at(i), node, entry);
    }
  });
}

void ObjectContests::leave() {
  for (std::size_t i = 0; i < kKeptObjects; ++i) {
    entries_[i].clear();
    left_[i].clear();
    contested(object_at(i)).set(0);
  }
}

std::string ObjectContests::left(const kube::Node& node) const {
  std::string text;
  const std::string name(node.meta.name);
  for (std::size_t i = 0; i < kKeptObjects; ++i) {
    if (left_[i].none()) continue;
    std::string why;
    const auto found = entries_[i].find(name);
    if (found != entries_[i].end() && found->second.contest.standing_back) {
      why = base::cat("by ", found->second.writer.empty() ? kUnnamedWriter : std::string_view(found->second.writer));
    } else if (const std::string pool = context_.pool_of(node); left_[i].whole(pool)) {
      why = base::cat("as in pool ", pool);
    } else {
      continue;
    }
    text += base::cat(text.empty() ? "" : "; ", kKept[i].resource.kind, " (", why, ")");
  }
  return text;
}

}  // namespace tidemark::manager
