// Every file of a cgroup that this program reads or writes, under one name for both versions of the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::linux {

enum class Version : std::uint8_t { kV1, kV2 };

enum class Controller : std::uint8_t {
  kCpu,
  kCpuacct,  // v2: part of the core, there without any controller
  kCpuset,
  kMemory,
  kIo,  // v1: blkio
  kPids,
  kFreezer,
  kPerfEvent,
  kCore,  // v2: cgroup.*, cpu.stat's use and pressure. A hybrid machine has it in unified/ beside controllers of v1
};
inline constexpr std::size_t kControllers = 9;

// "cpu", "blkio" …; kCore has no name that a kernel would say.
std::optional<Controller> controller_of(std::string_view name, Version);
std::string_view name_of(Controller, Version);

// Named after the file of v1 where there is one.
enum class File : std::uint8_t {
  kProcesses,
  kThreads,
  kEvents,
  kKill,
  kFreeze,

  kCpuUsage,
  kCpuThrottling,
  kCpuShares,
  kCpuQuota,
  kCpuPeriod,
  kCpuBurst,
  kCpuIdle,
  kCpuBvt,
  kCpuQosLevel,

  kCpusetCpus,
  kCpusetCpusEffective,
  kCpusetMems,

  kMemoryUsage,
  kMemoryStat,
  kMemoryLimit,
  kMemoryMin,
  kMemoryLow,
  kMemoryHigh,
  kMemoryFailures,  // v1: failcnt
  kMemoryEvents,    // v1: oom_control

  kIoBytes,
  kIoOperations,  // v2: the same file as kIoBytes

  kPidsLimit,

  kCpuPressure,
  kMemoryPressure,
  kIoPressure,
};
inline constexpr std::size_t kFiles = 31;

struct FileNames {
  Controller v1_controller;
  const char* v1;  // nullptr: v1 has no such file
  Controller v2_controller;
  const char* v2;  // nullptr: v2 has no such file
};
const FileNames& names_of(File);

}  // namespace tidemark::linux
