#include "manager/evictions/eviction_watch.h"

#include <algorithm>
#include <utility>

namespace tidemark::manager {
namespace {

// Kubernetes keeps about 12,500 pods that ended; a third of a kilobyte each.
constexpr std::size_t kBytesMax = 32 << 20;
constexpr std::size_t kEarlyMax = 10'000;

kube::InformerConfig ended_pods() {
  kube::InformerConfig config;
  config.name = "pods-ended";
  config.resource = kube::kPods;
  config.field_selector = "status.phase!=Running,status.phase!=Pending,status.phase!=Unknown,spec.nodeName!=";
  config.bytes_max = kBytesMax;
  return config;
}

enum class Counts { kEvicted, kFinished, kNeither };
struct Kind {
  Counts counts;
  std::string_view reason;  // in the metric
};

Kind kind_of(EndedBy by, bool emptied) {
  switch (by) {
    case EndedBy::kItself:
      return {Counts::kFinished, "finished"};
    case EndedBy::kKubelet:
      return {Counts::kEvicted, "kubelet"};
    case EndedBy::kEvictionApi:
      // No sign of too much being sold.
      return emptied ? Kind{Counts::kNeither, "drained"} : Kind{Counts::kEvicted, "api"};
    case EndedBy::kScheduler:
      return {Counts::kEvicted, "preempted"};
    case EndedBy::kKernel:
      // Either the limit of the task was too small or the node was oversold. These cannot be distinguished, so the
      // rate does not change.
      return {Counts::kNeither, "oom"};
    case EndedBy::kNode:
    case EndedBy::kNothing:
      break;
  }
  return {Counts::kNeither, "node"};
}

// Long after an agent has stopped telling of it, and that is what counts may be missing at a start.
constexpr base::Duration kToldMax = policy::evict::kMinutesKept;

std::optional<std::string_view> said_on(const kube::Node* node, std::string_view annotation) {
  const kube::Text* text = node == nullptr ? nullptr : node->meta.annotations.find(annotation);
  return text == nullptr ? std::nullopt : std::optional(text->view());
}

bool told_while_running(const PodEnd& end) {
  return end.by == EndedBy::kEvictionApi || end.by == EndedBy::kScheduler;
}

}  // namespace

EvictionWatch::EvictionWatch(const Shared& shared, EvictionContext context, base::Random random)
    : shared_(shared),
      context_(std::move(context)),
      ended_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random}, ended_pods(),
             [&interner = shared.interner](std::string_view bytes) { return decode_pod_end(bytes, interner); }),
      unread_(shared_.metrics.counter("tidemark_ended_tasks_unread_total",
                                      "Agent reports of ended tasks that could not be read.")),
      scope_(shared_.loop) {
  ended_.subscribe([this](const kube::ObjectKey&, const PodEnd* before, const PodEnd* after) {
    if (before == nullptr && after != nullptr) over(*after, !ended_.synced());
  });
}

void EvictionWatch::start() {
  scope_.spawn(ended_.run());
}

void EvictionWatch::over(const PodEnd& end, bool listed) {
  if (told_while_running(end)) return;
  const base::WallTime now = shared_.loop.clock().wall();
  const base::WallTime when = listed ? std::min(end.when.value_or(now), now) : now;
  if (end.by == EndedBy::kKubelet) tally_.evicted(end.node, when);
  back_off(end, when, !listed);
  if (begun_ && (!listed || when > from_)) count_end(end, when);
}

void EvictionWatch::running_changed(const PodEnd* before, const PodEnd* after, bool listed) {
  if (after == nullptr || !told_while_running(*after)) return;
  if (before != nullptr && told_while_running(*before)) return;
  const base::WallTime now = shared_.loop.clock().wall();
  const base::WallTime when = listed ? std::min(after->when.value_or(now), now) : now;
  // Before the nodes are listed, their orders are unknown.
  const bool tallied = begun_ || context_.nodes.synced();
  if (tallied) tally(*after, when);
  back_off(*after, when, !listed);
  if (!begun_) {
    if (early_.size() < kEarlyMax) early_.push_back({*after, when, tallied});
  } else if (!listed || when > from_) {
    count_end(*after, when);
  }
}

void EvictionWatch::tally(const PodEnd& end, base::WallTime when) {
  const kube::Node* node = context_.nodes.find({"", std::string(end.node)});
  const bool wanted = end.by == EndedBy::kEvictionApi && node != nullptr && emptied(*node, end.work_class);
  if (!wanted) tally_.evicted(end.node, when);
}

bool EvictionWatch::emptied(const kube::Node& node, std::string_view work_class) const {
  return node.unschedulable || context_.class_off(node, work_class);
}

void EvictionWatch::back_off(const PodEnd& end, base::WallTime when, bool just_now) {
  if (!end.makes_back_off()) return;
  const kube::Node* node = context_.nodes.find({"", std::string(end.node)});
  if (node == nullptr || emptied(*node, end.work_class)) return;
  back_off(*node, &policy::sell::LastEvicted::kubernetes, when, just_now);
}

void EvictionWatch::back_off(const kube::Node& node,
                             std::optional<base::MonotonicTime> policy::sell::LastEvicted::* side, base::WallTime when,
                             bool just_now) {
  const base::Duration ago = just_now ? base::Duration(0) : shared_.loop.clock().wall() - when;
  if (ago >= model::kBackOffMax) return;
  const base::MonotonicTime now = shared_.loop.clock().monotonic();
  const auto is_old = [&](const std::optional<base::MonotonicTime>& each) {
    return !each || now - *each >= model::kBackOffMax;
  };
  std::erase_if(last_, [&](const auto& each) { return is_old(each.second.kubernetes) && is_old(each.second.yarn); });
  auto& last = last_[std::string(node.meta.name)].*side;
  last = std::max(last, std::optional(now + (base::Duration(0) - ago)));
  if (!just_now || !context_.evicted) return;
  context_.evicted(node, side == &policy::sell::LastEvicted::yarn ? policy::sell::LedgerSide::kYarn
                                                                  : policy::sell::LedgerSide::kKubernetes);
}

policy::sell::LastEvicted EvictionWatch::evicted_last(std::string_view node) const {
  const auto found = last_.find(node);
  return found == last_.end() ? policy::sell::LastEvicted() : found->second;
}

void EvictionWatch::node_changed(const kube::Node* before, const kube::Node* after) {
  if (!begun_ || after == nullptr) return;
  const auto changed = [&](std::string_view key) { return said_on(after, key) != said_on(before, key); };
  if (changed(model::kEndedTasksAnnotation)) read_ends(*after, before == nullptr);
  if (changed(model::kYarnPreemptedAnnotation)) read_preempted(*after);
}

std::optional<EvictionWatch::News> EvictionWatch::news(const kube::Node& node, std::string_view annotation,
                                                       ReadUpTo& read_up_to) const {
  const auto text = said_on(&node, annotation);
  if (!text) return std::nullopt;
  auto ends = model::parse_ended_tasks(*text);
  if (!ends) {
    unread_.add();
    return std::nullopt;
  }
  if (ends->empty()) return std::nullopt;
  const base::WallTime now = shared_.loop.clock().wall();
  std::erase_if(read_up_to, [&](const auto& each) { return now - each.second >= kToldMax; });
  const auto [place, first] = read_up_to.try_emplace(std::string(node.meta.name));
  // A clock that was set back: reports from now on are new.
  const base::WallTime read = std::exchange(place->second, ends->back().at);
  News found{{}, first ? from_ : read, {}};
  for (const model::EndedTasks& each : *ends) {
    if (each.evicted > 0) found.last_eviction = each.at;
  }
  std::erase_if(*ends, [&](const model::EndedTasks& each) { return each.at <= read || now - each.at >= kToldMax; });
  found.ends = *std::move(ends);
  return found;
}

void EvictionWatch::read_ends(const kube::Node& node, bool listed) {
  const auto told = news(node, model::kEndedTasksAnnotation, agents_);
  if (!told) return;
  const base::WallTime now = shared_.loop.clock().wall();
  for (const model::EndedTasks& each : told->ends) {
    const base::WallTime when = std::min(each.at, now);
    if (each.at > told->counts_from) count_told(node, each, when);
    if (each.evicted == 0 || emptied(node, each.work_class)) continue;
    tally_.evicted(node.meta.name, when, each.evicted);
    back_off(node, &policy::sell::LastEvicted::yarn, when, !listed && each.at == told->last_eviction);
  }
}

void EvictionWatch::read_preempted(const kube::Node& node) {
  const auto told = news(node, model::kYarnPreemptedAnnotation, operators_);
  if (!told) return;
  const std::string pool = context_.pool_of(node);
  const base::WallTime now = shared_.loop.clock().wall();
  for (const model::EndedTasks& each : told->ends) {
    if (each.at > told->counts_from) policy::evict::count_preempted(book_, pool, each.evicted, each.at, now);
  }
}

void EvictionWatch::count_told(const kube::Node& node, const model::EndedTasks& told, base::WallTime when) {
  if (told.finished > 0) count(node, {.times = told.finished}, told.work_class, "finished", when, true);
  if (told.evicted == 0) return;
  const bool wanted = emptied(node, told.work_class);
  count(node, {.job = told.job, .evicted = !wanted, .times = told.evicted}, told.work_class,
        wanted ? "drained" : "agent", when, !wanted);
}

void EvictionWatch::begin(policy::evict::EvictionBook book) {
  book_ = std::move(book);
  from_ = book_.until;
  begun_ = true;
  const base::WallTime now = shared_.loop.clock().wall();
  ended_.core().for_each([&](const kube::ObjectKey&, const void* object) {
    const PodEnd& end = *static_cast<const PodEnd*>(object);
    const base::WallTime when = std::min(end.when.value_or(now), now);
    if (!told_while_running(end) && when > from_) count_end(end, when);
  });
  for (const auto& [end, when, tallied] : early_) {
    if (!tallied) tally(end, when);
    if (when > from_) count_end(end, when);
  }
  early_ = {};
  context_.nodes.for_each([&](const kube::ObjectKey&, const kube::Node& node) {
    read_ends(node, true);
    read_preempted(node);
  });
}

const policy::evict::EvictionBook& EvictionWatch::book() {
  const base::WallTime now = shared_.loop.clock().wall();
  if (begun_) policy::evict::forget_old(book_, now);
  if (begun_ && synced()) book_.until = now;
  return book_;
}

void EvictionWatch::count_end(const PodEnd& end, base::WallTime when) {
  if (!end.offline) return;
  const kube::Node* node = context_.nodes.find({"", std::string(end.node)});
  if (node == nullptr) return;
  const Kind kind = kind_of(end.by, emptied(*node, end.work_class));
  count(*node, {.job = end.job_name(), .evicted = kind.counts == Counts::kEvicted}, end.work_class, kind.reason, when,
        kind.counts != Counts::kNeither);
}

// A task of that class ended; `in_rate`: it counts for the pool.
void EvictionWatch::count(const kube::Node& node, policy::evict::TaskEnd task, std::string_view work_class,
                          std::string_view reason, base::WallTime when, bool in_rate) {
  task.pool = context_.pool_of(node);
  task.work_class = policy::evict::kUnnamed;
  if (!work_class.empty())
    task.work_class = context_.known_class(node, work_class) ? work_class : policy::evict::kOther;
  if (context_.shows()) {
    shared_.metrics
        .counter("tidemark_tasks_ended_total",
                 "Ended offline tasks by cause: finished, kubelet, api, preempted, agent, drained or node.",
                 {{"pool", task.pool}, {"class", task.work_class}, {"reason", reason}})
        .add(static_cast<std::uint64_t>(task.times));
  }
  if (in_rate) policy::evict::count(book_, task, when, shared_.loop.clock().wall());
}

std::optional<std::vector<policy::settings::PoolEvictions>> EvictionWatch::count(
    base::Duration window, const std::function<std::string(std::string_view node)>& pool_of) {
  if (!synced()) return std::nullopt;
  return tally_.count(shared_.loop.clock().wall(), window, pool_of);
}

}  // namespace tidemark::manager
