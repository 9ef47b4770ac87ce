// Follows how pods end, all the time: counts tasks by pool, class and job (policy/budget/book.h), and what is evicted
// by node for roll-outs.
//
//   by its kubelet, by the kernel, or by itself   seen when the pod is over, in a cache of ended pods of its own
//   evicted by the API, or by the scheduler       seen when it is told so, in the cache of running pods: many such pods
//                                                 are gone before they are over
//   a task of YARN's, evicted or ended by itself  told by the node's agent, on its Node (model/ended_tasks.h)
//   one that gave way to more timely work         told by YARN's operator, there too; in the pool's hour alone
//
// Each way counts what the others do not, so of pods nothing is remembered to count them once; of what an agent tells,
// up to when it was read. What happened while this process was away is counted by its own time where the pod is still
// there, or its node tells of it still.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "manager/evictions/eviction_tally.h"
#include "manager/evictions/pod_end.h"
#include "model/ended_tasks.h"
#include "net/loop.h"
#include "policy/budget/book.h"
#include "policy/offer/offer.h"

namespace tidemark::manager {

// Of the events on a Node that backs off: pods were evicted from it, or YARN's work.
inline constexpr std::string_view kBacksOffEvent = "TidemarkBacksOff";
inline constexpr std::string_view kYarnBacksOffEvent = "TidemarkYarnBacksOff";

struct EvictionContext {
  net::EventLoop& loop;
  kube::Reader& reader;
  kube::Watcher& watcher;
  kube::Interner& interner;
  base::Registry& metrics;
  const kube::Informer<kube::Node>& nodes;
  std::function<std::string(const kube::Node&)> pool_of;
  std::function<bool(const kube::Node&, std::string_view work_class)> known_class;
  std::function<bool(const kube::Node&, std::string_view work_class)> class_off;  // by somebody's order
  std::function<bool()> shows;  // whether it is told in metrics: by one of several replicas
  // Offline work was evicted from it just now (EvictionWatch::evicted_last); of what ended before nobody is told.
  std::function<void(const kube::Node&, policy::LedgerSide)> evicted = {};
};

class EvictionWatch {
 public:
  EvictionWatch(EvictionContext context, const base::Log& log, base::Random random);

  void start();  // until destroyed
  bool synced() const { return ended_.synced(); }
  net::Task<bool> wait_synced(base::Duration limit) { return ended_.wait_synced(limit); }
  // A running pod changed. `end` of what its status says of its end; null where it says nothing.
  void running_changed(const PodEnd* before, const PodEnd* after, bool listed);

  // What its agent tells of tasks that leave no object behind.
  void node_changed(const kube::Node* before, const kube::Node* after);

  // Goes on from what was counted before; the nodes and the settings must be there, so that a pool can be told.
  void begin(policy::EvictionBook book);
  // What there is up to now. Empty until begin().
  const policy::EvictionBook& book();

  // When offline work was evicted from the node, last: pods (PodEnd::makes_back_off), and YARN's containers by the word
  // of its agent.
  policy::LastEvicted evicted_last(std::string_view node) const;

  // For a roll-out. nullopt while the pods that ended are not listed.
  std::optional<std::vector<policy::PoolEvictions>> count(
      base::Duration window, const std::function<std::string(std::string_view node)>& pool_of);

 private:
  void over(const PodEnd& end, bool listed);
  void tally(const PodEnd& end, base::WallTime when);
  void read_ends(const kube::Node& node, bool listed);
  void read_given_back(const kube::Node& node);
  // Who told on a node, by the time of what was read last, by the node's clock.
  using ReadUpTo = std::map<std::string, base::WallTime, std::less<>>;
  struct News {
    std::vector<model::EndedTasks> ends;  // later than what was read before, and of the last hour
    base::WallTime counts_from;           // what is not later was counted by whoever stored the book
    base::WallTime last_eviction;
  };
  std::optional<News> news(const kube::Node& node, std::string_view annotation, ReadUpTo& read_up_to) const;
  void count_told(const kube::Node& node, const model::EndedTasks& told, base::WallTime when);
  void count_end(const PodEnd& end, base::WallTime when);
  void count(const kube::Node& node, policy::TaskEnd task, std::string_view work_class, std::string_view reason,
             base::WallTime when, bool in_rate);
  void back_off(const PodEnd& end, base::WallTime when, bool just_now);
  void back_off(const kube::Node& node, std::optional<base::MonotonicTime> policy::LastEvicted::* side,
                base::WallTime when, bool just_now);
  // Somebody wants the node, or the class of work on it, to be empty.
  bool emptied(const kube::Node& node, std::string_view work_class) const;

  EvictionContext context_;
  EvictionTally tally_;
  std::map<std::string, policy::LastEvicted, std::less<>> last_;  // by node
  ReadUpTo agents_;                                               // by node: what its agent told
  ReadUpTo operators_;                                            // and YARN's operator
  kube::Informer<PodEnd> ended_;
  base::Counter& unread_;
  bool begun_ = false;
  policy::EvictionBook book_;
  base::WallTime from_;  // what ended before is in the book that it began with
  struct Early {
    PodEnd end;
    base::WallTime when;
    bool tallied = false;
  };
  std::vector<Early> early_;  // told before it began
  net::Scope scope_;          // last: its tasks use everything above
};

}  // namespace tidemark::manager
