#include "agent/sampler/machine_meter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "linux/proc/memory_info.h"
#include "linux/psi.h"

namespace tidemark::agent {
namespace {

using base::Duration;

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

std::int64_t ns_of(std::int64_t ticks) {
  static const std::int64_t tick_ns = Duration(std::chrono::seconds(1)).count() / linux::ticks_per_second();
  return ticks > std::numeric_limits<std::int64_t>::max() / tick_ns ? std::numeric_limits<std::int64_t>::max()
                                                                    : ticks * tick_ns;
}

void put_cpu(const Pass& pass, Counter& counter, std::int64_t ns, int cpus, Sample<std::int64_t>& out) {
  const auto growth = counter.look(ns, pass.clock.monotonic());
  const auto micro = growth ? micro_cores(*growth, cpus) : std::nullopt;
  if (micro) out.put(*micro, pass.report.at, growth->over);
  if (!micro) out.fail(pass.report.at, Validity::kNotYet);
}

// Missing is no error: the facilities of the machine report it.
Validity why(const Pass& pass, const Error& error) {
  if (error.kind == ErrorKind::kUnsupported || error.kind == ErrorKind::kNotFound) return Validity::kMissing;
  pass.note(error);
  return Validity::kUnreadable;
}

}  // namespace

linux::CpuSet MachineMeter::cpus_on() const {
  linux::CpuSet out;
  for (const auto& one : times_.each) {
    if (one.cpu < linux::CpuSet::kCpusMax) out.add(one.cpu);
  }
  return out;
}

void MachineMeter::read_cpu(Pass& pass, NodeMeasured& out) {
  if (const auto read = linux::read_cpu_times(proc_, pass.buffer, times_); !read) {
    out.cpu_micro.fail(pass.report.at, why(pass, read.error()));
    pass.cpus = std::max(out.cpus, 1);
    return;
  }
  out.cpus = pass.cpus = std::max(static_cast<int>(times_.each.size()), 1);
  put_cpu(pass, cpu_, ns_of(times_.all.busy()), pass.cpus, out.cpu_micro);
  if (numa_nodes_ && times_.each.size() != cpus_known_) find_numa_nodes(pass, out);
  read_numa_cpu(pass, out);
}

void MachineMeter::find_numa_nodes(const Pass& pass, NodeMeasured& out) {
  const auto nodes = linux::read_numa_nodes(*numa_nodes_, pass.buffer);
  if (!nodes && why(pass, nodes.error()) != Validity::kMissing) return;
  cpus_known_ = times_.each.size();
  if (!nodes) return;
  numa_.clear();
  std::vector<NumaMeasured> measured;
  std::size_t cpus_end = 0;
  for (const auto& one : times_.each) cpus_end = std::max(cpus_end, static_cast<std::size_t>(one.cpu) + 1);
  numa_of_.assign(std::min<std::size_t>(cpus_end, linux::CpuSet::kCpusMax), kNowhere);
  for (const linux::NumaNode& node : *nodes) {
    for (int cpu = node.cpus.next(0); cpu >= 0; cpu = node.cpus.next(cpu + 1)) {
      if (static_cast<std::size_t>(cpu) < numa_of_.size()) numa_of_[static_cast<std::size_t>(cpu)] = numa_.size();
    }
    NumaCpu& made = numa_.emplace_back();
    made.id = node.id;
    const auto known = std::ranges::find(out.numa, node.id, &NumaMeasured::id);
    NumaMeasured& kept = measured.emplace_back(known == out.numa.end() ? NumaMeasured{} : *known);
    if (known != out.numa.end()) continue;
    kept.id = node.id;
    kept.cpu_micro.good_for = kept.system_cpu_micro.good_for = out.cpu_micro.good_for;
    kept.memory_bytes.good_for = kept.system_memory_bytes.good_for = numa_memory_good_for_;
  }
  out.numa = std::move(measured);
}

void MachineMeter::read_numa_cpu(const Pass& pass, NodeMeasured& out) {
  for (NumaCpu& one : numa_) one.sum_ns = one.cpus = 0;
  for (const auto& one : times_.each) {
    const std::size_t node =
        static_cast<std::size_t>(one.cpu) < numa_of_.size() ? numa_of_[static_cast<std::size_t>(one.cpu)] : kNowhere;
    if (node == kNowhere) continue;
    numa_[node].sum_ns = sum_of({numa_[node].sum_ns, ns_of(one.times.busy())});
    ++numa_[node].cpus;
  }
  for (std::size_t at = 0; at < numa_.size() && at < out.numa.size(); ++at) {
    put_cpu(pass, numa_[at].ticks_ns, numa_[at].sum_ns, numa_[at].cpus, out.numa[at].cpu_micro);
  }
}

void MachineMeter::read_memory(const Pass& pass, NodeMeasured& out) {
  const auto read = linux::read_memory_info(proc_, pass.buffer);
  if (!read) {
    out.memory.fail(pass.report.at, why(pass, read.error()));
    out.memory_of_kubelet.fail(pass.report.at, Validity::kNotYet);
    return;
  }
  out.memory_total_bytes = read->total;
  const std::int64_t used = std::max<std::int64_t>(read->used(), 0);
  const std::int64_t taken = read->free ? std::max<std::int64_t>(read->total - *read->free, 0) : used;
  out.memory.put({used, taken}, pass.report.at);
  if (const auto working_set = read->working_set(memory_groups_)) {
    out.memory_of_kubelet.put(std::max(used, *working_set), pass.report.at);
  } else {
    out.memory_of_kubelet.fail(pass.report.at, Validity::kMissing);
  }
}

void MachineMeter::read_numa_memory(const Pass& pass, NodeMeasured& out) {
  if (!numa_nodes_) return;
  for (NumaMeasured& one : out.numa) {
    const auto read = linux::read_numa_memory(*numa_nodes_, one.id, pass.buffer);
    if (!read) {
      one.memory_bytes.fail(pass.report.at, why(pass, read.error()));
    } else if (*read) {
      one.memory_bytes.put((*read)->used(), pass.report.at);
    } else {
      one.memory_bytes.fail(pass.report.at, Validity::kNotYet);  // removed; its CPUs are looked up again when
    }
  }
}

void MachineMeter::one_pressure(const Pass& pass, const char* resource, Sample<PressureUse>& out) const {
  if (out.validity == Validity::kMissing) return;  // switched on or off when the machine starts
  if (const auto read = linux::read_pressure(proc_, resource, pass.buffer)) {
    put_pressure(*read, pass.report.at, out);
  } else {
    out.fail(pass.report.at, why(pass, read.error()));
  }
}

void MachineMeter::read_pressure(const Pass& pass, NodeMeasured& out) {
  one_pressure(pass, "pressure/cpu", out.pressure.cpu);
  one_pressure(pass, "pressure/memory", out.pressure.memory);
  one_pressure(pass, "pressure/io", out.pressure.io);
}

}  // namespace tidemark::agent
