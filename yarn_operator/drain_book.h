// Which nodes have more of YARN's work than their offer lets them, now that the time to drain is over: what is too much
// ends as pre-empted, by a total with a timeout of zero. Once for each drain, and again while the ResourceManager has
// not done it; what gets too much later has another cause, and goes on.
//
// Memory alone decides: a scheduler that goes by memory hands out more vcores than a node has.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kDrainAgain = std::chrono::seconds(5);

struct Due {
  std::string node;
  model::YarnDrain drain;
  const Wanted* wanted = nullptr;  // of the list that was given
};

class DrainBook {
 public:
  // `node_of` answers null for a node that is gone.
  std::vector<Due> due(const std::vector<Wanted>& wanted,
                       const std::function<const kube::Node*(const std::string&)>& node_of, base::WallTime now,
                       base::MonotonicTime mono) const;
  // By a report that is new: the totals of those that have too much. It is not asked again in a moment.
  std::vector<Shrink> begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime mono);
  void forget(const std::function<bool(const std::string&)>& is_gone);

 private:
  struct Last {
    base::WallTime by;
    bool done = false;
    base::MonotonicTime again;
  };
  std::map<std::string, Last> last_;  // by node
};

}  // namespace tidemark::yarn_operator
