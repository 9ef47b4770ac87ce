// How what is due (yarn_operator/dues.h) ends: as pre-empted, by a total with a timeout of zero. Once for each order,
// and again while the ResourceManager has not done it, down to what the first try was to leave: what gets too much
// later has another cause, and goes on. So does what a node is told for another reason (cordoned, not ready).
//
// What the hour of a pool bounds (yarn_operator/hour_room.h) is counted by containers, and a total ends by memory: as
// many are taken off the hour as hold that much on average, and what is seen to have ended beyond them later. Where the
// hour has no room for all, as much is ended as it has room for, and the rest when it has more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/dues.h"
#include "yarn_operator/hour_room.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kShrinkAgain = std::chrono::seconds(5);

// How many nodes begin at once with what more timely work asks for: a tenth of those that are asked, one at least, in
// each kPaceEvery. The manager asks every node for all that waits, and no longer when it runs: what a few give may do.
class Pace {
 public:
  std::size_t room(std::size_t asked, base::MonotonicTime now);
  void began(std::size_t nodes) { begun_ += nodes; }

 private:
  std::optional<base::MonotonicTime> since_;
  std::size_t begun_ = 0;  // since then
};
inline constexpr base::Duration kPaceEvery = std::chrono::seconds(10);
inline constexpr std::size_t kPaceParts = 10;

// Of one kind of order: a node has one of it at a time.
class ShrinkBook {
 public:
  // Those that were not tried yet, or are not done and were tried a while ago.
  Dues to_try(Dues found, base::MonotonicTime now) const;
  struct Begun {
    std::vector<Shrink> shrinks;
    std::size_t first = 0;                                           // of those: not tried before
    std::vector<std::pair<std::string, std::int64_t>> off_the_hour;  // of nodes, containers; what `room` was less by
  };
  bool is_under_way(const Due& due) const { return last_of(due) != nullptr; }
  bool waits(const Due& due) const;  // under way, and the rest of it waits for its hour
  // By a report that is new. No more than `first_max` that were not tried before: the others stay due. `room`: for what
  // is bounded.
  Begun begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime now, HourRoom& room,
              std::size_t first_max = std::numeric_limits<std::size_t>::max());
  void forget(const std::function<bool(const std::string&)>& is_gone);

 private:
  struct Last {
    std::int64_t order = 0;
    policy::YarnAmount keep;
    bool done = false;
    base::MonotonicTime again;
    bool waits = false;  // for its hour, with a part at least
    // As it was before the last try, and what that took off the hour.
    std::int64_t used_mib = 0;
    std::int64_t containers = 0;
    std::int64_t counted = 0;
  };
  const Last* last_of(const Due& due) const;  // null: it was not tried
  // How much of what is too much may end now, MiB; 0: nothing, it waits. `next`: the try.
  std::int64_t within_the_hour(const Due& due, const hadoop::NodeReport& report, std::int64_t too_much_mib,
                               HourRoom& room, Begun& begun, Last& next) const;
  // What ended by the last try beyond what it had counted.
  void count_what_ended(const Due& due, const hadoop::NodeReport& report, base::MonotonicTime now, HourRoom& room,
                        Begun& begun);

  std::map<std::string, Last> last_;  // by node
};

}  // namespace tidemark::yarn_operator
