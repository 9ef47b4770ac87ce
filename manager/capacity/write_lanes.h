// The API server by two budgets. What was lost or overwritten goes ahead: however long the line of routine writes is, a
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

// A write, and what is read for it, waits for its place so long; then its queue tries it again. What is sent has its
// own, shorter limit.
inline constexpr base::Duration kPlaceLimit = std::chrono::seconds(30);

struct Lane {
  kube::Reader& reader;
  kube::Writer& writer;
};

struct WriteLanes {
  explicit WriteLanes(kube::Client& client)
      : routine{client, client}, ahead{client.ahead(), client.ahead()}, client_(client) {}
  const Lane& of(bool repair) const { return repair ? ahead : routine; }
  bool routine_waits() const { return client_.budget_wait() > base::Duration(0); }  // whoever comes now does

  Lane routine;
  Lane ahead;

 private:
  kube::Client& client_;
};

// One write under way, also where its task is destroyed in the middle: an orderly stop waits for those.
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
