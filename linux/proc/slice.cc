#include "linux/proc/slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "base/text.h"

namespace tidemark::linux {
namespace {

// As the kernel's first version of it had it, which every later one takes: glibc has neither this nor the two calls,
// and the kernel's own header does not go with glibc's.
struct SchedAttributes {
  std::uint32_t size = 0, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

Result<SchedAttributes> attributes_of(pid_t process) {
  SchedAttributes out;
  if (::syscall(SYS_sched_getattr, process, &out, sizeof out, 0U) != 0) {
    return base::fail_errno(errno, base::cat("read how process ", process, " is scheduled"));
  }
  return out;
}

}  // namespace

Result<std::optional<base::Duration>> read_slice(pid_t process) {
  TM_TRY(const SchedAttributes found, attributes_of(process));
  if (found.runtime_ns == 0) return std::nullopt;
  return std::chrono::nanoseconds(found.runtime_ns);
}

Result<void> set_own_slice(base::Duration slice) {
  TM_TRY(SchedAttributes wanted, attributes_of(0));  // all else stays as it is
  wanted.runtime_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(slice).count());
  if (::syscall(SYS_sched_setattr, 0, &wanted, 0U) != 0) {
    return base::fail_errno(errno, "set the slice of this process");
  }
  return {};
}

}  // namespace tidemark::linux
