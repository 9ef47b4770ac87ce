// Whether offline work of a pod that has no node yet is taken at all. On which node it will run nobody knows; what
// holds for it is what holds for the cluster, and for the pool that its nodeSelector confines it to.
//
//   off  =  co-location is not enabled for the cluster, or for a node with the labels that the pod asks for
//        or  the cluster or that pool is off or draining for Kubernetes
//        or  work of the pod's class is
//
// A pool that only observes is not off: what its nodes offer stays as it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/overcommit/strategy.h"
#include "policy/pools/pools.h"
#include "policy/state/desired.h"
#include "policy/state/state.h"

namespace tidemark::policy {

// What is not known counts as on: nobody is turned away for what is not known.
struct PodScope {
  const ColocationConfig* colocation = nullptr;
  const TidemarkConfig* config = nullptr;
  const DesiredStates* desired = nullptr;
  std::span<const model::Label> node_selector;  // the pod's spec.nodeSelector
  std::string_view work_class;                  // the pod's tidemark.io/class; empty for none
};

struct PodScopeState {
  bool off = false;
  // Why: kDisabledByCluster, kDisabledForNode, kStateByCluster, kStateByPool; kStateDefault where it is not off.
  model::Reason reason = model::Reason::kStateDefault;
  std::string pool;                 // of kStateByPool
  std::optional<StateOrder> order;  // of the last two
};

// Total.
PodScopeState state_for_pod(const PodScope& scope, base::WallTime now);

}  // namespace tidemark::policy
