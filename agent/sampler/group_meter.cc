#include "agent/sampler/group_meter.h"

#include <algorithm>
#include <utility>

#include "linux/cgroup/reading.h"
#include "linux/psi.h"
#include "linux/scan.h"

namespace tidemark::agent {
namespace {

using linux::Controller;
using linux::File;

constexpr std::int64_t kPatienceMax = 64;  // ticks until a missing file is tried again

// The hierarchies of the files that are read of every group. Others are opened on first use.
linux::Controllers read_of_every_group() {
  linux::Controllers out;
  for (const Controller one : {Controller::kCpu, Controller::kCpuacct, Controller::kMemory}) {
    out.set(static_cast<std::size_t>(one));
  }
  return out;
}

std::optional<MemoryUse> memory_of(const linux::MemoryStat& stat) {
  if (!stat.inactive_anon || !stat.active_anon || !stat.unevictable || !stat.active_file || !stat.inactive_file) {
    return std::nullopt;
  }
  const std::int64_t without = sum_of({*stat.inactive_anon, *stat.active_anon, *stat.unevictable});
  return MemoryUse{without, sum_of({without, *stat.active_file, *stat.inactive_file})};
}

}  // namespace

void Pass::note(const Error& error) const {
  if (report.unreadable++ == 0) report.an_error = error.message;
}

void put_pressure(const linux::Pressure& read, base::MonotonicTime at, Sample<PressureUse>& out) {
  if (!read.some) {
    out.fail(at, Validity::kMissing);
    return;
  }
  const auto full = read.full ? std::optional(read.full->avg10_centi) : std::nullopt;
  out.put({read.some->avg10_centi, full, read.some->total_us}, at);
}

Result<std::optional<GroupMeter>> GroupMeter::open(const linux::Hierarchies& hierarchies, std::string_view path,
                                                   std::initializer_list<File> keep) {
  TM_TRY(auto group, linux::Group::open(hierarchies, path, read_of_every_group()));
  if (!group) return std::nullopt;
  GroupMeter made(std::move(*group));
  made.keep_ = keep;
  for (const File file : keep) TM_TRY_VOID(made.group_.keep(file));
  return made;
}

// A group appears in one hierarchy after the other, and a controller may be enabled later: a missing file is tried
// again, soon at first and then once a minute.
bool GroupMeter::misses(File file, const Pass& pass) {
  if (missing_.any() && pass.tick >= look_again_) {
    for (std::size_t at = 0; at < linux::kFiles; ++at) {
      const auto one = static_cast<File>(at);
      if (!missing_.test(at) || !group_.has(one)) continue;
      missing_.reset(at);
      if (std::ranges::find(keep_, one) == keep_.end()) continue;
      if (const auto kept = group_.keep(one); !kept) pass.note(kept.error());
    }
    patience_ = std::min(2 * patience_, kPatienceMax);
    look_again_ = pass.tick + patience_;
  }
  return missing_.test(static_cast<std::size_t>(file));
}

template <class T>
void GroupMeter::failed(const Pass& pass, File file, const Error& error, Sample<T>& out) {
  if (error.kind != ErrorKind::kUnsupported) {
    pass.note(error);
    out.fail(pass.report.at, Validity::kUnreadable);
    return;
  }
  if (missing_.none()) look_again_ = pass.tick + patience_;
  missing_.set(static_cast<std::size_t>(file));
  out.fail(pass.report.at, Validity::kMissing);
}

template <class T, class Read, class Take>
bool GroupMeter::take(const Pass& pass, File file, Sample<T>& out, Read read, Take put) {
  if (misses(file, pass)) {
    out.fail(pass.report.at, Validity::kMissing);
    return true;
  }
  const auto got = read();
  if (!got) {
    failed(pass, file, got.error(), out);
    return true;
  }
  if (!*got) return false;
  put(**got);
  return true;
}

void GroupMeter::put_cpu(const Pass& pass, std::int64_t ns, Sample<std::int64_t>& out) {
  const auto growth = cpu_.look(ns, pass.clock.monotonic());
  const auto micro = growth ? micro_cores(*growth, pass.cpus) : std::nullopt;
  if (micro) out.put(*micro, pass.report.at, growth->over);
  if (!micro) out.fail(pass.report.at, Validity::kNotYet);
}

void GroupMeter::put_throttling(const Pass& pass, const linux::CpuThrottling& read, Sample<Throttling>& out) {
  const auto now = pass.clock.monotonic();
  const auto periods = periods_.look(read.periods, now);
  const auto throttled = throttled_periods_.look(read.throttled_periods, now);
  const auto ns = throttled_ns_.look(read.throttled_ns, now);
  if (!periods || !throttled || !ns) {
    out.fail(pass.report.at, Validity::kNotYet);
    return;
  }
  // The kernel counts a period before its throttling, and the reading may fall between the two.
  out.put({periods->added, std::min(throttled->added, periods->added), ns->added}, pass.report.at, periods->over);
}

bool GroupMeter::read_cpu(const Pass& pass, Sample<std::int64_t>& micro) {
  return take(
      pass, File::kCpuUsage, micro, [&] { return linux::read_cpu_usage_ns(group_, pass.buffer); },
      [&](std::int64_t ns) { put_cpu(pass, ns, micro); });
}

bool GroupMeter::read_throttling(const Pass& pass, Sample<Throttling>& out) {
  return take(
      pass, File::kCpuThrottling, out, [&] { return linux::read_cpu_throttling(group_, pass.buffer); },
      [&](const linux::CpuThrottling& read) { put_throttling(pass, read, out); });
}

bool GroupMeter::read_cpu_and_throttling(const Pass& pass, GroupUse& use) {
  const bool one_file = group_.version(File::kCpuUsage) == linux::Version::kV2 &&
                        group_.version(File::kCpuThrottling) == linux::Version::kV2;
  if (!one_file || misses(File::kCpuUsage, pass) || misses(File::kCpuThrottling, pass)) {
    return read_cpu(pass, use.cpu_micro) && read_throttling(pass, use.throttling);
  }
  return take(
      pass, File::kCpuUsage, use.cpu_micro, [&] { return group_.read(File::kCpuUsage, pass.buffer); },
      [&](std::string_view text) {
        if (const auto ns = linux::parse_cpu_usage_ns(text, linux::Version::kV2)) {
          put_cpu(pass, *ns, use.cpu_micro);
        } else {
          failed(pass, File::kCpuUsage, ns.error().within(group_.place(File::kCpuUsage).text()), use.cpu_micro);
        }
        if (const auto throttling = linux::parse_cpu_throttling(text, linux::Version::kV2)) {
          put_throttling(pass, *throttling, use.throttling);
        } else {
          failed(pass, File::kCpuThrottling, throttling.error().within(group_.place(File::kCpuThrottling).text()),
                 use.throttling);
        }
      });
}

bool GroupMeter::read_memory(const Pass& pass, Sample<MemoryUse>& out) {
  return take(
      pass, File::kMemoryStat, out, [&] { return linux::read_memory_stat(group_, pass.buffer); },
      [&](const linux::MemoryStat& stat) {
        inactive_file_ = stat.inactive_file;
        const auto bytes = memory_of(stat);
        if (bytes) out.put(*bytes, pass.report.at);
        if (!bytes) out.fail(pass.report.at, Validity::kMissing);
      });
}

bool GroupMeter::read_working_set(const Pass& pass, Sample<std::int64_t>& out) {
  return take(
      pass, File::kMemoryUsage, out,
      [&] { return linux::read_parsed(group_, File::kMemoryUsage, pass.buffer, linux::parse_number_file); },
      [&](std::int64_t usage) {
        if (inactive_file_) out.put(linux::working_set_bytes(usage, *inactive_file_), pass.report.at);
        if (!inactive_file_) out.fail(pass.report.at, Validity::kMissing);
      });
}

bool GroupMeter::one_pressure(const Pass& pass, File file, Sample<PressureUse>& out) {
  return take(
      pass, file, out, [&] { return linux::read_parsed(group_, file, pass.buffer, linux::parse_pressure); },
      [&](const linux::Pressure& read) { put_pressure(read, pass.report.at, out); });
}

bool GroupMeter::read_pressure(const Pass& pass, Pressures& out) {
  return one_pressure(pass, File::kCpuPressure, out.cpu) && one_pressure(pass, File::kMemoryPressure, out.memory) &&
         one_pressure(pass, File::kIoPressure, out.io);
}

bool GroupMeter::read_memory_events(const Pass& pass, Sample<MemoryEventTotals>& out) {
  return take(
      pass, File::kMemoryEvents, out, [&] { return linux::read_memory_events(group_, pass.buffer); },
      [&](const linux::MemoryEvents& read) {
        if (!read.oom_kill) {  // v1 before 4.13
          out.fail(pass.report.at, Validity::kMissing);
          return;
        }
        const auto added = [](const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& now) {
          return std::max<std::int64_t>(now.value_or(0) - before.value_or(0), 0);
        };
        MemoryEventTotals totals = out.value;
        totals.oom_kills = sum_of({totals.oom_kills, added(events_.oom_kill, read.oom_kill)});
        totals.limit_hits = sum_of({totals.limit_hits, added(events_.max, read.max)});
        totals.high_hits = sum_of({totals.high_hits, added(events_.high, read.high)});
        out.put(totals, pass.report.at);
        events_ = read;
      });
}

bool GroupMeter::read_io(const Pass& pass, Sample<IoUse>& out) {
  if (misses(File::kIoBytes, pass)) {
    out.fail(pass.report.at, Validity::kMissing);
    return true;
  }
  const auto there = linux::read_io(group_, pass.buffer, pass.devices);
  if (!there) {
    failed(pass, File::kIoBytes, there.error(), out);
    return true;
  }
  if (!*there) return false;
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::optional<std::int64_t> reads = 0, writes = 0;
  const auto add = [](std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& one) {
    sum = sum && one ? std::optional(sum_of({*sum, *one})) : std::nullopt;
  };
  for (const linux::DeviceIo& one : pass.devices) {
    read_bytes = sum_of({read_bytes, one.read_bytes});
    write_bytes = sum_of({write_bytes, one.write_bytes});
    add(reads, one.read_count);
    add(writes, one.write_count);
  }
  const auto now = pass.clock.monotonic();
  const auto read = read_bytes_.look(read_bytes, now);
  const auto written = write_bytes_.look(write_bytes, now);
  const auto count = [&](Counter& counter, const std::optional<std::int64_t>& value) -> std::optional<std::int64_t> {
    const auto growth = value ? counter.look(*value, now) : std::nullopt;
    return growth ? std::optional(per_second(*growth)) : std::nullopt;
  };
  const auto read_rate = count(reads_, reads), write_rate = count(writes_, writes);
  if (!read || !written) {
    out.fail(pass.report.at, Validity::kNotYet);
    return true;
  }
  out.put({per_second(*read), per_second(*written), read_rate, write_rate, write_bytes}, pass.report.at, read->over);
  return true;
}

}  // namespace tidemark::agent
