// Whether one more task may be evicted by a node's agent: the limits of its job and of its pool (policy/evict/budget),
// asked
// by the webhook of evictions.
//
//   of a job     counted within its hours + let through and not seen to go yet        against its allowance
//   of a pool    counted within the hour  + let through and not seen to go yet, all jobs   against perPoolHour
//
// What was let through counts from the answer on: a pod says a moment later that it was evicted, and many nodes that
// ask within that moment must not pass a limit together. A pod that is never evicted (a disruption budget refused it)
// loses its place after kEvictionCounted. A second request holds a place for kSecondTry only, so that pods that cannot
// be evicted do not block others.
//
// Every replica answers for itself, and knows what another one let through when the pods say so: within that moment
// each may let through what is left of a limit. Once the leader has stored that a pool is exhausted none does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/evictions/pod_end.h"
#include "policy/admission/eviction.h"
#include "policy/evict/budget/budget.h"

namespace tidemark::manager {

// An eviction that was let through is in the counts by then, or never happened.
inline constexpr base::Duration kEvictionCounted = std::chrono::seconds(10);
inline constexpr base::Duration kSecondTry = std::chrono::seconds(2);
inline constexpr base::Duration kStayedRemembered = std::chrono::minutes(2);  // an agent asks twice a minute

// Why a pod may not be evicted for now, for the sake of its job or pool; what is answered nullopt counts as evicted.
using MayNotGo = std::function<std::optional<policy::admission::EvictionRefusal>(std::string_view pod)>;

struct EvictionLimitsContext {
  const base::Clock& clock;
  kube::Interner& interner;
  std::function<const policy::evict::EvictionBook&()> book;
  std::function<const policy::evict::BudgetState&()> state;
  // The pool of a node and its limits. nullopt: no limits set, an unknown node, or an order removes this class of work
  // from the node.
  std::function<std::optional<policy::evict::BudgetPool>(std::string_view node, std::string_view work_class)> pool_of;
};

class EvictionLimits {
 public:
  explicit EvictionLimits(EvictionLimitsContext context) : context_(std::move(context)) {}

  // Why the pod may not be evicted for now; nullopt: it may, and is taken for evicted. `pod` as the API server has it.
  std::optional<policy::admission::EvictionRefusal> take(std::string_view pod);
  // The pod says that it was evicted: the book has it, or it counts nowhere.
  void seen(const PodEnd& end);

 private:
  struct Let {
    base::MonotonicTime until;  // it counts
    bool seen = false;          // to go
  };
  // By namespace, name and uid: each pod once, however often its node asks.
  using Pods = std::map<std::string, Let, std::less<>>;

  void forget_old();
  std::int64_t on_their_way(const Pods& pods) const;
  std::int64_t on_their_way(const policy::evict::PoolAnd& job) const;
  std::int64_t on_their_way(std::string_view pool) const;
  std::optional<policy::admission::EvictionRefusal> refuse(const policy::evict::BudgetPool& pool) const;
  std::optional<policy::admission::EvictionRefusal> refuse(const policy::evict::BudgetPool& pool,
                                                           const policy::evict::PoolAnd& job) const;

  EvictionLimitsContext context_;
  std::map<policy::evict::PoolAnd, Pods> let_;  // on their way, or remembered as such that stayed; by job
};

}  // namespace tidemark::manager
