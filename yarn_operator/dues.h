// What of YARN's work is to end on nodes now, by the word of the manager that goes with its offer:
//
//   drain     the time to drain is over: what is beyond the offer (model::YarnDrain)
//   reclaim   work of the cluster's class that is to be given back: what is beyond `keep` (model::YarnReclaim)
//
// Nothing by a word that goes with another offer. Pure.
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
#include "policy/yarn_total/yarn_total.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

struct Due {
  std::string node;
  hadoop::NodeId nm;
  model::Reason reason = model::Reason::kYarnDrained;
  std::int64_t order = 0;           // tells one order from another: the moment of a drain, the generation of a reclaim
  policy::YarnAmount keep;          // what containers may go on holding
  std::int32_t offered_vcores = 0;  // by the total that follows
  bool bounded = false;             // by the hour of its pool (yarn_operator/hour_room.h): nobody's order
};
struct Dues {
  std::vector<Due> due;
  std::optional<base::Duration> next;  // until another one is
};

// null for a node that is gone.
using NodeOf = std::function<const kube::Node*(const std::string&)>;

// Memory alone: a scheduler that goes by memory hands out more vcores than a node has.
Dues drains_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, base::WallTime now);
// `work_class`: of the cluster; what is asked of work without a class was asked before it had one.
Dues reclaims_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, std::string_view work_class,
                  const policy::YarnTotalConfig& config);

// What work of the class may go on holding; nullopt: nothing is asked of it. Of what nothing is to be given back (of
// memory, where CPU alone is short) all may stay.
std::optional<policy::YarnAmount> may_keep(const std::vector<model::Reclaim>& reclaim, std::string_view work_class,
                                           const policy::YarnTotalConfig& config);

}  // namespace tidemark::yarn_operator
