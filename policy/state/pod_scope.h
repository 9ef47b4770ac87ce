// Decides whether offline work of a pod without a node is admitted. Its future node is unknown; the orders for the
// cluster apply, and those for the pool to which its nodeSelector confines it.
//
//    off  =  co-location is not enabled for the cluster, or for a node with the labels of the pod's nodeSelector
//         or  the cluster or that pool is off or draining for Kubernetes
//         or  work of the pod's class is
//
// A pool in observe is not off: the offers of its nodes stay as they are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/state/desired.h"
#include "policy/state/state.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::state {

// Unknown counts as on: no pod is rejected for missing information.
struct PodScope {
  const sell::ColocationConfig* colocation = nullptr;
  const waterline::TidemarkConfig* config = nullptr;
  const DesiredStates* desired = nullptr;
  std::span<const model::Label> node_selector;  // the pod's spec.nodeSelector
  std::string_view work_class;                  // the pod's tidemark.io/class; empty for none
};

struct PodScopeState {
  bool off = false;
  // The reason: kDisabledByCluster, kDisabledForNode, kStateByCluster, kStateByPool; kStateDefault if it is not off.
  model::Reason reason = model::Reason::kStateDefault;
  std::string pool;                 // of kStateByPool
  std::optional<StateOrder> order;  // of the last two
};

// Total.
PodScopeState state_for_pod(const PodScope& scope, base::WallTime now);

}  // namespace tidemark::policy::state
