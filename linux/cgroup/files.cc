#include "linux/cgroup/files.h"

#include <array>

#include "base/check.h"

namespace tidemark::linux {
namespace {

constexpr std::array<std::string_view, kControllers> kV1 = {"cpu",  "cpuacct", "cpuset",     "memory", "blkio",
                                                            "pids", "freezer", "perf_event", ""};
// What v2 has without naming it among its controllers is empty: accounting, freezing and perf are part of the core.
constexpr std::array<std::string_view, kControllers> kV2 = {"cpu", "", "cpuset", "memory", "io", "pids", "", "", ""};

using enum Controller;

// In the order of File. v1: which hierarchy, which file; v2: which controller must be there, which file.
constexpr std::array<FileNames, kFiles> kNames = {{
    // cgroup.procs is in every hierarchy: the one of cpu is as good as any.
    {kCpu, "cgroup.procs", kCore, "cgroup.procs"},
    {kCpu, "tasks", kCore, "cgroup.threads"},
    {kCpu, nullptr, kCore, "cgroup.events"},
    {kCpu, nullptr, kCore, "cgroup.kill"},
    {kFreezer, "freezer.state", kCore, "cgroup.freeze"},

    {kCpuacct, "cpuacct.usage", kCore, "cpu.stat"},
    {kCpu, "cpu.stat", kCpu, "cpu.stat"},
    {kCpu, "cpu.shares", kCpu, "cpu.weight"},
    {kCpu, "cpu.cfs_quota_us", kCpu, "cpu.max"},
    {kCpu, "cpu.cfs_period_us", kCpu, "cpu.max"},
    {kCpu, "cpu.cfs_burst_us", kCpu, "cpu.max.burst"},
    {kCpu, "cpu.idle", kCpu, "cpu.idle"},
    // Of Anolis and of openEuler; mainline has neither.
    {kCpu, "cpu.bvt_warp_ns", kCpu, "cpu.bvt_warp_ns"},
    {kCpu, "cpu.qos_level", kCpu, "cpu.qos_level"},

    {kCpuset, "cpuset.cpus", kCpuset, "cpuset.cpus"},
    {kCpuset, "cpuset.effective_cpus", kCpuset, "cpuset.cpus.effective"},
    {kCpuset, "cpuset.mems", kCpuset, "cpuset.mems"},

    {kMemory, "memory.usage_in_bytes", kMemory, "memory.current"},
    {kMemory, "memory.stat", kMemory, "memory.stat"},
    {kMemory, "memory.limit_in_bytes", kMemory, "memory.max"},
    {kMemory, "memory.min", kMemory, "memory.min"},  // v1: only kernels that carried it back have these three
    {kMemory, "memory.low", kMemory, "memory.low"},
    {kMemory, "memory.high", kMemory, "memory.high"},
    {kMemory, "memory.failcnt", kMemory, nullptr},
    {kMemory, "memory.oom_control", kMemory, "memory.events"},

    {kIo, "blkio.throttle.io_service_bytes_recursive", kIo, "io.stat"},
    {kIo, "blkio.throttle.io_serviced_recursive", kIo, "io.stat"},

    {kPids, "pids.max", kPids, "pids.max"},

    {kCpu, nullptr, kCore, "cpu.pressure"},
    {kMemory, nullptr, kCore, "memory.pressure"},
    {kIo, nullptr, kCore, "io.pressure"},
}};
static_assert(static_cast<std::size_t>(File::kIoPressure) + 1 == kFiles);
static_assert(static_cast<std::size_t>(kCore) + 1 == kControllers);

}  // namespace

std::string_view name_of(Controller controller, Version version) {
  return (version == Version::kV1 ? kV1 : kV2)[static_cast<std::size_t>(controller)];
}

std::optional<Controller> controller_of(std::string_view name, Version version) {
  if (name.empty()) return std::nullopt;
  for (std::size_t at = 0; at < kControllers; ++at) {
    if (name_of(static_cast<Controller>(at), version) == name) return static_cast<Controller>(at);
  }
  return std::nullopt;
}

const FileNames& names_of(File file) {
  TM_CHECK(static_cast<std::size_t>(file) < kFiles, "a file of the table");
  return kNames[static_cast<std::size_t>(file)];
}

}  // namespace tidemark::linux
