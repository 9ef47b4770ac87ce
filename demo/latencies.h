// How long answers took: counts by value, exact to one part in 64, in memory that does not grow.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace tidemark::demo {

class Latencies {
 public:
  void add(base::Duration latency);
  void add(const Latencies& more);
  std::uint64_t count() const { return count_; }
  // The smallest value with at least `share` of all values at or below it, rounded up to the end of its bucket; zero if
  // there are none.
  base::Duration percentile(double share) const;
  base::Duration highest() const { return highest_; }
  void clear();

 private:
  std::vector<std::uint64_t> counts_;  // as long as the highest value asks for
  std::uint64_t count_ = 0;
  base::Duration highest_{0};
};

}  // namespace tidemark::demo
