// wo request budgets for the API server. Repairs use their own budget and do not wait behind routine writes.
// repair does not wait in it.
//
// Who writes what it decided from a cache has its place in the budget first, and looks at the cache after that:
//
//   plan = decide(cache)          most looks end here: nothing to write, no place taken
//   place = take_place()          waits; if it did wait, decide again
//   patch(plan, place)            at once, while the cache is as old as a watch is late
//
// Cuts do not wait behind growth: who has nothing to take away, and would have to wait, steps back into a line of its
// own (capacity_workers.h), and comes again with a place.
//
// The other way round somebody who writes an object more often than a request waits keeps everybody else out: each
// patch then meets a revision that is newer than the one it was decided on.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "kube/client.h"

namespace tidemark::manager {

// Longest wait of a write and its reads for a place; then its queue retries. A sent request has its own, shorter
// limit.
inline constexpr base::Duration kPlaceLimit = std::chrono::seconds(30);

struct Lane {
  kube::Reader& reader;
  kube::Writer& writer;
};

struct WriteLanes {
  explicit WriteLanes(kube::Client& client)
      : routine{client, client}, ahead{client.ahead(), client.ahead()}, client_(client) {}
  const Lane& of(bool repair) const { return repair ? ahead : routine; }
  bool routine_waits() const { return client_.budget_wait() > base::Duration(0); }  // for a new caller

  Lane routine;
  Lane ahead;

 private:
  kube::Client& client_;
};

// One write in flight, even if its task is destroyed: an orderly stop waits for it.
class UnderWay {
 public:
  explicit UnderWay(std::size_t& of) : of_(of) { ++of_; }
  ~UnderWay() { --of_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::size_t& of_;
};

}  // namespace tidemark::manager
