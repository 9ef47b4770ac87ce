#include "linux/kmsg.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr int kSkippedMax = 10'000;  // lines that are no messages, in one call: a file of something else ends there

// The text between `begin` and the first `end` after it; to the end of the text if `end` is empty.
std::optional<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return std::nullopt;
  text.remove_prefix(from + begin.size());
  const std::size_t to = end.empty() ? text.size() : text.find(end);
  if (to == std::string_view::npos) return std::nullopt;
  return text.substr(0, to);
}

template <class Int>
std::optional<Int> number(std::optional<std::string_view> word) {
  const auto value = word ? parse_count(*word) : std::nullopt;
  if (!value || *value > std::numeric_limits<Int>::max()) return std::nullopt;
  return static_cast<Int>(*value);
}

// "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=x,pid=12,uid=0"
// The name of a task may hold commas: what stands behind it is found from the end.
KernelIncident oom_kill(std::string_view text) {
  KernelIncident out;
  out.kind = KernelIncidentKind::kOomKill;
  out.limit_group = between(text, ",oom_memcg=", ",task_memcg=").value_or("");
  out.group = between(text, ",task_memcg=", ",task=").value_or("");
  const std::size_t pid = text.rfind(",pid=");
  if (pid == std::string_view::npos) return out;
  out.pid = number<pid_t>(between(text.substr(pid), ",pid=", ","));
  out.task = between(text.substr(0, pid), ",task=", "").value_or("");
  return out;
}

// "Memory cgroup out of memory: Killed process 12 (x) total-vm:1kB, anon-rss:2kB, file-rss:3kB, …"
KernelIncident oom_killed(std::string_view text) {
  KernelIncident out;
  out.kind = KernelIncidentKind::kOomKilled;
  out.pid = number<pid_t>(between(text, "illed process ", " ("));
  const std::size_t end = text.rfind(") total-vm:");
  out.task = between(text.substr(0, end), " (", "").value_or("");
  const auto kib = number<std::int64_t>(between(text, "anon-rss:", "kB"));
  if (kib) out.anon_bytes = scaled(*kib, 1024);
  return out;
}

// "INFO: task x:12 blocked for more than 120 seconds."
KernelIncident hung_task(std::string_view text) {
  KernelIncident out;
  out.kind = KernelIncidentKind::kHungTask;
  const std::string_view who = between(text, "INFO: task ", " blocked for more than ").value_or("");
  const std::size_t colon = who.rfind(':');
  if (colon != std::string_view::npos) {
    out.task = who.substr(0, colon);
    out.pid = number<pid_t>(who.substr(colon + 1));
  }
  out.seconds = number<std::int64_t>(between(text, " blocked for more than ", " second"));
  return out;
}

// "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:12]"
KernelIncident soft_lockup(std::string_view text) {
  KernelIncident out;
  out.kind = KernelIncidentKind::kSoftLockup;
  out.cpu = number<int>(between(text, "CPU#", " "));
  out.seconds = number<std::int64_t>(between(text, "stuck for ", "s"));
  const std::string_view who = between(text, "! [", "]").value_or("");
  const std::size_t colon = who.rfind(':');
  if (colon != std::string_view::npos) {
    out.task = who.substr(0, colon);
    out.pid = number<pid_t>(who.substr(colon + 1));
  }
  return out;
}

bool is_rcu_stall(std::string_view text) {
  return text.starts_with("rcu: ") &&
         (text.contains("self-detected stall on CPU") || text.contains("detected stalls on CPUs/tasks"));
}

}  // namespace

// "6,1234,5678901,-,caller=T1;text" and lines of devices, each with a blank in front.
Result<KernelMessage> parse_kernel_message(std::string_view record) {
  constexpr std::int64_t kPriorities = 8;  // the rest of the first number is the facility
  const std::size_t semicolon = record.find(';');
  std::string_view head = record.substr(0, std::min(semicolon, record.size()));
  const auto field = [&]() -> std::optional<std::int64_t> {
    const std::size_t end = std::min(head.find(','), head.size());
    const auto value = parse_count(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    return value;
  };
  const auto priority = field(), sequence = field(), time = field();
  if (semicolon == std::string_view::npos || !priority || !sequence || !time) {
    return fail(ErrorKind::kInvalid, "a priority, a number, a time and a text are wanted, found ",
                base::in_quotes(record));
  }
  std::string_view text = record.substr(semicolon + 1);
  return KernelMessage{static_cast<std::int32_t>(*priority % kPriorities), *sequence, *time,
                       text.substr(0, text.find('\n'))};
}

std::string_view to_string(KernelIncidentKind kind) {
  switch (kind) {
    case KernelIncidentKind::kOomKill:
      return "oom kill";
    case KernelIncidentKind::kOomKilled:
      return "oom killed";
    case KernelIncidentKind::kHungTask:
      return "hung task";
    case KernelIncidentKind::kSoftLockup:
      return "soft lockup";
    case KernelIncidentKind::kHardLockup:
      return "hard lockup";
    case KernelIncidentKind::kRcuStall:
      return "rcu stall";
  }
  return "unknown";
}

std::optional<KernelIncident> classify_kernel_message(std::string_view text) {
  if (text.starts_with("oom-kill:")) return oom_kill(text);
  if ((text.starts_with("Memory cgroup out of memory: ") || text.starts_with("Out of memory")) &&
      text.contains("illed process ")) {
    return oom_killed(text);
  }
  if (text.starts_with("INFO: task ") && text.contains(" blocked for more than ")) return hung_task(text);
  if (text.contains("BUG: soft lockup - CPU#")) return soft_lockup(text);
  KernelIncident out;
  if (text.contains("hard LOCKUP on cpu ")) {
    out.kind = KernelIncidentKind::kHardLockup;
    const std::string_view rest = between(text, "hard LOCKUP on cpu ", "").value_or("");
    out.cpu = number<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
    return out;
  }
  if (is_rcu_stall(text)) {
    out.kind = KernelIncidentKind::kRcuStall;
    return out;
  }
  return std::nullopt;
}

Result<KernelLog> KernelLog::open(const std::string& path, From from) {
  if (path == kBySyslog) {
    TM_TRY(auto ring, KernelRing::open(from == From::kNow));
    return KernelLog(std::move(ring));
  }
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    Error made = base::fail_errno(error, base::cat("open the kernel's log ", path)).error();
    if (error == ENOENT) made.kind = ErrorKind::kUnsupported;
    if (error == EPERM || error == EACCES) made.kind = ErrorKind::kDenied;
    return fail(std::move(made));
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return base::fail_errno(errno, base::cat("look at ", path));
  const off_t end = from == From::kNow ? ::lseek(fd.get(), 0, SEEK_END) : 0;
  if (end < 0) return base::fail_errno(errno, base::cat("go to the end of ", path));
  return KernelLog(std::move(fd), path, !S_ISREG(status.st_mode), end);
}

Result<std::optional<KernelMessage>> KernelLog::next() {
  if (ring_) return ring_->next();
  for (int skipped = 0; skipped < kSkippedMax; ++skipped) {
    TM_TRY(const auto record, next_record());
    if (!record) return std::nullopt;
    if (const auto message = parse_kernel_message(*record)) return *message;
  }
  return fail(ErrorKind::kInvalid, path_, " has no kernel messages");
}

Result<std::optional<std::string_view>> KernelLog::next_record() {
  const auto space = buffer_.space();
  for (;;) {
    const ssize_t got =
        device_ ? ::read(fd_.get(), space.data(), space.size()) : ::pread(fd_.get(), space.data(), space.size(), at_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EPIPE) {  // written over; the next reading goes on with the oldest that is left
      ++lost_;
      continue;
    }
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < 0) return base::fail_errno(errno, base::cat("read ", path_));
    if (got == 0) return std::nullopt;
    const std::string_view text(space.data(), static_cast<std::size_t>(got));
    if (device_) return text;  // one record a reading
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && text.size() < space.size()) return std::nullopt;  // not written to its end yet
    const std::string_view line = text.substr(0, end);
    at_ += static_cast<off_t>(std::min(end == std::string_view::npos ? text.size() : end + 1, text.size()));
    return line;
  }
}

}  // namespace tidemark::linux
