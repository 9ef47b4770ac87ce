#include "runtime/place/binder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "kube/actions.h"
#include "kube/resource.h"
#include "policy/state/state.h"

namespace tidemark::runtime {
namespace {

using policy::single_node::WorkKind;

constexpr base::Duration kBindLimit = std::chrono::seconds(10);
constexpr base::Duration kSyncedLook = std::chrono::minutes(1);
constexpr base::Duration kRoomLook = std::chrono::seconds(1);
constexpr base::Duration kForAWhile = std::chrono::hours(1);
constexpr std::size_t kPodsBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kNodeBytesMax = 1024 * 1024;
constexpr std::size_t kInternerBytesMax = 4 * 1024 * 1024;

std::string_view word(WorkKind kind) {
  return kind == WorkKind::kOnline ? "online" : "offline";
}

// A pod that is over takes nothing and waits for nothing.
kube::InformerConfig pods_config() {
  kube::InformerConfig out;
  out.resource = kube::kPods;
  out.name = "queue-pods";
  out.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  out.bytes_max = kPodsBytesMax;
  return out;
}

kube::InformerConfig node_config(std::string_view name) {
  kube::InformerConfig out;
  out.resource = kube::kNodes;
  out.name = "queue-node";
  out.field_selector = base::cat("metadata.name=", name);
  out.bytes_max = kNodeBytesMax;
  return out;
}

// Whether it may have come about all the same.
bool outcome_unknown(ErrorKind kind) {
  return kind == ErrorKind::kDeadline || kind == ErrorKind::kUnavailable || kind == ErrorKind::kInternal;
}

// What was ordered of the node itself: what the settings sell is in its amounts.
policy::state::EffectiveState state_of(const QueuedNode* node, base::WallTime now) {
  return node == nullptr ? policy::state::EffectiveState()
                         : policy::state::effective(node->ordered, model::Mode::kEnforce, now);
}

std::optional<base::Duration> sooner(std::optional<base::Duration> a, std::optional<base::Duration> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

Binder::Binder(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
               base::Random random, BinderConfig config)
    : loop_(loop),
      client_(client),
      log_(log.named("queue")),
      metrics_(metrics),
      random_(random),
      config_(std::move(config)),
      interner_(metrics, "queue", kInternerBytesMax),
      pods_({loop, client, client, log_, metrics, random_.fork()}, pods_config(),
            [this](std::string_view bytes) { return keep(bytes); }),
      node_({loop, client, client, log_, metrics, random_.fork()}, node_config(config_.node_name),
            [this](std::string_view bytes) { return decode_queued_node(bytes, interner_); }),
      teller_(loop, client, log_,
              [this](std::string_view ns, std::string_view name) {
                return pods_.find({std::string(ns), std::string(name)});
              }),
      changed_(loop),
      scope_(loop) {
  pods_.subscribe(
      [this](const kube::ObjectKey&, const QueuedPod* before, const QueuedPod* after) { pod_changed(before, after); });
  node_.subscribe([this](const kube::ObjectKey&, const QueuedNode*, const QueuedNode*) {
    less_room_ = true;
    changed_.set();
  });
}

net::Task<void> Binder::run() {
  scope_.spawn(pods_.run());
  scope_.spawn(node_.run());
  while (!co_await pods_.wait_synced(kSyncedLook) || !co_await node_.wait_synced(kSyncedLook)) {
    log_.warn("nothing is bound: the pods and the node cannot be listed yet");
  }
  scope_.spawn(teller_.run());
  for (;;) {
    co_await loop_.sleep(config_.settle);
    changed_.clear();
    less_room_ = false;
    std::vector<Bind> binds;
    const base::Duration again = decide(binds).value_or(kForAWhile);
    co_await bind_all(std::move(binds));
    co_await changed_.wait_for(std::min(again, next_retry().value_or(kForAWhile)));
  }
}

Result<QueuedPod> Binder::keep(std::string_view bytes) {
  auto read = decode_queued_pod(bytes, interner_);
  if (read) return read;
  log_.error("a pod is not understood: nothing is bound, since what it may have of the node is not known",
             {{"error", read.error().message}});
  return name_queued_pod(bytes, interner_);
}

void Binder::follow_waiting(const QueuedPod* before, const QueuedPod* after) {
  if (before != nullptr && (after == nullptr || after->pod.uid != before->pod.uid)) {
    waiting_since_.erase(before->pod.uid);
  }
  if (after == nullptr || !after->understood) return;
  if (!after->node.empty()) {
    waiting_since_.erase(after->pod.uid);
    return;
  }
  const base::Clock& clock = loop_.clock();
  const base::Duration waited = std::clamp(clock.wall() - after->pod.created, base::Duration(0),
                                           policy::single_node::kPassedMax);  // more changes nothing
  waiting_since_.try_emplace(after->pod.uid, clock.monotonic() + -waited);
}

void Binder::pod_changed(const QueuedPod* before, const QueuedPod* after) {
  follow_waiting(before, after);
  if (before != nullptr && (after == nullptr || after->pod.uid != before->pod.uid)) attempts_.erase(before->pod.uid);
  if (after != nullptr && !after->node.empty()) attempts_.erase(after->pod.uid);
  const bool same = before != nullptr && after != nullptr && before->pod.uid == after->pod.uid;
  if (after != nullptr && after->evicted() && !(same && before->evicted())) evicted(*after);
  // One that ends at once is never seen on its way out.
  if (before != nullptr && !same && before->disrupted && !before->leaving) evicted(*before);
  if (matters_to_queue(before, after)) changed_.set();
}

void Binder::evicted(const QueuedPod& pod) {
  if (pod.pod.kind != WorkKind::kOffline || pod.node != config_.node_name) return;
  base::Duration ago{0};
  if (!pods_.synced() && pod.disrupted_at) {  // before this process began
    ago = std::clamp(loop_.clock().wall().since_epoch - pod.disrupted_at->since_epoch, base::Duration(0),
                     policy::single_node::kEvictionPause);
  }
  const base::MonotonicTime when = loop_.clock().monotonic() + -ago;
  if (!last_eviction_ || *last_eviction_ < when) last_eviction_ = when;
  less_room_ = true;
}

std::optional<base::Duration> Binder::since_eviction() const {
  if (!last_eviction_) return std::nullopt;
  return loop_.clock().monotonic() - *last_eviction_;
}

Binder::Stage Binder::stage(const QueuedPod& pod) const {
  if (!pod.understood) return Stage::kLeftOut;
  if (!pod.node.empty()) return pod.node == config_.node_name ? Stage::kHasRoom : Stage::kLeftOut;
  const auto at = attempts_.find(pod.pod.uid);
  if (at == attempts_.end()) return pod.leaving ? Stage::kLeftOut : Stage::kWaits;
  const Attempt& attempt = at->second;
  if (attempt.underway) return Stage::kHasRoom;
  if (attempt.again <= loop_.clock().monotonic()) return pod.leaving ? Stage::kLeftOut : Stage::kWaits;
  return attempt.keeps_room ? Stage::kHasRoom : Stage::kLeftOut;
}

std::optional<base::Duration> Binder::next_retry() const {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::optional<base::Duration> next;
  for (const auto& [uid, attempt] : attempts_) {
    if (attempt.underway || attempt.again <= now) continue;
    const base::Duration left = attempt.again - now;
    if (!next || left < *next) next = left;
  }
  return next;
}

std::optional<base::Duration> Binder::decide(std::vector<Bind>& binds) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const bool all_held = !pods_.core().over_budget();
  bool all_known = all_held;
  std::vector<const policy::single_node::QueuePod*> bound;
  std::vector<policy::single_node::QueueWaiting> waiting;
  pods_.for_each([&](const kube::ObjectKey&, const QueuedPod& each) {
    all_known = all_known && each.understood;
    const Stage stage = this->stage(each);
    if (stage == Stage::kHasRoom) bound.push_back(&each.pod);
    if (stage == Stage::kWaits) waiting.push_back({&each.pod, now - waiting_since_.at(each.pod.uid)});
  });
  const QueuedNode* node = node_.find({"", config_.node_name});
  const policy::state::EffectiveState ordered = state_of(node, loop_.clock().wall());
  const bool off = ordered.k8s >= model::NodeState::kDraining || (node != nullptr && node->off_locally);
  const policy::single_node::LocalQueuePlan plan = policy::single_node::local_queue(
      {node == nullptr ? nullptr : &node->node, bound, waiting, since_eviction(), all_known, off});

  std::vector<WaitTeller::Waits> tell;
  for (const std::size_t i : plan.order) {
    const policy::single_node::QueuePod& pod = *waiting[i].pod;
    if (const policy::single_node::QueueOutcome& outcome = plan.outcomes[i]) {
      tell.push_back({pod.uid, pod.ns, pod.name, *outcome});
    } else {
      binds.push_back({pod.uid, pod.ns, pod.name, pod.kind});
    }
  }
  teller_.set(std::move(tell));
  show(plan, waiting);
  if (!all_held) return kRoomLook;  // no event comes when there is room for all
  return sooner(plan.again_after, ordered.again_after);
}

void Binder::show(const policy::single_node::LocalQueuePlan& plan,
                  const std::vector<policy::single_node::QueueWaiting>& waiting) {
  std::array<double, 2> count{};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (plan.outcomes[i]) ++count.at(static_cast<std::size_t>(waiting[i].pod->kind));
  }
  for (const WorkKind kind : {WorkKind::kOnline, WorkKind::kOffline}) {
    metrics_.gauge("tidemark_runtime_pods_waiting", "Pods that wait for room on the node.", {{"component", word(kind)}})
        .set(count.at(static_cast<std::size_t>(kind)));
  }
}

net::Task<void> Binder::bind_all(std::vector<Bind> binds) {
  for (Bind& each : binds) {
    if (less_room_) co_return;  // decided anew: the change that said so has set changed_
    co_await bind(std::move(each));
  }
}

net::Task<void> Binder::bind(Bind pod) {
  const QueuedPod* now = pods_.find({pod.ns, pod.name});
  if (now == nullptr || stage(*now) != Stage::kWaits || now->pod.uid != pod.uid) co_return;
  attempts_.try_emplace(pod.uid, Attempt{true, false, {}, base::Backoff(config_.retry, random_.fork())})
      .first->second.underway = true;
  const auto done = co_await kube::bind_pod(client_.ahead(), pod.ns, pod.name, pod.uid, config_.node_name, kBindLimit);
  if (done) {
    metrics_
        .counter("tidemark_runtime_binds_total", "Pods that were bound to the node.", {{"component", word(pod.kind)}})
        .add();
    co_return;
  }
  metrics_
      .counter("tidemark_runtime_binds_failed_total", "Binds that failed.", {{"reason", to_string(done.error().kind)}})
      .add();
  changed_.set();  // the room is free again, or kept for a while
  const auto at = attempts_.find(pod.uid);
  if (at == attempts_.end()) co_return;  // it is gone, or was bound after all
  Attempt& attempt = at->second;
  attempt.underway = false;
  attempt.keeps_room = outcome_unknown(done.error().kind);
  const base::Duration pause = attempt.backoff.next();
  attempt.again = loop_.clock().monotonic() + pause;
  log_.warn("a pod cannot be bound", {{"pod", base::cat(pod.ns, "/", pod.name)},
                                      {"error", done.error().message},
                                      {"again_in_s", std::chrono::duration_cast<std::chrono::seconds>(pause).count()}});
}

}  // namespace tidemark::runtime
