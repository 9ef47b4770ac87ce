// What the agent of a node is to go by: its NodeSLO as it reads it (contract 3.2, 4.4).
//
//   rules(part) = the agent's own defaults ← what the part gives       field by field, as Go merges (typed_json.h)
//   a class LSR, LS, BE whose cpuQOS, resctrlQOS or memoryQOS is not enabled has the "none" set there, so that
//   switching it off resets what was set; SYSTEM, and network and blkio of all of them, stay as they are
//
// A part that cannot be read leaves the last good one of that part in force; the others go on. A word of an enumeration
// that is not known here counts as the field's default, as it does with the peer, and is told. No range is looked at:
// the API server's schema does that, and who calculates with a number bounds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/annotations.h"
#include "model/node_strategy.h"
#include "policy/budget/grants.h"
#include "policy/node_rules/qos_rules.h"
#include "policy/nodeslo/agent_word.h"
#include "policy/nodeslo/line_caps.h"

namespace tidemark::policy {

// kIdle is ours: a quota only where the kernel does not put offline work last by itself.
enum class SuppressPolicy : std::uint8_t { kCpuset, kCfsQuota, kIdle };
enum class CpuEvictPolicy : std::uint8_t { kByRealLimit, kByAllocatable };

// resourceUsedThresholdWithBE. nullopt: nobody said, and there is no default.
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
  // Nobody says it: where the kubelet would evict, less some room, of memory as the kubelet counts it
  // (policy/evict/kubelet_lines.h). nullopt: it evicts nobody, or does not tell.
  std::optional<std::int64_t> memory_before_kubelet_percent;
  // The same: where less than that is available it is about to.
  std::optional<std::int64_t> kubelet_next_bytes;
  // Both of what is left of the limit that all pods have together: a kubelet holds its hard threshold alone against
  // that.
  std::optional<std::int64_t> pods_before_kubelet_percent, pods_kubelet_next_bytes;
  bool operator==(const ThresholdRules&) const = default;
};

enum class BurstPolicy : std::uint8_t { kNone, kCpuBurst, kQuotaBurst, kAuto };

struct BurstRules {
  BurstPolicy policy = BurstPolicy::kNone;
  std::int64_t cpu_burst_percent = 1000;
  std::int64_t quota_burst_percent = 300;
  std::int64_t quota_burst_period_s = -1;  // -1: without an end
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
  std::int64_t network_bandwidth = 0;  // 0: nobody said
  bool operator==(const SystemRules&) const = default;
};

struct NodeRules {
  ThresholdRules threshold;
  QosRules qos;
  BurstRules burst;
  SystemRules system;
  // What our own manager says. nullopt: nothing, so the switches above decide and what they enable is enforced.
  std::optional<AgentWord> word;
  std::optional<NodeGrant> grant;  // of evictions; nullopt: nobody granted any
  // What pods of a class are to give back, the first ones first: they may go on holding `keep`. An order of the
  // manager, whether a part is enabled or not.
  std::vector<model::Reclaim> reclaim;
  std::vector<LineCap> line_caps;  // when lines of `threshold` that were raised come down (lines_held.h)
  bool heard = false;              // they come from a NodeSLO that was read

  Mode mode_of(model::Strategy strategy) const;
  EvictSettings evict_settings() const;
  bool operator==(const NodeRules&) const = default;
};

struct RulesProblem {
  std::string part;  // "resourceUsedThresholdWithBE"; "spec" where it is all of them
  std::string why;
  bool operator==(const RulesProblem&) const = default;
};

struct NodeRulesStep {
  NodeRules rules;
  std::vector<RulesProblem> problems;
};

// `spec`: of the node's NodeSLO; nullopt: there is none, and "" that it says nothing: the defaults. Total. A word of
// our manager that cannot be read before any was heard lets the agent only observe: it was not to do what nobody
// understood.
NodeRulesStep next_node_rules(const NodeRules& before, std::optional<std::string_view> spec);

}  // namespace tidemark::policy
