// Processes of our own that live for a moment in groups that are given, to see what comes of it: whether a quota holds
// one and where it may run, which of two has more of a processor, whether one meets a limit of memory.
//
// Each function blocks until its processes have ended; those that are late are killed (kDeadline). Of any thread of a
// program with many: between fork and exit a child calls nothing but the kernel, and takes no signal but SIGKILL.
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
  // When it has told, or is late, and before its end is waited for: to lift what would slow its end.
  std::function<void()> release{};
};

struct SpinReport {
  int refused = 0;           // the errno of joining; 0: it was in all of them
  base::Duration ran{0};     // on a processor, in the groups
  base::Duration lasted{0};  // on the clock
  CpuSet cpus;               // where it might run
};

Result<SpinReport> spin_in_groups(const Spin&);

// Two that want the same processor, the one that the caller runs on. What each has of it is its own time on a
// processor, so others who want that one make the race longer and no other.
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

// One that comes to use more and more memory. What it touched it lets the kernel take (MADV_FREE) before it goes on, so
// where the group may not have it all the kernel takes that, ends nobody, and has nothing to say in its log.
inline constexpr std::size_t kFillPages = 1024, kFillPagesAtOnce = 128;
struct Fill {
  int group = -1;                          // its cgroup.procs, open for writing
  std::size_t pages = kFillPages;          // in all
  std::size_t at_once = kFillPagesAtOnce;  // that it does not let go of yet; pages is a multiple of it
  base::Duration grace = std::chrono::milliseconds(100);
  std::function<void()> look{};  // when it has told, while it still has what nobody took
};

struct FillReport {
  int refused = 0;     // the errno of joining, of having the memory, or of letting go of it
  bool whole = false;  // it touched all of them; false of none refused: the kernel ended it
};

Result<FillReport> fill_in_group(const Fill&);

}  // namespace tidemark::linux
