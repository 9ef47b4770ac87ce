#include "linux/trial_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
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
#include <optional>

#include "base/fd.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

// The child's report, in one write that fits into a pipe.
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

bool join(int group) {
  return ::write(group, "0", 1) == 1;
}

// The child only makes calls that are safe after a fork in a threaded program: it allocates no memory and takes no
// lock.
void spin(const Spin& what, int out) {
  Told told;
  for (const int group : what.groups) {
    if (join(group)) continue;
    told.refused = errno;
    break;
  }
  if (told.refused == 0) {
    const std::int64_t began = now_ns(CLOCK_MONOTONIC), had = now_ns(CLOCK_THREAD_CPUTIME_ID);
    do {
      told.ran_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - had;
      told.lasted_ns = now_ns(CLOCK_MONOTONIC) - began;
    } while (told.lasted_ns < what.at_most.count() && told.ran_ns < what.busy.count());
    ::sched_getaffinity(0, sizeof told.cpus, reinterpret_cast<cpu_set_t*>(told.cpus.data()));
  }
  [[maybe_unused]] const ssize_t size = ::write(out, &told, sizeof told);
}

// Reports that it has started, and computes until it is killed or the time is over. It yields often: a kernel that
// checks only at a tick reassigns the CPU every four or ten milliseconds.
void run_in_race(int group, int cpu, base::Duration at_most, int out) {
  constexpr std::int64_t kTurnNs = 50'000;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  const int refused = join(group) && ::sched_setaffinity(0, sizeof one, &one) == 0 ? 0 : errno;
  if (::write(out, &refused, sizeof refused) != sizeof refused || refused != 0) return;
  const std::int64_t end = now_ns(CLOCK_MONOTONIC) + at_most.count();
  for (std::int64_t now = now_ns(CLOCK_MONOTONIC); now < end; ::sched_yield()) {
    const std::int64_t turn = now + kTurnNs;
    while (now < turn) now = now_ns(CLOCK_MONOTONIC);
  }
}

// 0, or an errno.
int touch(const Fill& what) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t batch = what.at_once * page;
  void* const all =
      ::mmap(nullptr, what.pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED || !join(what.group)) return errno;
  ::madvise(all, what.pages * page,
            MADV_NOHUGEPAGE);  // a huge page comes whole, and goes whole; EINVAL: there are none
  auto* const bytes = static_cast<char*>(all);
  for (std::size_t from = 0; from < what.pages * page; from += batch) {
    for (std::size_t at = from; at < from + batch; at += page) static_cast<volatile char*>(bytes)[at] = 1;
    // A kernel without it (before 4.5) would end the process at the limit.
    if (::madvise(bytes + from, batch, MADV_FREE) != 0) return errno;
  }
  return 0;
}

// Stays until it is killed or the time is over: its memory is charged to the group as long.
void fill(const Fill& what, int out) {
  const int refused = touch(what);
  if (::write(out, &refused, sizeof refused) != sizeof refused) return;
  const std::int64_t end = now_ns(CLOCK_MONOTONIC) + what.grace.count();
  constexpr timespec kNap{0, 1'000'000};
  while (now_ns(CLOCK_MONOTONIC) < end) ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
}

// Waits until data can be read or all writers are gone, at most this long. Signals do not end the wait.
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

// The children of a trial, and their report pipe. Remaining children are killed and reaped.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { end(); }

  Result<void> open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(errno, "make a pipe");
    from_ = Fd(ends[0]);
    to_ = Fd(ends[1]);
    return {};
  }

  // Call before reading. `run` gets the descriptor to write to.
  template <typename Run>
  Result<void> start(const Run& run) {
    const pid_t child = ::fork();
    if (child < 0) return base::fail_errno(errno, "start a process for a trial");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a group with a process in it cannot be removed
      run(to_.get());
      ::_exit(0);
    }
    pids_[count_++] = child;
    return {};
  }

  // The next report of a child.
  template <typename Told>
  Result<Told> hear(base::Duration within) {
    to_.reset();  // so that the end of all of them is heard
    Told told;
    if (!wait_for(from_.get(), within))
      return fail(ErrorKind::kDeadline, "the process of a trial came to no end in time");
    if (::read(from_.get(), &told, sizeof told) != static_cast<ssize_t>(sizeof told))
      return fail(ErrorKind::kUnavailable, "the process of a trial ended before its report");
    return told;
  }

  // How long one of them was on a processor. nullopt: it is no more.
  std::optional<base::Duration> ran(std::size_t which) const {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pids_[which], &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  void kill() const {
    for (std::size_t at = 0; at < count_; ++at) ::kill(pids_[at], SIGKILL);
  }
  // Children that ended by themselves or were killed.
  void reap_all() {
    while (count_ > 0) reap(pids_[--count_]);
  }
  void end() {
    kill();
    reap_all();
  }

 private:
  const NoSignals quiet_;
  Fd from_, to_;
  std::array<pid_t, 2> pids_{};
  std::size_t count_ = 0;
};

// What each had on a processor. nullopt: one of them is no more.
using Times = std::array<base::Duration, 2>;
std::optional<Times> ran(const Children& children) {
  const auto first = children.ran(0), second = children.ran(1);
  if (!first || !second) return std::nullopt;
  return Times{*first, *second};
}

// What each has from now on until it is enough, or until `end_ns` on the clock.
template <typename Enough>
std::optional<Times> watch(const Children& children, std::int64_t end_ns, const Enough& enough) {
  constexpr timespec kLook{0, 1'000'000};
  const auto began = ran(children);
  while (began) {
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kLook, nullptr);
    const auto now = ran(children);
    if (!now) break;
    const Times had{(*now)[0] - (*began)[0], (*now)[1] - (*began)[1]};
    if (enough(had) || now_ns(CLOCK_MONOTONIC) >= end_ns) return had;
  }
  return std::nullopt;
}

Result<RaceReport> race_of(Children& children, const Race& what, int cpu) {
  TM_TRY_VOID(children.open());
  const base::Duration at_most = what.at_most + what.grace;
  for (const int group : what.groups) {
    TM_TRY_VOID(children.start([&](int out) { run_in_race(group, cpu, at_most, out); }));
  }
  for ([[maybe_unused]] const int each : what.groups) {
    TM_TRY(const int refused, children.hear<int>(what.grace));
    if (refused != 0) return RaceReport{refused, {}};
  }
  if (what.handicap) TM_TRY_VOID(what.handicap());
  constexpr base::Duration kSeen = std::chrono::milliseconds(1);
  const std::int64_t end_ns = now_ns(CLOCK_MONOTONIC) + what.at_most.count();
  const auto before = watch(children, end_ns, [&](const Times& had) { return had[1] >= kSeen; });
  const auto counted =
      before ? watch(children, end_ns, [&](const Times& had) { return had[0] + had[1] >= what.busy; }) : before;
  if (!counted) return fail(ErrorKind::kUnavailable, "a process of a trial ended before it was over");
  return RaceReport{0, *counted};
}

}  // namespace

Result<SpinReport> spin_in_groups(const Spin& what) {
  Children children;
  TM_TRY_VOID(children.open());
  TM_TRY_VOID(children.start([&](int out) { spin(what, out); }));
  const auto told = children.hear<Told>(what.at_most + what.grace);
  if (!told) children.kill();
  if (what.release) what.release();
  children.reap_all();
  if (!told) return fail(told.error());
  return report_of(*told);
}

Result<RaceReport> race_in_groups(const Race& what) {
  const int cpu = ::sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return fail(ErrorKind::kUnsupported, "no race is run on processor ", cpu);
  Children children;
  auto report = race_of(children, what, cpu);
  children.kill();
  if (what.release) what.release();
  children.reap_all();
  return report;
}

Result<FillReport> fill_in_group(const Fill& what) {
  Children children;
  TM_TRY_VOID(children.open());
  TM_TRY_VOID(children.start([&](int out) { fill(what, out); }));
  const auto refused = children.hear<int>(what.grace);
  if (what.look) what.look();
  children.end();
  if (!refused && refused.error().kind == ErrorKind::kUnavailable) return FillReport{};
  if (!refused) return fail(refused.error());
  return FillReport{*refused, *refused == 0};
}

}  // namespace tidemark::linux
