#include "runtime/shim/shim.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/kernel_files.h"
#include "linux/proc/oom_score.h"
#include "linux/proc/process.h"
#include "runtime/shim/log_file.h"
#include "runtime/shim/log_lines.h"
#include "runtime/shim/shim_files.h"

namespace tidemark::runtime {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
// What is read at once, and how much of a log is made of it before that is written: a line of one byte becomes fifty,
// and what the heap has once grown to it keeps.
constexpr std::size_t kPieceBytes = std::size_t{16} << 10;
constexpr std::size_t kSliceBytes = std::size_t{1} << 10;
constexpr std::size_t kLogBytes = std::size_t{32} << 10;
constexpr int kKillRounds = 20;
constexpr int kRoomLook_ms = 1000;
constexpr std::int64_t kSignalCode = 128;
constexpr std::int64_t kNoProgramCode = 127;
// After the end of the container, processes that it left behind may hold its output open: the shim waits only so long.
// Output of the container itself is complete by then, however late this process reads it.
constexpr base::Duration kLastOutput = std::chrono::milliseconds(200);

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno(errno, "make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

bool write_text(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// ---- the child, between fork and exec: it says why it cannot go on through `told`, in words ----

[[noreturn]] void give_up(int told, std::string_view doing, int error) {
  const std::string why = base::cat(doing, ": ", std::strerror(error));
  [[maybe_unused]] const auto written = ::write(told, why.data(), why.size());
  ::_exit(kNoProgramCode);
}

// Lowering it needs CAP_SYS_RESOURCE, which the user of `tidemark up` may not have; raising it needs nothing.
Result<void> raise_oom_score_adj(std::int64_t least) {
  linux::Buffer buffer;
  TM_TRY(const auto proc, linux::Folder::open("/proc"));
  TM_TRY(const auto self, linux::HeldProcess::open(proc, ::getpid()));
  if (!self) return base::fail_errno(ENOENT, "find this process in /proc");
  TM_TRY(const auto found, self->oom_score_adj(buffer));
  if (found && *found >= least) return {};
  TM_TRY([[maybe_unused]] const bool there, self->set_oom_score_adj(least));
  return {};
}

[[noreturn]] void become(const ShimBegin& begin, int output, int errors, int told) {
  ::setsid();
  const std::string self = base::cat(::getpid());
  for (const std::string& procs : begin.procs) {
    if (!write_text(procs, self)) give_up(told, base::cat("join ", procs), errno);
  }
  if (begin.oom_score_adj) {
    if (const auto raised = raise_oom_score_adj(*begin.oom_score_adj); !raised) {
      give_up(told, "set oom_score_adj", raised.error().code);
    }
  }
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(errors, 2) < 0) {
    give_up(told, "set up standard input and output", errno);
  }
  if (!begin.root.empty() && (::chroot(begin.root.c_str()) != 0 || ::chdir("/") != 0)) {
    give_up(told, base::cat("enter the root ", begin.root), errno);
  }
  if (::chdir(begin.working_dir.c_str()) != 0) give_up(told, base::cat("enter ", begin.working_dir), errno);
  if (begin.group && (::setgroups(0, nullptr) != 0 || ::setgid(static_cast<gid_t>(*begin.group)) != 0)) {
    give_up(told, base::cat("become group ", *begin.group), errno);
  }
  if (begin.user && ::setuid(static_cast<uid_t>(*begin.user)) != 0) {
    give_up(told, base::cat("become user ", *begin.user), errno);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Who began all this may ignore them, as a shell does for what it runs in the background: exec would hand that on.
  for (const int signal : {SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::signal(signal, SIG_DFL);
  std::vector<char*> argv, environment;
  for (const std::string& each : begin.argv) argv.push_back(const_cast<char*>(each.c_str()));
  for (const std::string& each : begin.environment) environment.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  ::environ = environment.data();  // PATH is the container's
  ::execvp(argv[0], argv.data());
  give_up(told, base::cat("run ", begin.argv[0]), errno);
}

// ---- the shim itself ----

std::int64_t start_ticks(pid_t pid) {
  linux::Buffer buffer;
  const auto proc = linux::Folder::open("/proc");
  if (!proc) return 0;
  const auto ticks = linux::read_start_ticks(*proc, pid, buffer);
  return ticks && *ticks ? **ticks : 0;
}

class Shim {
 public:
  Shim(const base::Clock& clock, std::string folder, ShimBegin begin, Fd told)
      : clock_(clock),
        folder_(std::move(folder)),
        begin_(std::move(begin)),
        told_(std::move(told)),
        log_({begin_.log, begin_.log_bytes_max, static_cast<int>(begin_.log_files_max)}) {}

  Result<void> run() {
    // Without the shim the container's log and exit code are lost: so only SIGKILL ends it.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const std::string self = base::cat(::getpid());
    for (const std::string& procs : begin_.shim_procs) {
      if (!write_text(procs, self)) return base::fail_errno(errno, base::cat("join ", procs));
    }
    sigset_t heard;
    ::sigemptyset(&heard);
    for (const int signal : {SIGCHLD, end_asked_signal(), end_over_signal()}) ::sigaddset(&heard, signal);
    signals_ = Fd(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return base::fail_errno(errno, "hear of children");
    ShimEnded ended;
    ended.began = ended.ended = clock_.wall();
    if (const auto begun = start(); !begun) {
      ended.cannot_begin = begun.error().message;
      ended.exit_code = kNoProgramCode;
    } else {
      ended.began = *begun;
      follow();
      if (begin_.alone) kill_rest();  // a container is over with its process: nothing of it stays in its group
      ended.ended = clock_.wall();
      ended.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
      ended.exit_code = ended.signal > 0 ? kSignalCode + ended.signal : WEXITSTATUS(status_);
      ended.log_lost = log_.lost();
    }
    return keep(ended);
  }

 private:
  std::string path(std::string_view file) const { return base::cat(folder_, "/", file); }

  // Where the room that was kept for it is gone all the same, it waits for some: without its word the container would
  // count as killed, whatever it came to.
  Result<void> keep(const ShimEnded& ended) const {
    while (true) {
      const auto kept = journal::write_whole(path(kEndedFile), to_json(ended), {.sync = begin_.alone});
      if (kept) return {};
      if (kept.error().code != ENOSPC && kept.error().code != EDQUOT) return std::unexpected(kept.error());
      ::poll(nullptr, 0, kRoomLook_ms);
    }
  }

  Result<base::WallTime> start() {
    TM_TRY(Pipe output, make_pipe());
    TM_TRY(Pipe errors, make_pipe());
    TM_TRY(Pipe told, make_pipe());
    const base::WallTime began = clock_.wall();
    pid_ = ::fork();
    if (pid_ < 0) return base::fail_errno(errno, "begin a process");
    if (pid_ == 0) become(begin_, output.write.get(), errors.write.get(), told.write.get());
    output.write.reset();
    errors.write.reset();
    told.write.reset();
    output_ = std::move(output.read);
    errors_ = std::move(errors.read);
    if (const std::string why = read_all(told.read.get()); !why.empty()) {
      ::waitpid(pid_, &status_, 0);
      return fail(ErrorKind::kIo, why);
    }
    const ShimRunning running{pid_, start_ticks(pid_), began};
    if (auto kept = journal::write_whole(path(kRunningFile), to_json(running)); !kept) {
      // A container without a record could not be found again: kill it.
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status_, 0);
      return std::unexpected(std::move(kept).error());
    }
    told_.reset();
    return began;
  }

  static std::string read_all(int fd) {
    std::string out;
    std::array<char, 4096> piece;
    while (true) {
      const ssize_t count = ::read(fd, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return out;
      out.append(piece.data(), static_cast<std::size_t>(count));
    }
  }

  // Answers how much it was.
  std::size_t take(Fd& from, LogLines& lines) {
    std::array<char, kPieceBytes> piece;
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    const base::WallTime now = clock_.wall();
    std::string out;
    if (count <= 0) {
      lines.end(now, out);
      from.reset();
    }
    std::string_view bytes(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    while (!bytes.empty()) {
      const std::string_view slice = bytes.substr(0, kSliceBytes);
      bytes.remove_prefix(slice.size());
      lines.take(slice, now, out);
      if (out.size() >= kLogBytes) {
        log(out, now);
        out.clear();
      }
    }
    log(out, now);
    return static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }

  // Reads the bytes that are there now, and not later ones. This is the only reader, so it does not block.
  void take_what_is_there(Fd& from, LogLines& lines) {
    int there = 0;
    if (!from || ::ioctl(from.get(), FIONREAD, &there) != 0) return;
    std::size_t left = static_cast<std::size_t>(std::max(there, 0));
    while (from && left > 0) left -= std::min(take(from, lines), left);
  }

  void log(std::string_view lines, base::WallTime now) {
    if (!begin_.log.empty()) log_.write(lines, now);
  }

  // Signals of the runtime come before ends: a container that is asked to end may end before this runs.
  void hear() {
    signalfd_siginfo told;
    while (::read(signals_.get(), &told, sizeof told) > 0) {
      const int signal = static_cast<int>(told.ssi_signo);
      if (signal == end_asked_signal()) {
        waits_for_rest_ = true;
        if (begin_.procs.empty()) signal_process_group(SIGTERM);
      } else if (signal == end_over_signal()) {
        waits_for_rest_ = false;
        kill_rest();
      }
    }
    reap();
  }

  // All that ended: the container's process, and what it left behind and is ours since.
  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid != pid_) continue;
      status_ = status;
      ended_ = true;
    }
  }

  // Whatever it began is a child of ours once those between have ended.
  static bool has_child(idtype_t which, id_t id) {
    siginfo_t found;
    return ::waitid(which, id, &found, WEXITED | WNOHANG | WNOWAIT) == 0;
  }
  bool over() const { return ended_ && !(waits_for_rest_ && has_child(P_ALL, 0)); }

  void follow() {
    LogLines out("stdout"), err("stderr");
    std::optional<base::MonotonicTime> until;
    while (!over() || output_ || errors_) {
      int wait_ms = -1;
      if (over()) {
        if (!until) until = clock_.monotonic() + kLastOutput;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - clock_.monotonic());
        if (left.count() <= 0) break;
        wait_ms = static_cast<int>(left.count());
      }
      std::array<pollfd, 3> watched{{{signals_.get(), POLLIN, 0},
                                     {output_ ? output_.get() : -1, POLLIN, 0},
                                     {errors_ ? errors_.get() : -1, POLLIN, 0}}};
      if (::poll(watched.data(), watched.size(), wait_ms) < 0 && errno != EINTR) break;
      if (watched[1].revents != 0) take(output_, out);
      if (watched[2].revents != 0) take(errors_, err);
      if (watched[0].revents != 0) hear();
    }
    take_what_is_there(output_, out);
    take_what_is_there(errors_, err);
    std::string rest;
    out.end(clock_.wall(), rest);
    err.end(clock_.wall(), rest);
    log(rest, clock_.wall());
  }

  // The ID is not reused as long as a child of ours is in the group, running or not.
  void signal_process_group(int signal) const {
    if (has_child(P_PGID, static_cast<id_t>(pid_))) ::kill(-pid_, signal);
  }

  // Of a probe's program the group is the container's, and without one its process group is all that can be named.
  void kill_rest() {
    if (!begin_.alone || begin_.procs.empty()) {
      signal_process_group(SIGKILL);
      return reap();
    }
    for (int round = 0; round < kKillRounds; ++round) {
      bool any = false;
      const Fd procs(::open(begin_.procs.front().c_str(), O_RDONLY | O_CLOEXEC));
      if (!procs) return;
      for (const std::string_view line : base::split(read_all(procs.get()), '\n')) {
        const auto pid = base::parse_int(line);
        if (!pid || *pid <= 1 || *pid == ::getpid()) continue;
        any = true;
        ::kill(static_cast<pid_t>(*pid), SIGKILL);
      }
      if (!any) return;
      ::poll(nullptr, 0, 10);
      reap();
    }
  }

  const base::Clock& clock_;
  std::string folder_;
  ShimBegin begin_;
  Fd told_;
  LogFile log_;
  Fd signals_, output_, errors_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;           // its process
  bool waits_for_rest_ = false;  // it was asked to end
};

bool still_lies_at(const Fd& file, const std::string& path) {
  struct stat open{}, there{};
  return ::fstat(file.get(), &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

Result<void> run_in(const std::string& folder, const base::Clock& clock, Fd told) {
  const std::string path = base::cat(folder, "/", kLockFile);
  const Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return base::fail_errno(errno, base::cat("open the lock in ", folder));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::kAlreadyExists, folder, ": another shim has this container");
  }
  // A later runtime may have removed the directory because no shim had started.
  if (!still_lies_at(lock, path)) return fail(ErrorKind::kNotFound, folder, ": what was to be begun here is forgotten");
  // A later runtime finds the shim by it.
  const std::string self = base::cat(::getpid(), " ", start_ticks(::getpid()), "\n");
  const auto size = static_cast<ssize_t>(self.size());
  // Cut afterwards: the room that is kept for it would go.
  if (::write(lock.get(), self.data(), self.size()) != size || ::ftruncate(lock.get(), size) != 0) {
    return base::fail_errno(errno, base::cat("write the lock in ", folder));
  }
  // A later runtime may have given the container up before this shim had the lock.
  TM_TRY(const auto given_up, journal::read_whole(base::cat(folder, "/", kEndedFile), kFileBytesMax));
  if (given_up) return {};
  TM_TRY(const auto text, journal::read_whole(base::cat(folder, "/", kBeginFile), kFileBytesMax));
  if (!text) return fail(ErrorKind::kNotFound, folder, ": no container command found");
  auto begin = parse_begin(*text);
  if (!begin) return std::unexpected(std::move(begin.error()).within(base::cat(folder, "/", kBeginFile)));
  return Shim(clock, folder, *std::move(begin), std::move(told)).run();
}

}  // namespace

int run_shim(const std::string& folder, const base::Clock& clock, int told) {
  if (told >= 0) ::fcntl(told, F_SETFD, FD_CLOEXEC);  // the container has no part in it
  const auto done = run_in(folder, clock, Fd(told));
  if (done) return EXIT_SUCCESS;
  const std::string why = base::cat("tidemark: ", done.error().message, "\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, why.data(), why.size());
  return EXIT_FAILURE;
}

}  // namespace tidemark::runtime
