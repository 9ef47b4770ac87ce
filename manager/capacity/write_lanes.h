// Two request budgets for the API server. Repairs use their own budget and do not wait behind routine writes.
//
// A writer takes its place in the budget before it decides from a cache:
//
//   plan = decide(cache)          most passes end here: nothing to write, no place taken
//   place = take_place()          waits; if it waited, decide again
//   patch(plan, place)            at once, while the cache lags only by the watch
//
// Cuts do not wait behind growth: a write that takes nothing away and would have to wait moves to a separate line
// (capacity_workers.h) and returns with a place.
//
// In the other order, a program that writes an object more often than our request waits would block all our writes,
// because each patch would meet a newer revision.
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
