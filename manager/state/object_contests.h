// Detects a second writer of the objects that this manager writes for its nodes: NodeSLOs, specs of NodeMetrics,
// amounts of NUMA zones. The rule is that of a node's amounts (policy/contest), for each object by itself: one that is
// replaced again and again is left to the other writer, and with several of a pool the pool's; the node's amounts go
// on.
//
// What counts: the object says something else than what we left there, in a revision of its own, and we would write it
// again. Who did it is read from managedFields, when it happens. The node's condition tells, and by it a new leader
// goes on where its predecessor stood back.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/state/contests.h"
#include "manager/state/pools_left.h"
#include "model/names.h"
#include "model/reason.h"
#include "net/loop.h"
#include "policy/contest/contest.h"

namespace tidemark::manager {

enum class KeptObject : std::uint8_t { kNodeSlo, kNodeMetric, kZones };
inline constexpr std::size_t kKeptObjects = 3;

struct ObjectSeen {
  std::uint64_t content = 0;   // a hash of what is ours to say
  std::uint64_t revision = 0;  // of the object, as it is in the cache
  bool differs = false;        // we would write it
};

class ObjectContests {
 public:
  ObjectContests(net::EventLoop& loop, ContestContext context, const base::Log& log, base::Registry& metrics);

  // Around each write of ours. One whose answer never came may have been applied: until the next nothing is known of
  // what we left there, so nothing counts.
  void writes(KeptObject object, const model::NodeName& node);
  void wrote(KeptObject object, const model::NodeName& node, std::uint64_t content, std::uint64_t revision);

  struct Held {
    std::optional<model::Reason> reason;        // kContestObject, kContestObjectPool: it is not written
    std::optional<base::Duration> again_after;  // when time alone may change that
  };
  Held look(KeptObject object, const model::NodeName& node, const ObjectSeen& seen);
  // We have no content for the object any more (the node is only observed, or the object is absent): no second writer
  // is tracked.
  void forget(KeptObject object, const std::string& node);

  void node_changed(const std::string& name, const kube::Node* before, const kube::Node* after);
  void take_over();
  void begin();  // nodes are known and were taken over; until then every object is left as it is
  void leave();  // another one leads: what is known here goes stale

  // Which objects of the node are left to whom, for its condition; "" where none is.
  std::string left(const kube::Node& node) const;

 private:
  struct Entry {
    std::optional<std::uint64_t> ours;  // what we left there
    std::uint64_t revision = 0;         // with that
    std::uint64_t seen = 0;             // while standing back
    policy::ContestState contest;
    std::int64_t mark_generation = 0;  // of the node's mark when we stood back
    std::string pool;                  // that it was counted in when we stood back
    std::string writer;
  };
  using Entries = std::unordered_map<std::string, Entry>;
  Entries& of(KeptObject object) { return entries_[static_cast<std::size_t>(object)]; }
  PoolsLeft& pools_left(KeptObject object) { return left_[static_cast<std::size_t>(object)]; }
  base::Gauge& contested(KeptObject object);
  void stands_back(KeptObject object, const kube::Node& node, Entry& entry);
  void returns(KeptObject object, const std::string& name, Entry& entry, model::Reason reason);
  bool count(KeptObject object, const std::string& pool, int by);
  net::Task<void> find_writer(KeptObject object, std::string name);

  net::EventLoop& loop_;
  ContestContext context_;
  bool begun_ = false;
  base::Log log_;
  base::Registry& metrics_;
  std::array<Entries, kKeptObjects> entries_;
  std::array<PoolsLeft, kKeptObjects> left_{PoolsLeft{context_.nodes, context_.pool_of},
                                            PoolsLeft{context_.nodes, context_.pool_of},
                                            PoolsLeft{context_.nodes, context_.pool_of}};
  net::Scope scope_;
};

}  // namespace tidemark::manager
