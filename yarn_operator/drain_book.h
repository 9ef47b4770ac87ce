// Which nodes have more of YARN's work than the manager's offer, now that the time to drain is over: what is beyond it
// ends as pre-empted, by a total with a timeout of zero. Once for each drain, and again while the ResourceManager has
// not done it, down to where the first try would have left it: what gets too much later has another cause, and goes on.
// So does what a node is told for another reason than its offer (cordoned, not ready).
//
// Memory alone decides: a scheduler that goes by memory hands out more vcores than a node has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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
  hadoop::NodeId nm;
  base::WallTime by;
  std::int64_t offered_mib = 0;
  std::int32_t offered_vcores = 0;
};

class DrainBook {
 public:
  struct Dues {
    std::vector<Due> due;
    std::optional<base::Duration> next;  // until another one is
  };
  // `node_of` answers null for a node that is gone.
  Dues due(const std::vector<Wanted>& wanted, const std::function<const kube::Node*(const std::string&)>& node_of,
           base::WallTime now, base::MonotonicTime mono) const;
  struct Begun {
    std::vector<Shrink> shrinks;
    std::size_t first = 0;  // of those: not tried before
  };
  // By a report that is new. A node is not tried again in a moment.
  Begun begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime mono);
  void forget(const std::function<bool(const std::string&)>& is_gone);

 private:
  struct Last {
    base::WallTime by;
    std::int64_t down_to_mib = 0;
    bool done = false;
    base::MonotonicTime again;
  };
  std::map<std::string, Last> last_;  // by node
};

}  // namespace tidemark::yarn_operator
