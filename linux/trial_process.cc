#include "linux/trial_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/fd.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

// What the child tells, in one write: it fits a pipe whole.
struct Told {
  int refused = 0;
  std::int64_t ran_ns = 0;
  std::int64_t lasted_ns = 0;
  std::array<unsigned long, CpuSet::kCpusMax / (sizeof(unsigned long) * CHAR_BIT)> cpus{};
};
static_assert(sizeof(Told) <= PIPE_BUF);

// A handler of the program must not run in the child: it would write to what both have open.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::int64_t now_ns(clockid_t clock) {
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNsPerS + now.tv_nsec;
}

// Only what is safe after a fork in a program with threads: no memory is asked for, no lock taken.
[[noreturn]] void run_child(const Spin& spin, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a group with a process in it can be removed by nobody
  Told told;
  for (const int group : spin.groups) {
    if (::write(group, "0", 1) == 1) continue;
    told.refused = errno;
    break;
  }
  if (told.refused == 0) {
    const std::int64_t began = now_ns(CLOCK_MONOTONIC), had = now_ns(CLOCK_THREAD_CPUTIME_ID);
    do {
      told.ran_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - had;
      told.lasted_ns = now_ns(CLOCK_MONOTONIC) - began;
    } while (told.lasted_ns < spin.at_most.count() && told.ran_ns < spin.busy.count());
    ::sched_getaffinity(0, sizeof told.cpus, reinterpret_cast<cpu_set_t*>(told.cpus.data()));
  }
  [[maybe_unused]] const ssize_t size = ::write(out, &told, sizeof told);
  ::_exit(0);
}

// Whether something can be read, or all who could write are gone, in time. No signal ends the wait.
bool wait_for(int fd, base::Duration time) {
  pollfd wanted{fd, POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return ::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(ms, INT_MAX))) == 1;
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }  // ECHILD: this program lets the kernel reap
}

SpinReport report_of(const Told& told) {
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  SpinReport out{told.refused, base::Duration(told.ran_ns), base::Duration(told.lasted_ns), {}};
  for (int cpu = 0; cpu < CpuSet::kCpusMax; ++cpu) {
    if ((told.cpus[static_cast<std::size_t>(cpu / kBits)] >> (cpu % kBits) & 1) != 0) out.cpus.add(cpu);
  }
  return out;
}

}  // namespace

Result<SpinReport> spin_in_groups(const Spin& spin) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(errno, "make a pipe");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const NoSignals quiet;
  const pid_t child = ::fork();
  if (child < 0) return base::fail_errno(errno, "start a process for a trial");
  if (child == 0) run_child(spin, to.get());
  to.reset();

  Told told;
  const bool in_time = wait_for(from.get(), spin.at_most + spin.grace);
  const ssize_t size = in_time ? ::read(from.get(), &told, sizeof told) : 0;
  if (size != static_cast<ssize_t>(sizeof told)) ::kill(child, SIGKILL);
  if (spin.release) spin.release();
  reap(child);
  if (!in_time) return fail(ErrorKind::kDeadline, "the process of a trial came to no end in time");
  if (size != static_cast<ssize_t>(sizeof told)) {
    return fail(ErrorKind::kUnavailable, "the process of a trial ended before it told anything");
  }
  return report_of(told);
}

}  // namespace tidemark::linux
