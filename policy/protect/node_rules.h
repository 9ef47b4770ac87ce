// The rules for the agent of a node, as its NodeSLO sets them (policy/settings/nodeslo/read_rules.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/annotations.h"
#include "model/line_cap.h"
#include "model/node_grant.h"
#include "model/node_strategy.h"
#include "model/settings/agent_settings.h"
#include "policy/protect/qos_rules.h"

namespace tidemark::policy::protect {

// kIdle is Tidemark's: a quota only if the kernel does not give offline work idle CPU time only.
enum class SuppressPolicy : std::uint8_t { kCpuset, kCfsQuota, kIdle };
enum class CpuEvictPolicy : std::uint8_t { kByRealLimit, kByAllocatable };

// resourceUsedThresholdWithBE. nullopt: unset, and no default exists.
struct ThresholdRules {
  bool enable = false;
  std::int64_t cpu_suppress_percent = 65;
  std::optional<std::int64_t> cpu_suppress_min_percent;
  SuppressPolicy cpu_suppress_policy = SuppressPolicy::kCpuset;
  std::int64_t memory_evict_percent = 70;
  std::optional<std::int64_t> memory_evict_lower_percent;
  std::optional<std::int64_t> memory_allocatable_evict_percent;
  std::optional<std::int64_t> memory_allocatable_evict_lower_percent;
  std::optional<std::int64_t> cpu_evict_satisfaction_upper_percent;
  std::optional<std::int64_t> cpu_evict_satisfaction_lower_percent;
  std::optional<std::int64_t> cpu_evict_usage_percent;
  std::optional<std::int64_t> cpu_evict_window_s;
  std::optional<std::int64_t> cpu_evict_percent;
  std::optional<std::int64_t> cpu_evict_lower_percent;
  std::optional<std::int64_t> cpu_allocatable_evict_percent;
  std::optional<std::int64_t> cpu_allocatable_evict_lower_percent;
  CpuEvictPolicy cpu_evict_policy = CpuEvictPolicy::kByRealLimit;
  std::optional<std::int64_t> evict_priority;              // evictEnabledPriorityThreshold
  std::optional<std::int64_t> allocatable_evict_priority;  // allocatableEvictPriorityThreshold
  // Computed: the kubelet's eviction threshold less a margin, for memory as the kubelet counts it
  // (policy/evict/kubelet_lines.h). nullopt: the kubelet evicts no pod, or its threshold is unknown.
  std::optional<std::int64_t> memory_before_kubelet_percent;
  // Likewise: the kubelet is about to evict if less than this is available.
  std::optional<std::int64_t> kubelet_next_bytes;
  // Both for the rest of the limit of all pods together: a kubelet compares only its hard threshold with it.
  std::optional<std::int64_t> pods_before_kubelet_percent, pods_kubelet_next_bytes;
  bool operator==(const ThresholdRules&) const = default;
};

enum class BurstPolicy : std::uint8_t { kNone, kCpuBurst, kQuotaBurst, kAuto };

struct BurstRules {
  BurstPolicy policy = BurstPolicy::kNone;
  std::int64_t cpu_burst_percent = 1000;
  std::int64_t quota_burst_percent = 300;
  std::int64_t quota_burst_period_s = -1;  // -1: no end
  std::int64_t share_pool_percent = 50;
  bool operator==(const BurstRules&) const = default;
};

inline constexpr std::size_t kSchedFeaturesMax = 256;

struct SystemRules {
  std::optional<std::int64_t> min_free_kbytes_factor;
  std::optional<std::int64_t> watermark_scale_factor;
  std::optional<std::int64_t> memcg_reap_background;
  std::optional<std::int64_t> group_identity_enabled;
  std::optional<std::int64_t> idle_saver_wmark;
  std::map<std::string, bool> sched_features;
  std::optional<std::int64_t> page_cache_limit_enabled;
  std::int64_t network_bandwidth = 0;  // 0: unset
  bool operator==(const SystemRules&) const = default;
};

struct NodeRules {
  ThresholdRules threshold;
  QosRules qos;
  BurstRules burst;
  SystemRules system;
  // Settings of Tidemark's manager. nullopt: none, so the switches above decide, and enabled features are enforced.
  std::optional<model::AgentWord> word;
  std::optional<model::NodeGrant> grant;  // of evictions; nullopt: none granted
  // What pods of a class must release, in the order of reclaiming: they may keep `keep`. An order of the manager,
  // independent of enabled parts.
  std::vector<model::Reclaim> reclaim;
  std::vector<model::LineCap> line_caps;  // when raised values of `threshold` expire (lines_held.h)
  bool heard = false;                     // true if they come from a NodeSLO that was read

  model::Mode mode_of(model::Strategy strategy) const;
  model::EvictSettings evict_settings() const;
  bool operator==(const NodeRules&) const = default;
};

// The parts of a NodeSLO that are set and that Koordinator's agent would carry out, but Tidemark's does not: CPU burst,
// memory QoS, block I/O, resctrl, network and system settings. By their names: "resourceQOSStrategy.beClass.memoryQOS".
// A part that is switched off, or has the value that Koordinator's manager renders by default, is not set.
std::vector<std::string> settings_without_effect(const NodeRules& rules);

// "set, without effect with Tidemark's agent: cpuBurstStrategy, …"; "" if nothing is set.
std::string without_effect_text(const NodeRules& rules);

}  // namespace tidemark::policy::protect
