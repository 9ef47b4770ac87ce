#include "linux/perf.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

perf_event_attr attributes(PerfEvent event) {
  perf_event_attr out{};
  out.size = sizeof out;
  out.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  switch (event) {
    case PerfEvent::kCycles:
      out.type = PERF_TYPE_HARDWARE;
      out.config = PERF_COUNT_HW_CPU_CYCLES;
      break;
    case PerfEvent::kInstructions:
      out.type = PERF_TYPE_HARDWARE;
      out.config = PERF_COUNT_HW_INSTRUCTIONS;
      break;
    case PerfEvent::kTaskClock:
      out.type = PERF_TYPE_SOFTWARE;
      out.config = PERF_COUNT_SW_TASK_CLOCK;
      break;
  }
  return out;
}

const char* name_of(PerfEvent event) {
  switch (event) {
    case PerfEvent::kCycles:
      return "cycles";
    case PerfEvent::kInstructions:
      return "instructions";
    case PerfEvent::kTaskClock:
      return "task-clock";
  }
  return "unknown";
}

Error why_not(int error, PerfEvent event, int cpu) {
  Error made = base::fail_errno(error, base::cat("count ", name_of(event), " of a group on processor ", cpu)).error();
  if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP) {
    made.kind = ErrorKind::kUnsupported;
    made.message += ": this machine has no such counter; a virtual machine often has no PMU";
  }
  if (error == ENOSYS) {
    made.kind = ErrorKind::kUnsupported;
    made.message += ": this kernel was built without perf";
  }
  if (error == EBADF) {
    made.kind = ErrorKind::kUnsupported;
    made.message += ": the group's directory is in no hierarchy that perf knows";
  }
  if (error == EACCES || error == EPERM) {
    made.kind = ErrorKind::kDenied;
    made.message += ": it takes CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less";
  }
  if (error == EMFILE) made.kind = ErrorKind::kExhausted;
  return made;
}

}  // namespace

Result<PerfCounters> PerfCounters::open(const Directory& group, const CpuSet& cpus, std::span<const PerfEvent> events) {
  TM_CHECK(!events.empty() && events.size() <= kPerfEventsMax, "as many events as a reading holds");
  PerfCounters made;
  made.events_ = events.size();
  for (int cpu = cpus.next(0); cpu >= 0; cpu = cpus.next(cpu + 1)) {
    OnCpu on;
    for (const PerfEvent event : events) {
      perf_event_attr wanted = attributes(event);
      const long fd = ::syscall(SYS_perf_event_open, &wanted, group.fd.get(), cpu, on.leader ? on.leader.get() : -1,
                                PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
      if (fd < 0) return fail(why_not(errno, event, cpu));
      Fd opened(static_cast<int>(fd));
      if (on.leader) {
        on.others.push_back(std::move(opened));
      } else {
        on.leader = std::move(opened);
      }
    }
    made.cpus_.push_back(std::move(on));
  }
  if (made.cpus_.empty())
    return fail(ErrorKind::kInvalid, "count a group on no processor: a set with at least one is wanted");
  return made;
}

Result<PerfCounts> PerfCounters::read() const {
  // PERF_FORMAT_GROUP: how many, time enabled, time running, values.
  constexpr std::size_t kHead = 3;
  PerfCounts out;
  for (const OnCpu& on : cpus_) {
    std::array<std::uint64_t, kHead + kPerfEventsMax> words{};
    const std::size_t wanted = (kHead + events_) * sizeof(std::uint64_t);
    const ssize_t got = ::read(on.leader.get(), words.data(), sizeof words);
    if (got < 0) return base::fail_errno(errno, "read the counters of a group");
    if (static_cast<std::size_t>(got) != wanted || words[0] != events_) {
      return fail(ErrorKind::kInternal, "read the counters of a group: ", wanted, " bytes are wanted, found ", got);
    }
    add_perf_reading(out, words[1], words[2], std::span(words).subspan(kHead, events_));
  }
  return out;
}

void add_perf_reading(PerfCounts& sum, std::uint64_t enabled_ns, std::uint64_t running_ns,
                      std::span<const std::uint64_t> values) {
  sum.enabled_ns += static_cast<std::int64_t>(enabled_ns);
  sum.running_ns += static_cast<std::int64_t>(running_ns);
  for (std::size_t i = 0; i < values.size(); ++i) sum.values[i] += scaled_perf_value(values[i], enabled_ns, running_ns);
}

std::int64_t scaled_perf_value(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (running_ns == 0) return 0;
  if (running_ns >= enabled_ns) return static_cast<std::int64_t>(std::min(value, kMax));
  // Twice 64 bits: a product of two such numbers.
  __extension__ using Wide = unsigned __int128;
  const Wide whole = static_cast<Wide>(value) * enabled_ns / running_ns;
  return whole > kMax ? static_cast<std::int64_t>(kMax) : static_cast<std::int64_t>(whole);
}

}  // namespace tidemark::linux
