// Executes the reclaims of nodes (yarn_operator/node_reclaim.h): the ResourceManager preempts containers because of a
// total with the grace as its timeout. Each order is executed once, and repeated until the ResourceManager has done it,
// down to the target of the first try. Containers that exceed a later total have another cause and continue, also if
// the node gets a total for another reason (cordoned, not ready).
//
// The hour of a pool (yarn_operator/hour_room.h) counts containers, but a total limits memory. So the hour is charged
// with the number of containers that hold that much on average; further ended containers are charged when they are
// seen. If the hour has room for only a part, that part ends now and the rest later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/hour_room.h"
#include "yarn_operator/node_reclaim.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kPreemptAgain = std::chrono::seconds(5);

// Limits how many nodes start at once to release capacity for more timely work: a tenth of the requested ones, at least
// one, in each kPaceEvery. The manager asks every node for all waiting work and stops when that work runs, so a few
// nodes may be enough.
class Pace {
 public:
  std::size_t room(std::size_t asked, base::MonotonicTime now);
  void began(std::size_t nodes) { begun_ += nodes; }

 private:
  std::optional<base::MonotonicTime> since_;
  std::size_t begun_ = 0;  // since `since_`
};
inline constexpr base::Duration kPaceEvery = std::chrono::seconds(10);
inline constexpr std::size_t kPaceParts = 10;

// For one kind of order: a node has at most one of a kind.
class ReclaimProgress {
 public:
  // Orders not tried yet, or not done and last tried a while ago.
  NodeReclaims to_try(NodeReclaims found, base::MonotonicTime now) const;
  struct Begun {
    std::vector<Preemption> preemptions;
    std::vector<std::string> nodes;                                  // of the preemptions, in their order
    std::size_t first = 0;                                           // number of nodes not tried before
    std::vector<std::pair<std::string, std::int64_t>> off_the_hour;  // node and containers charged to `room`
  };
  bool is_under_way(const NodeReclaim& due) const { return last_of(due) != nullptr; }
  bool waits(const NodeReclaim& due) const;  // started, and the rest waits for its hour
  // Its containers are in their grace. Another total of the node would save them.
  bool is_in_grace(const NodeReclaim& due, const ClusterLink& link, base::MonotonicTime now) const;
  // Needs a new report. Starts at most `first_max` orders that were not tried before; the others stay due. `room`
  // limits bounded orders.
  Begun begin(const std::vector<NodeReclaim>& due, const ClusterLink& link, base::MonotonicTime now, HourRoom& room,
              std::size_t first_max = std::numeric_limits<std::size_t>::max());
  // Of these preemptions the ResourceManager took only `sent`. The others are due again at once, and in no grace.
  void only_sent(Begun& begun, const std::set<hadoop::NodeId>& sent);
  void forget(const std::function<bool(const std::string&)>& is_gone);

 private:
  struct Last {
    std::int64_t order = 0;
    policy::sell::YarnAmount keep;
    bool done = false;
    base::MonotonicTime again;
    int tries = 0;       // sent to the ResourceManager
    bool waits = false;  // for its hour, at least partly
    // State before the last try, and what that try charged to the hour.
    std::int64_t used_mib = 0;
    std::int64_t containers = 0;
    std::int64_t counted = 0;
  };
  const Last* last_of(const NodeReclaim& due) const;  // null: not tried
  // How much of the excess may end now, MiB; 0: wait. `next` is the new try.
  std::int64_t within_the_hour(const NodeReclaim& due, const hadoop::NodeReport& report, std::int64_t too_much_mib,
                               HourRoom& room, Begun& begun, Last& next) const;
  // Charges containers that ended by the last try beyond its estimate.
  void count_what_ended(const NodeReclaim& due, const hadoop::NodeReport& report, base::MonotonicTime now,
                        HourRoom& room, Begun& begun);

  std::map<std::string, Last> last_;  // by node
};

}  // namespace tidemark::yarn_operator
