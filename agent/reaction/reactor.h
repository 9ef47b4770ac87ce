// Carries out a reaction: after an order is armed, every look at the counters may take one of its steps, until the
// order is withdrawn. It is shared by two threads: the loop, which decides, and the reaction thread, which looks.
//
//            arm()              look()                       nothing to do
//   loop's ────────▶ armed ◀──────────────▶ looking ──────────────────────▶ armed
//    ▲                │ withdraw()            │ took a step, or cannot look any more
//     ├────────────────┘                       ▼
//     └───────────────────────────────────── taken                 each arrow is one atomic exchange
//                      withdraw()
//
// The state names the thread that owns the order, so there is no lock. After withdraw() nothing is written before the
// next arm(): it waits for a look in progress, which is some reads and a write of small files. A caller that withdraws
// and then restores is therefore not overwritten.
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
#include "policy/protect/reaction/online_use.h"
#include "policy/protect/reaction/reaction.h"

namespace tidemark::agent {

struct ReactionOrder {
  std::vector<policy::protect::ReactionStep> steps;
  std::vector<std::string> bytes;  // of each step, for every file of it
  model::CpuMilli known;           // use of the counted groups, by the decision
  std::string over;                // written only over this
  bool only_shown = false;         // the write is reported, but not done
};

struct ReactionTaken {
  enum class Outcome : std::uint8_t {
    kWrote,
    kWouldWrite,
    kNotOurs,     // one of the files has another value: nothing was written
    kRefused,     // by the kernel
    kUnreadable,  // a counter, or a file: nothing is watched any more
  };
  Outcome outcome = Outcome::kUnreadable;
  std::size_t step = 0;
  std::size_t files = 0;  // files written, from the first of the plan
  model::CpuMilli risen;
  base::Duration took{0};  // from the look at the counters to the completed write
  int error = 0;           // of kRefused
};

class Reactor {
 public:
  explicit Reactor(const base::Clock& clock) : clock_(clock) {}  // any thread may read it
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // ---- called by the loop ----

  // Returns what was done since arm(), if anything.
  std::optional<ReactionTaken> withdraw();
  // Only while withdrawn. Error: nothing is armed.
  Result<void> arm(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan,
                   const ReactionOrder& order);
  void close_files();  // only while withdrawn
  // Withdraws for good; ends wait_until_armed().
  void end();

  // ---- called by the reaction thread ----

  // True: a step was taken, and the loop must be notified. Does nothing if nothing is armed; allocates nothing.
  bool look();
  // False: nothing will be armed any more.
  bool wait_until_armed() const;

 private:
  enum State : int { kLoops, kArmed, kLooking, kTaken, kOver };
  bool look_now();
  ReactionTaken take(std::size_t step) const;

  const base::Clock& clock_;
  std::atomic<int> state_ = kLoops;

  // Owned as the state says.
  ReactionFiles files_;
  ReactionOrder order_;
  policy::protect::OnlineUse use_;
  ReactionTaken taken_;
};

}  // namespace tidemark::agent
