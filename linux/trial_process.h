// A process of our own that computes for a moment in groups that are given: whether a quota holds it, and where it may
// run.
#pragma once

#include <chrono>
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

// Blocks until the process has ended; after at_most + grace it is killed (kDeadline). Of any thread of a program
// with many: between fork and exit the child calls nothing but the kernel, and takes no signal but SIGKILL.
Result<SpinReport> spin_in_groups(const Spin&);

}  // namespace tidemark::linux
