// Short-lived processes of our own in given groups, to test the effect: whether a quota throttles one and where it may
// run, which of two gets more of a CPU, whether one meets a memory limit.
//
// Each function blocks until its processes have ended; late ones are killed (kDeadline). Callable from any thread of a
// threaded program: between fork and exit a child only makes system calls, and takes no signal except SIGKILL.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>

#include "base/clock.h"
#include "base/result.h"
#include "linux/cpu_set.h"

namespace tidemark::linux {

struct Spin {
  std::span<const int> groups;  // their cgroup.procs, open for writing; joined in this order
  // It ends after this much on the clock in the groups, or this much on a processor.
  base::Duration at_most = std::chrono::milliseconds(40);
  base::Duration busy = std::chrono::milliseconds(20);
  // Waited for beyond `at_most`: the beginning of a process, and its way into the groups.
  base::Duration grace = std::chrono::milliseconds(60);
  // Called after the report or the timeout, before waiting for the end: removes what would slow the end.
  std::function<void()> release{};
};

struct SpinReport {
  int refused = 0;           // the errno of joining; 0: it was in all of them
  base::Duration ran{0};     // on a processor, in the groups
  base::Duration lasted{0};  // on the clock
  CpuSet cpus;               // where it might run
};

Result<SpinReport> spin_in_groups(const Spin&);

// Two processes that compete for the caller's CPU. Each is measured by its own CPU time, so other load on that CPU only
// makes the race longer.
struct Race {
  std::array<int, 2> groups{};  // the cgroup.procs of each, open for writing
  // When both run there: gives the first one less. From when the second is seen to run after that it counts: the first
  // may have been amid a turn of before, which a kernel lets it end.
  std::function<Result<void>()> handicap{};
  // Over when both together had this much, or when this much is over on the clock since the handicap.
  base::Duration busy = std::chrono::milliseconds(20);
  base::Duration at_most = std::chrono::milliseconds(60);
  base::Duration grace = std::chrono::milliseconds(60);  // for both to be there
  std::function<void()> release{};                       // before their end is waited for, as of Spin
};

struct RaceReport {
  int refused = 0;                      // the errno of joining, or of staying on that processor
  std::array<base::Duration, 2> ran{};  // on it, while it counted
};

Result<RaceReport> race_in_groups(const Race&);

// A process whose memory grows. It marks touched memory as free (MADV_FREE) before it continues, so if the group has a
// limit, the kernel reclaims that memory, kills nothing and logs nothing.
inline constexpr std::size_t kFillPages = 1024, kFillPagesAtOnce = 128;
struct Fill {
  int group = -1;                          // its cgroup.procs, open for writing
  std::size_t pages = kFillPages;          // in all
  std::size_t at_once = kFillPagesAtOnce;  // that it does not let go of yet; pages is a multiple of it
  base::Duration grace = std::chrono::milliseconds(100);
  std::function<void()> look{};  // called after the report, while it still has its memory
};

struct FillReport {
  int refused = 0;     // the errno of joining, of having the memory, or of letting go of it
  bool whole = false;  // it touched all of them; false of none refused: the kernel ended it
};

Result<FillReport> fill_in_group(const Fill&);

}  // namespace tidemark::linux
