// The scheduler of a machine without a cluster: binds waiting pods to its one node, and writes what the others wait
// for. It decides by policy/single_node, after each change of pods or the node, or when time changes the plan. There is
// no other scheduler, so it binds pods of every schedulerName.
//
//   pods, node ──informers──▶ policy/single_node ──▶ bind, ahead of the client's other calls
//                                               └──▶ wait_teller: condition PodScheduled=False
//
// A bind that failed is tried again after a backoff. Where its outcome is not known, its room is kept for it that long.
// A pod that was bound counts as bound before the watch tells so. While one is not understood, or found no room here,
// nothing is bound: what it may have would be sold twice.
//
// The waiting time of a pod counts from its first observation, by the monotonic clock; for pods from before this
// process only the wall clock is known.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "net/loop.h"
#include "policy/single_node/local_queue.h"
#include "runtime/place/queued_pod.h"
#include "runtime/place/wait_teller.h"

namespace tidemark::runtime {

struct BinderConfig {
  std::string node_name;
  // What comes together is decided together.
  base::Duration settle = std::chrono::milliseconds(50);
  base::BackoffConfig retry{std::chrono::seconds(1), std::chrono::seconds(30), 2.0, 0.2};
};

class Binder {
 public:
  // `client` and `metrics` outlive it.
  Binder(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics, base::Random random,
         BinderConfig config);

  net::Task<void> run();  // for ever; destroying it and this object ends it

 private:
  // A pod that is being bound, or was and is not seen so yet; else one that could not be.
  struct Attempt {
    bool underway = true;
    bool keeps_room = false;    // after a failure
    base::MonotonicTime again;  // after a failure
    base::Backoff backoff;
  };
  enum class Stage { kWaits, kHasRoom, kLeftOut };
  struct Bind {
    std::string uid, ns, name;
    policy::single_node::WorkKind kind = policy::single_node::WorkKind::kOnline;
  };

  Result<QueuedPod> keep(std::string_view bytes);
  void pod_changed(const QueuedPod* before, const QueuedPod* after);
  void follow_waiting(const QueuedPod* before, const QueuedPod* after);
  void evicted(const QueuedPod& pod);
  Stage stage(const QueuedPod& pod) const;
  std::optional<base::Duration> next_retry() const;
  std::optional<base::Duration> decide(std::vector<Bind>& binds);  // when time alone changes something
  void show(const policy::single_node::LocalQueuePlan& plan,
            const std::vector<policy::single_node::QueueWaiting>& waiting);
  net::Task<void> bind_all(std::vector<Bind> binds);
  net::Task<void> bind(Bind pod);
  std::optional<base::Duration> since_eviction() const;

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  base::Random random_;
  BinderConfig config_;
  kube::Interner interner_;
  kube::Informer<QueuedPod> pods_;
  kube::Informer<QueuedNode> node_;
  WaitTeller teller_;
  std::map<std::string, Attempt, std::less<>> attempts_;                   // by uid
  std::map<std::string, base::MonotonicTime, std::less<>> waiting_since_;  // the same, of those without a node
  std::optional<base::MonotonicTime> last_eviction_;
  bool less_room_ = false;  // maybe, since what is being bound was decided
  net::Event changed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::runtime
