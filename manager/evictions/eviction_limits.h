// Whether one more task may be evicted by a node's agent: the limits of its job and of its pool (policy/budget), asked
// by the webhook of evictions. What was let through and is not counted yet (its pod has to say so first) counts too, so
// that many nodes that ask within a moment do not pass a limit together.
//
// Every replica answers for itself, by its own counts and by what is stored of pools.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/evictions/pod_end.h"
#include "policy/admission/eviction.h"
#include "policy/budget/budget.h"

namespace tidemark::manager {

// An eviction that was let through is in the counts by then, or never happened.
inline constexpr base::Duration kEvictionCounted = std::chrono::seconds(10);

// Why a pod may not be evicted for now, for the sake of its job or pool; what is answered nullopt counts as evicted.
using MayNotGo = std::function<std::optional<policy::EvictionRefusal>(std::string_view pod)>;

struct EvictionLimitsContext {
  const base::Clock& clock;
  kube::Interner& interner;
  std::function<const policy::EvictionBook&()> book;
  std::function<const policy::BudgetState&()> state;
  // The pool of a node, and its limits. nullopt: nobody asked for limits, the node is not known, or somebody wants this
  // class of work off it.
  std::function<std::optional<policy::BudgetPool>(std::string_view node, std::string_view work_class)> pool_of;
};

class EvictionLimits {
 public:
  explicit EvictionLimits(EvictionLimitsContext context) : context_(std::move(context)) {}

  // Why the pod may not be evicted for now; nullopt: it may, and is taken for evicted. `pod` as the API server has it.
  std::optional<policy::EvictionRefusal> take(std::string_view pod);

 private:
  // Let through since the book had `counted` evictions of the job, for the last time at `last`: each pod once, however
  // often its node asks.
  struct Let {
    base::MonotonicTime last;
    std::int64_t counted = 0;
    std::set<std::string> pods;
  };

  EvictionLimitsContext context_;
  std::map<policy::PoolAnd, Let> let_;
};

}  // namespace tidemark::manager
