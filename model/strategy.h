// How much of a node is sold: the co-location strategy, complete (every field has its value, default or given).
// Names and defaults are those of `colocation-config`; percentages may pass 100 as in contract 4.2.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tidemark::model {

// How online work counts: by use, by request, or by the larger of both per pod.
enum class CalculatePolicy : std::uint8_t { kUsage, kRequest, kMaxUsageRequest };
enum class MidReclaimMode : std::uint8_t { kDynamic, kStatic };

struct ColocationStrategy {
  bool enable = false;

  std::int64_t metric_aggregate_duration_s = 300;
  std::int64_t metric_report_interval_s = 60;
  std::vector<base::Duration> metric_aggregate_durations{std::chrono::minutes(5), std::chrono::minutes(10),
                                                         std::chrono::minutes(30)};
  std::string metric_memory_collect_policy = "usageWithoutPageCache";

  // The water line: capacity above it (capacity × (100 − threshold) %) is never sold.
  std::int64_t cpu_reclaim_threshold_percent = 60;
  CalculatePolicy cpu_calculate_policy = CalculatePolicy::kUsage;  // kRequest counts as kUsage for CPU
  std::int64_t memory_reclaim_threshold_percent = 65;
  CalculatePolicy memory_calculate_policy = CalculatePolicy::kUsage;

  std::int64_t degrade_time_minutes = 15;      // a NodeMetric older than this sells nothing
  std::int64_t update_time_threshold_s = 300;  // a node is written at least this often
  double resource_diff_threshold = 0.1;        // and when a value moved by more than this share of the old one

  MidReclaimMode mid_reclaim_mode = MidReclaimMode::kDynamic;
  std::int64_t mid_cpu_threshold_percent = 100;
  std::int64_t mid_memory_threshold_percent = 100;
  std::int64_t mid_unallocated_percent = 0;
  std::int64_t mid_static_cpu_reserved_percent = 0;
  std::int64_t mid_static_memory_reserved_percent = 0;

  std::optional<std::int64_t> batch_cpu_threshold_percent;  // of capacity; unset is no cap
  std::optional<std::int64_t> batch_memory_threshold_percent;

  bool operator==(const ColocationStrategy&) const = default;
};

}  // namespace tidemark::model
