// The budget of a client's calls, and the queue of calls that wait for a place in it: first come, first served. A call
// that leaves the queue, or returns its place, lets the others move up.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/limits.h"
#include "net/loop.h"

namespace tidemark::kube {

// The right to send one request now. Copies are the same place; it goes back when the last of them is gone and nothing
// was sent.
class Place {
 public:
  Place() = default;              // none
  static Place outside_budget();  // for what holds itself back: a page that is asked for only once the one before came

  explicit operator bool() const;  // there is one, and it is not used up
  bool use();                      // true once
  base::Duration waited() const;   // for it

 private:
  friend class CallBudget;
  struct Held;
  std::shared_ptr<Held> held_;
};

// Made as a shared object: places outlive who handed them out.
class CallBudget : public std::enable_shared_from_this<CallBudget> {
 public:
  CallBudget(net::EventLoop& loop, double per_second, std::int64_t burst);

  // nullopt, at once, where it would come later than after `limit`.
  net::Task<std::optional<Place>> take(base::Duration limit);
  // How long a new caller would wait; Duration::max() means for ever.
  base::Duration wait() const;

 private:
  friend class Place;
  struct Waiting;
  Place hold(base::Duration waited);
  void refund();
  void call_first();
  void serve();
  void wake_for_first();

  net::EventLoop& loop_;
  base::TokenBucket bucket_;
  std::list<Waiting*> line_;
  std::deque<base::MonotonicTime> due_;  // times of the next places: one for each waiting call, in order
  net::Timer timer_;
};

}  // namespace tidemark::kube
