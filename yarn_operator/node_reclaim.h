// Computes which containers must end now by the orders on their node:
//
//   drain     the drain time is over: what exceeds the offer (model::YarnOffer::drain_by); all if an order evicts
//   reclaim   work of the cluster's class that must be returned: what exceeds `keep` (model::YarnOffer::reclaim)
//
// Orders of another offer are ignored. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

struct NodeReclaim {
  std::string node;
  hadoop::NodeId nm;
  model::Reason reason = model::Reason::kYarnDrained;
  std::int64_t order = 0;           // identifies the order: time of a drain, generation of a reclaim
  policy::sell::YarnAmount keep;    // what containers may still hold
  std::int32_t offered_vcores = 0;  // of the total that follows
  base::Duration grace{0};          // between the notice to the applications and the kill
  bool bounded = false;             // by the hour of its pool (yarn_operator/hour_room.h): not ordered by a person
  bool evicts = false;              // nothing may stay, and nothing new may start
};
struct NodeReclaims {
  std::vector<NodeReclaim> due;
  std::optional<base::Duration> next;  // until the next one is due
};

// null: the node is gone.
using NodeOf = std::function<const kube::Node*(const std::string&)>;

// Memory only: a scheduler that counts memory allocates more vcores than a node has. `grace`: of a drain; an order to
// evict has its own.
NodeReclaims drains_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, base::WallTime now,
                        base::Duration grace);
// `work_class` is that of the cluster. An order for work without a class dates from before the cluster had one.
NodeReclaims reclaims_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, std::string_view work_class,
                          const policy::sell::YarnTotalConfig& config, base::Duration grace);

// What work of the class may still hold; nullopt: nothing is requested. A resource of which nothing is requested
// (memory, if only CPU is short) may stay entirely.
std::optional<policy::sell::YarnAmount> may_keep(const std::vector<model::Reclaim>& reclaim,
                                                 std::string_view work_class,
                                                 const policy::sell::YarnTotalConfig& config);

}  // namespace tidemark::yarn_operator
