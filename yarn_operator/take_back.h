// Has containers of a node end as pre-empted, because its agent wants them back (model/take_back.h).
//
//   1  what is held on the node, and what the containers were given, are asked of the ResourceManager now; one that may
//      not know all of them yet, after a failover, is told nothing
//   2  the node's total becomes what is held less that, with a timeout of zero: the newest end at once, and masters
//   hear
//      of a pre-emption. Which those are is the ResourceManager's choice
//   3  it is asked until those that were named are gone, or others went in their place, kGoneWithin at most
//   4  the next total that the node is told ends nobody (Overcommit::kill_never)
//
// Who goes for good is the agent's matter: it kills what stays on the node where that is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hadoop/yarn_records.h"
#include "model/take_back.h"
#include "net/loop.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kGoneWithin = std::chrono::seconds(1);
inline constexpr base::Duration kKeepMax = std::chrono::minutes(5);  // that a request may hold a node's total down
// What was asked longer ago was left by an operator that went away: since then the agent has done without. Of a request
// that nobody saw come the clocks of node and operator may be so far apart.
inline constexpr base::Duration kAskedAgoMax = std::chrono::minutes(10);

struct Taking {
  std::string node;
  hadoop::NodeId nm;
  model::TakeBack request;
  std::int32_t offered_vcores = 0;
  base::Duration age{};  // of the request (OpenRequest)
  base::WallTime now;
};
struct Taken {
  std::string node;
  model::TakenBack answer;
};

// One answer for each, in their order. Of a ResourceManager that cannot be asked each is refused.
net::Task<std::vector<Taken>> take_back(net::EventLoop& loop, ClusterLink& link, std::vector<Taking> takings,
                                        std::function<bool()> may_write);

}  // namespace tidemark::yarn_operator
