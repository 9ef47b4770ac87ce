// How what is due (yarn_operator/dues.h) ends: as pre-empted, by a total with a timeout of zero. Once for each order,
// and again while the ResourceManager has not done it, down to what the first try was to leave: what gets too much
// later has another cause, and goes on. So does what a node is told for another reason (cordoned, not ready).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/dues.h"

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
    std::size_t first = 0;  // of those: not tried before
  };
  // By a report that is new. No more than `first_max` that were not tried before: the others stay due.
  Begun begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime now,
              std::size_t first_max = std::numeric_limits<std::size_t>::max());
  void forget(const std::function<bool(const std::string&)>& is_gone);

 private:
  struct Last {
    std::int64_t order = 0;
    policy::YarnAmount keep;
    bool done = false;
    base::MonotonicTime again;
  };
  const Last* last_of(const Due& due) const;  // null: it was not tried

  std::map<std::string, Last> last_;  // by node
};

}  // namespace tidemark::yarn_operator
