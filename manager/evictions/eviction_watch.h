// Follows the ends of pods: counts tasks by pool, class and job (policy/evict/budget/book.h), and evictions by node for
// rollouts.
//
//   by the kubelet, the kernel, or on its own     seen when the pod is over, in a separate cache of ended pods
//   evicted by the API, or by the scheduler       seen when the condition is set, in the cache of running pods: many
//                                                 such pods are deleted before they are over
//   a YARN task, evicted or ended on its own      reported by the node's agent, on its Node (model/ended_tasks.h)
//   reclaimed for more timely work                reported by the YARN operator, there too; only in the pool's hour
//
// Each way counts what the others do not, so pods need no memory to be counted once. For agent reports, the time of
// the last read report is kept. Ends during the downtime of this process are counted by their own time if the pod or
// the report still exists.
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
#include "manager/shared.h"
#include "model/ended_tasks.h"
#include "net/loop.h"
#include "policy/evict/budget/book.h"
#include "policy/sell/offer/offer.h"

namespace tidemark::manager {

// Of the events on a Node that backs off: pods were evicted from it, or YARN's work.
inline constexpr std::string_view kBacksOffEvent = "TidemarkBacksOff";
inline constexpr std::string_view kYarnBacksOffEvent = "TidemarkYarnBacksOff";

struct EvictionContext {
  const kube::Informer<kube::Node>& nodes;
  std::function<std::string(const kube::Node&)> pool_of;
  std::function<bool(const kube::Node&, std::string_view work_class)> known_class;
  std::function<bool(const kube::Node&, std::string_view work_class)> class_off;  // by an order
  std::function<bool()> shows;  // whether this replica exports the metrics by pool
  // Called when offline work was evicted from the node (EvictionWatch::evicted_last); not for earlier evictions.
  std::function<void(const kube::Node&, policy::sell::LedgerSide)> evicted = {};
};

class EvictionWatch {
 public:
  EvictionWatch(const Shared& shared, EvictionContext context, base::Random random);

  void start();  // until destroyed
  bool synced() const { return ended_.synced(); }
  net::Task<bool> wait_synced(base::Duration limit) { return ended_.wait_synced(limit); }
  // A running pod changed. `end` of what its status says of its end; null where it says nothing.
  void running_changed(const PodEnd* before, const PodEnd* after, bool listed);

  // Agent reports of tasks without an object.
  void node_changed(const kube::Node* before, const kube::Node* after);

  // Continues from the stored counts. The nodes and the settings must be known, so that the pool can be found.
  void begin(policy::evict::EvictionBook book);
  // What there is up to now. Empty until begin().
  const policy::evict::EvictionBook& book();

  // When offline work was evicted from the node, last: pods (PodEnd::makes_back_off), and YARN's containers by the word
  // of its agent.
  policy::sell::LastEvicted evicted_last(std::string_view node) const;

  // For a roll-out. nullopt while the pods that ended are not listed.
  std::optional<std::vector<policy::settings::PoolEvictions>> count(
      base::Duration window, const std::function<std::string(std::string_view node)>& pool_of);

 private:
  void over(const PodEnd& end, bool listed);
  void tally(const PodEnd& end, base::WallTime when);
  void read_ends(const kube::Node& node, bool listed);
  void read_preempted(const kube::Node& node);
  // Nodes with reports, by the time of the last read report, by the node's clock.
  using ReadUpTo = std::map<std::string, base::WallTime, std::less<>>;
  struct News {
    std::vector<model::EndedTasks> ends;  // later than what was read before, and of the last hour
    base::WallTime counts_from;           // earlier ends are already in the stored book
    base::WallTime last_eviction;
  };
  std::optional<News> news(const kube::Node& node, std::string_view annotation, ReadUpTo& read_up_to) const;
  void count_told(const kube::Node& node, const model::EndedTasks& told, base::WallTime when);
  void count_end(const PodEnd& end, base::WallTime when);
  void count(const kube::Node& node, policy::evict::TaskEnd task, std::string_view work_class, std::string_view reason,
             base::WallTime when, bool in_rate);
  void back_off(const PodEnd& end, base::WallTime when, bool just_now);
  void back_off(const kube::Node& node, std::optional<base::MonotonicTime> policy::sell::LastEvicted::* side,
                base::WallTime when, bool just_now);
  // An order removes all work, or this class of work, from the node.
  bool emptied(const kube::Node& node, std::string_view work_class) const;

  Shared shared_;
  EvictionContext context_;
  EvictionTally tally_;
  std::map<std::string, policy::sell::LastEvicted, std::less<>> last_;  // by node
  ReadUpTo agents_;                                                     // by node: read agent reports
  ReadUpTo operators_;                                                  // and YARN's operator
  kube::Informer<PodEnd> ended_;
  base::Counter& unread_;
  bool begun_ = false;
  policy::evict::EvictionBook book_;
  base::WallTime from_;  // what ended before is in the book that it began with
  struct Early {
    PodEnd end;
    base::WallTime when;
    bool tallied = false;
  };
  std::vector<Early> early_;  // reported before the start
  net::Scope scope_;          // last: its tasks use everything above
};

}  // namespace tidemark::manager
