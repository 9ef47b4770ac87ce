// The use of the node, its system part, its pods, its host applications and its NUMA nodes: the samples for reports and
// predictions. All readings of one pass belong to one instant, and the system's part is measured with them; nothing is
// subtracted here. Absent values of a reading are missing, never 0.
//
// A pod without a reading for its averaging window is dropped.
//
// Memory is of the requested kind. Predictions are always without page cache, so a minute of that is kept beside
// another kind. After a change of the kind, memory is collected again and reported as missing until then. NUMA nodes
// are always without page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/sell/usage/collect.h"
#include "policy/sell/usage/sample_ring.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kTrainingWindow = std::chrono::minutes(1);
inline constexpr std::size_t kUsagePodsMax = 1024;
inline constexpr std::size_t kUsageHostApplicationsMax = 128;
inline constexpr std::size_t kUsageNumaNodesMax = 64;

// nullopt: this kernel or this moment has no such figure.
struct MemoryReading {
  std::optional<std::int64_t> without_page_cache_bytes;
  std::optional<std::int64_t> with_hot_page_cache_bytes;
  std::optional<std::int64_t> with_page_cache_bytes;
  std::optional<std::int64_t> of(MemoryCollect kind) const;
};

struct UsageReading {
  base::MonotonicTime at;
  std::optional<std::int64_t> cpu_micro;
  MemoryReading memory;
};

struct NamedReading {
  std::string_view name;  // a pod's UID, a host application's name
  UsageReading reading;
};

struct NumaReading {
  std::int32_t numa_node_id = 0;
  UsageReading reading;
  UsageReading system;
};

struct NodeReadings {
  base::MonotonicTime at;
  UsageReading node;
  UsageReading system;  // the rest of the node
  std::span<const NamedReading> pods;
  std::span<const NamedReading> host_applications;
  std::span<const NumaReading> numa_nodes;
};

class UsageHistory {
 public:
  // Samples of one cgroup.
  struct Series {
    Series(base::Duration window, bool keep_plain);
    SampleRing told;                  // of the kind of memory that is asked for
    std::optional<SampleRing> plain;  // a minute without page cache, if the requested kind is another one
    std::size_t bytes() const;
  };
  struct NumaSeries {
    std::int32_t numa_node_id = 0;
    SampleRing node;
    SampleRing system;
  };

  explicit UsageHistory(const CollectInForce& collect);

  // Another spec: windows grow or shrink and keep what fits.
  void set_collect(const CollectInForce& collect);
  // One pass. Names and ids must not repeat; a second one of a pass is not kept.
  void observe(const NodeReadings& readings);

  const CollectInForce& collect() const { return collect_; }
  const Series& node() const { return node_; }
  const SampleRing& system_part() const { return system_; }
  const Series* pod(std::string_view uid) const;  // null if there is none
  const Series* host_application(std::string_view name) const;
  std::span<const NumaSeries> numa_nodes() const { return numa_nodes_; }  // by id

  // The training values of predictions: p90 of the last minute, without page cache. nullopt if a resource is missing.
  static std::optional<UsageFigures> training_sample(const Series& series, base::MonotonicTime now,
                                                     WindowScratch& scratch);

  std::size_t refused() const { return refused_; }  // pods, host applications and NUMA nodes beyond the limits, so far
  std::size_t bytes() const;

 private:
  struct Named {
    std::string name;
    Series series;
  };

  Series& series_of(std::vector<Named>& all, std::size_t at, std::string_view name);
  void take(std::vector<Named>& all, std::size_t most, std::span<const NamedReading> readings);
  void forget(std::vector<Named>& all, base::MonotonicTime at) const;
  bool keeps_plain() const { return collect_.memory != MemoryCollect::kWithoutPageCache; }

  CollectInForce collect_;
  Series node_;
  SampleRing system_;
  std::vector<Named> pods_;  // by name
  std::vector<Named> host_applications_;
  std::vector<NumaSeries> numa_nodes_;
  std::size_t refused_ = 0;
};

}  // namespace tidemark::policy::sell
