// Carries a reaction out: an order is handed over whole, and from then on every look at the counters may take one of
// its steps, until it is withdrawn. Two threads meet here: the loop's, which decides, and the one that looks.
//
//            arm()              look()                       nothing to do
//   loop's ────────▶ armed ◀──────────────▶ looking ──────────────────────▶ armed
//     ▲                │ withdraw()            │ took a step, or cannot look any more
//     ├────────────────┘                       ▼
//     └───────────────────────────────────── taken                 each arrow is one atomic exchange
//                      withdraw()
//
// What is handed over belongs to whom the state says, so nothing is locked. After withdraw() nothing is written any
// more before the next arm(): it waits for a look that has begun, which is some reads and a write of small files. So
// whoever withdraws first and restores then is not written over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/reaction/reaction_files.h"
#include "base/clock.h"
#include "model/resources.h"
#include "policy/reaction/online_use.h"
#include "policy/reaction/reaction.h"

namespace tidemark::agent {

struct ReactionOrder {
  std::vector<policy::ReactionStep> steps;
  std::vector<std::string> bytes;  // of each step, for every file of it
  model::CpuMilli known;           // of what the counters count, by the decision
  std::string over;                // written only over this
  bool only_shown = false;         // what would be written is told, and not written
};

struct ReactionTaken {
  enum class Outcome : std::uint8_t {
    kWrote,
    kWouldWrite,
    kNotOurs,     // another value stands in one of the files: none was written
    kRefused,     // by the kernel
    kUnreadable,  // a counter, or a file: nothing is watched any more
  };
  Outcome outcome = Outcome::kUnreadable;
  std::size_t step = 0;
  std::size_t files = 0;  // that were written, the first of the plan
  model::CpuMilli risen;
  base::Duration took{0};  // from the look at the counters until it was written
  int error = 0;           // of kRefused
};

class Reactor {
 public:
  explicit Reactor(const base::Clock& clock) : clock_(clock) {}  // any thread may read it
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // ---- the loop's ----

  // What was done since arm(), if anything was.
  std::optional<ReactionTaken> withdraw();
  // Only while withdrawn. An error: nothing is armed.
  Result<void> arm(const linux::Hierarchies& hierarchies, const policy::ReactionPlan& plan, const ReactionOrder& order);
  void close_files();  // only while withdrawn
  // Withdraws, for good: who waits does so no longer.
  void end();

  // ---- of who looks ----

  // True: taken, and somebody is to be told. Does nothing where nothing is armed, and allocates nothing.
  bool look();
  // False: nothing will be any more.
  bool wait_until_armed() const;

 private:
  enum State : int { kLoops, kArmed, kLooking, kTaken, kOver };
  bool look_now();
  ReactionTaken take(std::size_t step) const;

  const base::Clock& clock_;
  std::atomic<int> state_ = kLoops;

  // Whose the state says.
  ReactionFiles files_;
  ReactionOrder order_;
  policy::OnlineUse use_;
  ReactionTaken taken_;
};

}  // namespace tidemark::agent
