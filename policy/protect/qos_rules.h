// The meaning of NodeSLO.spec.resourceQOSStrategy for an agent, over the agent's own defaults (contract 4.4): all
// switched off, so that every initial value here is that of a class without any setting ("none").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::policy::protect {

enum class CpuQosPolicy : std::uint8_t { kGroupIdentity, kCoreSched };
enum class NetworkQosPolicy : std::uint8_t { kTc, kTerwayQos };

struct CpuQos {
  bool enable = false;
  std::int64_t group_identity = 0;  // -1 … 2
  std::int64_t sched_idle = 0;      // 1: cpu.idle
  bool core_expeller = false;
  bool operator==(const CpuQos&) const = default;
};

struct MemoryQos {
  bool enable = false;
  std::int64_t min_limit_percent = 0;
  std::int64_t low_limit_percent = 0;
  std::int64_t throttling_percent = 0;  // 0: memory.high is not set
  std::int64_t wmark_ratio = 0;
  std::int64_t wmark_scale_permill = 50;
  std::int64_t wmark_min_adj = 0;
  std::int64_t priority_enable = 0;
  std::int64_t priority = 0;
  std::int64_t oom_kill_group = 0;
  std::optional<bool> page_cache_enable;
  std::optional<std::int64_t> page_cache_limit_percent;
  std::optional<std::int64_t> page_cache_limit_bytes;
  std::optional<bool> page_cache_reclaim_sync;
  bool operator==(const MemoryQos&) const = default;
};

// nullopt: unset, which is not 0.
struct IoRules {
  std::optional<std::int64_t> read_iops;
  std::optional<std::int64_t> write_iops;
  std::optional<std::int64_t> read_bytes_per_s;
  std::optional<std::int64_t> write_bytes_per_s;
  std::optional<std::int64_t> weight_percent;
  std::optional<std::int64_t> read_latency_us;
  std::optional<std::int64_t> write_latency_us;
  std::optional<std::int64_t> read_latency_percent;
  std::optional<std::int64_t> write_latency_percent;
  std::optional<bool> user_model;
  std::optional<std::int64_t> model_read_bytes_per_s;
  std::optional<std::int64_t> model_write_bytes_per_s;
  std::optional<std::int64_t> model_read_sequential_iops;
  std::optional<std::int64_t> model_write_sequential_iops;
  std::optional<std::int64_t> model_read_random_iops;
  std::optional<std::int64_t> model_write_random_iops;
  bool operator==(const IoRules&) const = default;
};

enum class BlockKind : std::uint8_t { kDevice, kVolumeGroup, kPodVolume };
inline constexpr std::size_t kBlocksMax = 256;  // of one class

struct BlockRules {
  std::string name;
  BlockKind kind = BlockKind::kDevice;
  IoRules io;
  bool operator==(const BlockRules&) const = default;
};

struct BlkioQos {
  bool enable = false;
  std::vector<BlockRules> blocks;
  bool operator==(const BlkioQos&) const = default;
};

struct ResctrlQos {
  bool enable = false;
  std::int64_t cat_start_percent = 0;
  std::int64_t cat_end_percent = 100;
  std::int64_t mba_percent = 100;
  bool operator==(const ResctrlQos&) const = default;
};

// A part of the node's bandwidth, or an amount of it.
struct NetworkShare {
  std::int64_t percent = 0;
  std::optional<std::int64_t> amount;  // overrides `percent`; in the unit of SystemRules::network_bandwidth
  bool operator==(const NetworkShare&) const = default;
};

struct NetworkQos {
  bool enable = false;
  NetworkShare ingress_request;
  NetworkShare ingress_limit;
  NetworkShare egress_request;
  NetworkShare egress_limit;
  bool operator==(const NetworkQos&) const = default;
};

struct ClassQos {
  CpuQos cpu;
  MemoryQos memory;
  BlkioQos blkio;
  ResctrlQos resctrl;
  NetworkQos network;
  bool operator==(const ClassQos&) const = default;
};

// LSE uses the rules of LSR.
struct QosRules {
  CpuQosPolicy cpu_policy = CpuQosPolicy::kGroupIdentity;
  NetworkQosPolicy network_policy = NetworkQosPolicy::kTc;
  ClassQos lsr;
  ClassQos ls;
  ClassQos be;
  ClassQos system;
  ClassQos root;  // the root cgroup: blkio only
  bool operator==(const QosRules&) const = default;
};

}  // namespace tidemark::policy::protect
