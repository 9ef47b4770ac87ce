// The slice of an ordinary process: how long it may run before another of its group has its turn. From Linux 6.12 on
// each may have one of its own (sched_setattr, sched_runtime), of 0.1 ms to 100 ms; it takes no right to ask for one.
// Its share of the processor stays as it is. A child begins with its parent's.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::linux {

// nullopt: the kernel keeps none. 0 is the caller.
Result<std::optional<base::Duration>> read_slice(pid_t process);

// Of the calling thread. An older kernel takes it, and does nothing.
Result<void> set_own_slice(base::Duration slice);

}  // namespace tidemark::linux
