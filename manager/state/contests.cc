#include "manager/state/contests.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "kube/convert.h"
#include "manager/state/mark_write.h"
#include "manager/state/other_writer.h"

namespace tidemark::manager {
namespace {

using model::Reason;
using policy::state::ContestEvent;

constexpr base::Duration kReadLimit = std::chrono::seconds(4);
constexpr base::Duration kBeginAgain = std::chrono::seconds(1);

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

struct KeptInfo {
  const kube::Resource& resource;
  std::string_view component;  // of metrics
  bool (*owns)(const Json& fields);
  Reason standing;
};
constexpr std::array<KeptInfo, kKeptObjects> kKept{{
    {kube::kNodeSlos, "nodeslo", [](const Json& fields) { return fields.member("f:spec") != nullptr; },
     Reason::kContestObject},
    {kube::kNodeMetrics, "nodemetric", [](const Json& fields) { return fields.member("f:spec") != nullptr; },
     Reason::kContestObject},
    {kube::kNodeResourceTopologies, "zones", [](const Json& fields) { return fields.member("f:zones") != nullptr; },
     Reason::kContestObject},
    {kube::kNodes, "amounts", owns_amounts, Reason::kContestStanding},
}};
const KeptInfo& info_of(KeptObject object) {
  return kKept[static_cast<std::size_t>(object)];
}
constexpr std::array kAllKept{KeptObject::kNodeSlo, KeptObject::kNodeMetric, KeptObject::kZones, KeptObject::kAmounts};

std::uint64_t content_of(const model::ExtendedResources& amounts) {
  base::TextHash hash;
  const auto add = [&](const auto& amount) { hash.add(amount ? base::cat(amount->value, ";") : ";"); };
  add(amounts.batch_cpu);
  add(amounts.batch_memory);
  add(amounts.mid_cpu);
  add(amounts.mid_memory);
  return hash.value();
}

bool same_mark(const kube::Node& a, const kube::Node& b) {
  const auto x = mark_of(a);
  const auto y = mark_of(b);
  return x.label == y.label && x.detail == y.detail;
}

// Ordered on, since `generation`.
bool ordered_on(const kube::Node& node, std::int64_t generation, base::WallTime now) {
  const auto marks = read_marks(mark_of(node)).marks;
  const auto state = policy::state::effective(marks, model::Mode::kEnforce, now);
  return state.order && state.strictest() == model::NodeState::kOn && marks.generation > generation;
}

}  // namespace

Contests::Contests(net::EventLoop& loop, ContestContext context, const base::Log& log, base::Registry& metrics)
    : loop_(loop), context_(std::move(context)), log_(log), metrics_(metrics), scope_(loop) {
  for (const KeptObject object : kAllKept) contested(object).set(0);  // an alert uses it
}

void Contests::begin() {
  begun_ = true;
}

Contests::Entry* Contests::find(KeptObject object, const std::string& node) {
  const auto found = of(object).find(node);
  return found == of(object).end() ? nullptr : &found->second;
}

void Contests::before_write(const model::NodeName& node, const model::ExtendedResources& amounts) {
  of(KeptObject::kAmounts)[node.value].pending = content_of(amounts);
}

void Contests::after_write(const model::NodeName& node, bool written) {
  Entry* entry = find(KeptObject::kAmounts, node.value);
  if (entry == nullptr) return;  // the node went meanwhile
  if (written) entry->ours = entry->pending;
  entry->pending.reset();
}

void Contests::lost_write(const model::NodeName& node) {
  Entry* entry = find(KeptObject::kAmounts, node.value);
  if (entry == nullptr) return;
  entry->ours.reset();
  entry->pending.reset();
}

void Contests::writes(KeptObject object, const model::NodeName& node) {
  if (Entry* entry = find(object, node.value)) entry->ours.reset();
}

void Contests::wrote(KeptObject object, const model::NodeName& node, std::uint64_t content, std::uint64_t revision) {
  // The answer may come after the lease, or the node, has gone.
  if (!context_.leading() || context_.nodes.find({"", node.value}) == nullptr) return;
  Entry& entry = of(object)[node.value];
  entry.ours = content;
  entry.revision = revision;
}

void Contests::node_changed(const std::string& name, const kube::Node* before, const kube::Node* after) {
  if (after == nullptr || (before != nullptr && before->meta.uid != after->meta.uid)) {
    for (const KeptObject object : kAllKept) forget(object, name);
    return;
  }
  if (before == nullptr) return;
  if (!same_mark(*before, *after)) {
    for (const KeptObject object : kAllKept) {
      Entry* entry = find(object, name);
      if (entry == nullptr || !entry->contest.standing_back) continue;
      if (!ordered_on(*after, entry->mark_generation, loop_.clock().wall())) continue;
      entry->contest = {};
      entry->ours.reset();
      returns(object, name, *entry, Reason::kContestOrdered);
    }
    return;
  }
  Entry* entry = find(KeptObject::kAmounts, name);
  if (entry == nullptr || !context_.leading()) return;
  const std::uint64_t was = content_of(kube::extended_resources(before->allocatable));
  const std::uint64_t is = content_of(kube::extended_resources(after->allocatable));
  if (was == is || entry->pending == is || entry->ours == is) return;
  if (entry->contest.standing_back) {
    happens(KeptObject::kAmounts, *after, *entry, ContestEvent::kForeign);
  } else if (entry->ours == was) {
    happens(KeptObject::kAmounts, *after, *entry, ContestEvent::kOverwritten);
  }
}

policy::state::ContestStep Contests::happens(KeptObject object, const kube::Node& node, Entry& entry,
                                             ContestEvent event) {
  const std::string name(node.meta.name);
  const bool stood = entry.contest.standing_back;
  auto step = policy::state::step(entry.contest, event, context_.config, loop_.clock().monotonic());
  entry.contest = step.state;
  if (event == ContestEvent::kOverwritten) {
    metrics_
        .counter("tidemark_manager_overwrites_total", "Values of nodes that another writer replaced, by kind.",
                 {{"component", info_of(object).component}})
        .add();
    log_.warn("another writer replaced our values", {{"kind", info_of(object).resource.kind},
                                                     {"node", name},
                                                     {"reason", step.reason ? model::reason_id(*step.reason) : ""}});
  }
  if (!stood && entry.contest.standing_back) stands_back(object, node, entry);
  if (stood && !entry.contest.standing_back) returns(object, name, entry, Reason::kContestReturn);
  return step;
}

LeftToOthers Contests::look(const kube::Node& node) {
  LeftToOthers out;
  if (Entry* entry = find(KeptObject::kAmounts, std::string(node.meta.name))) {
    const auto step = happens(KeptObject::kAmounts, node, *entry, ContestEvent::kNothing);
    if (entry->contest.standing_back) {
      out.reason = Reason::kContestStanding;
      out.writer = entry->writer.empty() ? std::string(kUnnamedWriter) : entry->writer;
      out.again_after = step.again_after;
    }
  }
  out.objects = left(node);
  return out;
}

LeftToOthers Contests::look(KeptObject object, const model::NodeName& name, const ObjectSeen& seen) {
  const kube::Node* node = context_.nodes.find({"", name.value});
  if (node == nullptr || !context_.leading()) return {};
  if (!begun_) return {.reason = Reason::kContestObject, .writer = "", .again_after = kBeginAgain, .objects = ""};
  Entry* entry = find(object, name.value);
  if (entry == nullptr) return {};
  ContestEvent event = ContestEvent::kNothing;
  if (entry->contest.standing_back) {
    if (seen.content != entry->seen) event = ContestEvent::kForeign;
  } else if (seen.differs && entry->ours && seen.content != *entry->ours && seen.revision > entry->revision) {
    event = ContestEvent::kOverwritten;
    entry->ours.reset();  // once for each write of ours, however often the object changes until the next
  }
  const auto step = happens(object, *node, *entry, event);
  entry->seen = seen.content;
  if (!entry->contest.standing_back) return {};
  return {.reason = Reason::kContestObject, .writer = entry->writer, .again_after = step.again_after, .objects = ""};
}

void Contests::stands_back(KeptObject object, const kube::Node& node, Entry& entry) {
  const Reason reason = object == KeptObject::kAmounts ? Reason::kContestStandBack : Reason::kContestObject;
  const std::string name(node.meta.name);
  entry.ours.reset();
  entry.mark_generation = read_marks(mark_of(node)).marks.generation;
  count(object, 1);
  log_.error(model::reason_sentence(reason),
             {{"kind", info_of(object).resource.kind}, {"node", name}, {"reason", model::reason_id(reason)}});
  if (entry.writer.empty()) scope_.spawn(find_writer(object, name));
  context_.look_at(name);
}

void Contests::returns(KeptObject object, const std::string& name, Entry& entry, Reason reason) {
  entry.writer.clear();
  const std::string_view kind = info_of(object).resource.kind;
  log_.warn(model::reason_sentence(reason), {{"kind", kind}, {"node", name}, {"reason", model::reason_id(reason)}});
  if (const kube::Node* node = context_.nodes.find({"", name})) {
    context_.recorder.record(
        {"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kNormal, "CoLocationResumed",
        base::cat(kind, ": ", model::reason_sentence(reason), " [", model::reason_id(reason), "]"));
  }
  count(object, -1);
  context_.look_at(name);
}

base::Gauge& Contests::contested(KeptObject object) {
  return metrics_.gauge("tidemark_manager_contested_nodes",
                        "Nodes whose amounts or object are left to another writer, by kind.",
                        {{"component", info_of(object).component}});
}

void Contests::count(KeptObject object, int by) {
  contested(object).set(static_cast<double>(counts_[static_cast<std::size_t>(object)] += by));
}

net::Task<void> Contests::find_writer(KeptObject object, std::string name) {
  auto bytes = co_await context_.reader.get(info_of(object).resource, "", name, kReadLimit);
  Entry* entry = find(object, name);
  if (entry == nullptr || !entry->contest.standing_back) co_return;
  if (bytes) entry->writer = other_writer(*bytes, info_of(object).owns);
  if (entry->writer.empty()) entry->writer = kUnnamedWriter;  // or the server keeps no managedFields
  const std::string_view kind = info_of(object).resource.kind;
  log_.error("found the other writer", {{"kind", kind}, {"node", name}, {"writer", entry->writer}});
  const kube::Node* node = context_.nodes.find({"", name});
  if (node != nullptr && object != KeptObject::kAmounts) {  // the state controller reports that of the amounts
    const Reason reason = info_of(object).standing;
    context_.recorder.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                             "CoLocationSecondWriter",
                             base::cat(kind, ", by ", entry->writer, ": ", model::reason_sentence(reason), " [",
                                       model::reason_id(reason), "]"));
  }
  context_.look_at(name);
}

void Contests::forget(KeptObject object, const std::string& node) {
  const auto found = of(object).find(node);
  if (found == of(object).end()) return;
  const bool counted = found->second.contest.standing_back;
  of(object).erase(found);
  if (counted) count(object, -1);
}

void Contests::stand_back_again(KeptObject object, const kube::Node& node, std::string writer) {
  Entry& entry = of(object)[std::string(node.meta.name)];
  if (entry.contest.standing_back) return;
  entry.contest.standing_back = true;
  entry.contest.times = std::max<std::int64_t>(entry.contest.times, 1);
  entry.contest.foreign_at = loop_.clock().monotonic();
  entry.writer = writer == kUnnamedWriter ? std::string() : std::move(writer);  // "": read again
  stands_back(object, node, entry);
}

void Contests::take_over() {
  context_.nodes.for_each([this](const kube::ObjectKey&, const kube::Node& node) {
    const LeftToOthers said = left_to_others(node);
    if (said.reason == Reason::kContestStanding) stand_back_again(KeptObject::kAmounts, node, said.writer);
    for (const KeptObject object : kAllKept) {
      const std::string begin = base::cat(info_of(object).resource.kind, " (by ");  // "KIND (by WRITER); …"
      const auto at = said.objects.find(begin);
      if (at == std::string::npos) continue;
      const std::string_view rest = std::string_view(said.objects).substr(at + begin.size());
      const auto end = rest.find(");");
      std::string writer(rest.substr(0, end));
      if (end == std::string_view::npos && writer.ends_with(')')) writer.pop_back();
      stand_back_again(object, node, std::move(writer));
    }
  });
}

void Contests::leave() {
  for (const KeptObject object : kAllKept) {
    of(object).clear();
    count(object, static_cast<int>(-counts_[static_cast<std::size_t>(object)]));
  }
}

std::string Contests::left(const kube::Node& node) const {
  std::string text;
  const std::string name(node.meta.name);
  for (const KeptObject object : {KeptObject::kNodeSlo, KeptObject::kNodeMetric, KeptObject::kZones}) {
    const Entries& entries = entries_[static_cast<std::size_t>(object)];
    const auto found = entries.find(name);
    if (found == entries.end() || !found->second.contest.standing_back) continue;
    const std::string_view writer = found->second.writer;
    text += base::cat(text.empty() ? "" : "; ", info_of(object).resource.kind, " (by ",
                      writer.empty() ? kUnnamedWriter : writer, ")");
  }
  return text;
}

}  // namespace tidemark::manager
