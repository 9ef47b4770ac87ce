#include "manager/evictions/eviction_watch.h"

#include <algorithm>

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

// `emptied`: somebody wants the node, or the class of work on it, to be empty.
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
    case EndedBy::kNode:
    case EndedBy::kNothing:
      break;
  }
  return {Counts::kNeither, "node"};
}

bool told_while_running(const PodEnd& end) {
  return end.by == EndedBy::kEvictionApi || end.by == EndedBy::kScheduler;
}

}  // namespace

EvictionWatch::EvictionWatch(EvictionContext context, const base::Log& log, base::Random random)
    : context_(std::move(context)),
      ended_(context_.loop, context_.reader, context_.watcher, log, context_.metrics, random, ended_pods(),
             [&interner = context_.interner](std::string_view bytes) { return decode_pod_end(bytes, interner); }),
      scope_(context_.loop) {
  ended_.subscribe([this](const kube::ObjectKey&, const PodEnd* before, const PodEnd* after) {
    if (before == nullptr && after != nullptr) over(*after, !ended_.synced());
  });
}

void EvictionWatch::start() {
  scope_.spawn(ended_.run());
}

void EvictionWatch::over(const PodEnd& end, bool listed) {
  if (told_while_running(end)) return;
  const base::WallTime now = context_.loop.clock().wall();
  const base::WallTime when = listed ? std::min(end.when.value_or(now), now) : now;
  if (end.by == EndedBy::kKubelet) tally_.evicted(end.node, when);
  back_off(end, when, !listed);
  if (begun_ && (!listed || when > from_)) count_end(end, when);
}

void EvictionWatch::running_changed(const PodEnd* before, const PodEnd* after, bool listed) {
  if (after == nullptr || !told_while_running(*after)) return;
  if (before != nullptr && told_while_running(*before)) return;
  const base::WallTime now = context_.loop.clock().wall();
  const base::WallTime when = listed ? std::min(after->when.value_or(now), now) : now;
  tally_.evicted(after->node, when);
  back_off(*after, when, !listed);
  if (!begun_) {
    if (early_.size() < kEarlyMax) early_.emplace_back(*after, when);
  } else if (!listed || when > from_) {
    count_end(*after, when);
  }
}

bool EvictionWatch::emptied(const kube::Node& node, const PodEnd& end) const {
  return node.unschedulable || context_.class_off(node, end.work_class);
}

void EvictionWatch::back_off(const PodEnd& end, base::WallTime when, bool just_now) {
  if (!end.makes_back_off()) return;
  const base::Duration ago = just_now ? base::Duration(0) : context_.loop.clock().wall() - when;
  const kube::Node* node = context_.nodes.find({"", std::string(end.node)});
  if (ago >= policy::kBackOffMax || node == nullptr || emptied(*node, end)) return;
  const base::MonotonicTime now = context_.loop.clock().monotonic();
  const base::MonotonicTime then = now + (base::Duration(0) - ago);
  std::erase_if(last_, [&](const auto& each) { return now - each.second >= policy::kBackOffMax; });
  auto& last = last_.emplace(std::string(end.node), then).first->second;
  last = std::max(last, then);
  if (just_now && context_.evicted) context_.evicted(*node);
}

std::optional<base::MonotonicTime> EvictionWatch::evicted_last(std::string_view node) const {
  const auto found = last_.find(node);
  return found == last_.end() ? std::nullopt : std::optional(found->second);
}

void EvictionWatch::begin(policy::EvictionBook book) {
  book_ = std::move(book);
  from_ = book_.until;
  begun_ = true;
  const base::WallTime now = context_.loop.clock().wall();
  ended_.core().for_each([&](const kube::ObjectKey&, const void* object) {
    const PodEnd& end = *static_cast<const PodEnd*>(object);
    const base::WallTime when = std::min(end.when.value_or(now), now);
    if (!told_while_running(end) && when > from_) count_end(end, when);
  });
  for (const auto& [end, when] : early_) {
    if (when > from_) count_end(end, when);
  }
  early_ = {};
}

const policy::EvictionBook& EvictionWatch::book() {
  const base::WallTime now = context_.loop.clock().wall();
  if (begun_) policy::forget_old(book_, now);
  if (begun_ && synced()) book_.until = now;
  return book_;
}

void EvictionWatch::count_end(const PodEnd& end, base::WallTime when) {
  if (!end.offline) return;
  const kube::Node* node = context_.nodes.find({"", std::string(end.node)});
  if (node == nullptr) return;
  const Kind kind = kind_of(end.by, emptied(*node, end));
  policy::TaskEnd task;
  task.pool = context_.pool_of(*node);
  task.work_class = policy::kUnnamed;
  if (!end.work_class.empty()) {
    task.work_class = context_.known_class(*node, end.work_class) ? end.work_class.view() : policy::kOther;
  }
  task.job = end.job_name();
  task.evicted = kind.counts == Counts::kEvicted;
  if (context_.shows()) {
    context_.metrics
        .counter("tidemark_tasks_ended_total", "Offline tasks that ended, by what ended them.",
                 {{"pool", task.pool}, {"class", task.work_class}, {"reason", kind.reason}})
        .add();
  }
  if (kind.counts != Counts::kNeither) policy::count(book_, task, when, context_.loop.clock().wall());
}

std::optional<std::vector<policy::PoolEvictions>> EvictionWatch::count(
    base::Duration window, const std::function<std::string(std::string_view node)>& pool_of) {
  if (!synced()) return std::nullopt;
  return tally_.count(context_.loop.clock().wall(), window, pool_of);
}

}  // namespace tidemark::manager
