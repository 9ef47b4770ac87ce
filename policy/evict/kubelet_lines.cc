#include "policy/evict/kubelet_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/settings/evict_settings.h"

namespace tidemark::policy::evict {
namespace {

constexpr std::int64_t kKubeletPercent = 100;
constexpr std::int64_t kMilliPercent = 1000;

// Free at the threshold, in whole percent, rounded up: the kubelet acts no earlier than this.
std::optional<std::int64_t> free_percent(const std::optional<EvictionThreshold>& threshold, std::int64_t capacity) {
  if (!threshold) return std::nullopt;
  if (threshold->milli_percent > 0) {
    return std::min((threshold->milli_percent - 1) / kMilliPercent + 1, kKubeletPercent);
  }
  if (capacity <= 0) return std::nullopt;
  const std::int64_t bytes = std::clamp<std::int64_t>(threshold->bytes, 0, capacity);
  // A hundredth, rounded down, so that the quotient is never too small.
  const std::int64_t hundredth = std::max<std::int64_t>(capacity / kKubeletPercent, 1);
  return std::min(bytes / hundredth + (bytes % hundredth != 0 ? 1 : 0), kKubeletPercent);
}

std::optional<std::int64_t> larger(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

using Signal = std::optional<EvictionThreshold> EvictionThresholds::*;

// Of one signal: the threshold that is reached first.
std::optional<std::int64_t> free_percent(const KubeletFound& kubelet, Signal signal, std::int64_t capacity) {
  return larger(free_percent(kubelet.hard.*signal, capacity), free_percent(kubelet.soft.*signal, capacity));
}

struct DiskSignals {
  Signal nodefs, imagefs;
};

// If both are one disk, the kubelet's own has the thresholds of both.
model::ByDisk<std::optional<std::int64_t>> free_by_disk(const KubeletFound& kubelet, const DiskSignals& signals,
                                                        const model::ByDisk<std::int64_t>& capacities, bool one_disk) {
  constexpr auto kOwn = static_cast<std::size_t>(model::Disk::kKubelet),
                 kRuntime = static_cast<std::size_t>(model::Disk::kRuntime);
  const auto own = free_percent(kubelet, signals.nodefs, capacities[kOwn]);
  const auto runtime = free_percent(kubelet, signals.imagefs, capacities[one_disk ? kOwn : kRuntime]);
  model::ByDisk<std::optional<std::int64_t>> out;
  out[kOwn] = one_disk ? larger(own, runtime) : own;
  out[kRuntime] = runtime;
  return out;
}

// The available memory below which the kubelet is about to evict. nullopt: it does not evict for memory, or the
// capacity is unknown.
std::optional<std::int64_t> next_bytes(const std::optional<EvictionThreshold>& threshold, std::int64_t capacity) {
  if (!threshold || capacity <= 0) return std::nullopt;
  const std::int64_t bytes = std::min(threshold_bytes(*threshold, capacity), capacity);
  const std::int64_t room = std::min(capacity / (kKubeletPercent / kNextPercent), std::max(bytes, kNextRoom_bytes));
  return bytes + std::min(room, capacity - bytes);
}

// In use, in percent: with room before the line of the kubelet, or ours if that is later.
std::int64_t line_before(std::int64_t kubelet, std::int64_t ours) {
  return std::max({kubelet - kRoomPercent, ours, std::int64_t{1}});
}

// Our line already lies before the kubelet's.
void draw_before_pods(protect::ThresholdRules& rules, const std::optional<EvictionThreshold>& hard,
                      std::int64_t capacity) {
  const auto kubelet_free = free_percent(hard, capacity);
  if (!kubelet_free) return;
  rules.pods_before_kubelet_percent = line_before(kKubeletPercent - *kubelet_free, rules.memory_evict_percent);
  rules.pods_kubelet_next_bytes = next_bytes(hard, capacity);
}

void move_memory(protect::ThresholdRules& rules, const KubeletFound& found, std::int64_t capacity,
                 std::vector<LineBeforeKubelet>& moved) {
  const auto kubelet_free = free_percent(found, &EvictionThresholds::memory_available, capacity);
  if (!kubelet_free) return;
  const std::int64_t kubelet = kKubeletPercent - *kubelet_free;
  const std::int64_t holds = line_before(kubelet, 0);
  if (rules.memory_evict_percent >= kubelet) {
    moved.push_back({EvictLine::kMemory, rules.memory_evict_percent, kubelet, holds});
    rules.memory_evict_percent = holds;
    if (rules.memory_evict_lower_percent && *rules.memory_evict_lower_percent >= holds) {
      rules.memory_evict_lower_percent.reset();
    }
  }
  rules.memory_before_kubelet_percent = line_before(kubelet, rules.memory_evict_percent);
  rules.kubelet_next_bytes =
      next_bytes(reached_first(found.hard.memory_available, found.soft.memory_available, capacity), capacity);
  draw_before_pods(rules, found.hard.memory_available, capacity);
}

struct FreeLines {
  std::optional<std::int64_t>& ours;
  model::ByDisk<std::optional<std::int64_t>>& kubelet_next;
};

void move_free(EvictLine which, FreeLines lines, const model::ByDisk<std::optional<std::int64_t>>& kubelet,
               std::vector<LineBeforeKubelet>& moved) {
  std::optional<std::int64_t>& line = lines.ours;
  const auto first = larger(kubelet[0], kubelet[1]);
  if (!line || !first) return;
  const std::int64_t holds = std::min(*first + kRoomPercent, model::kDiskFreeMax_percent);
  if (*line <= *first && *line < holds) {
    moved.push_back({which, *line, *first, holds});
    line = holds;
  }
  for (std::size_t at = 0; at < model::kDisks; ++at) {
    if (kubelet[at]) lines.kubelet_next[at] = std::min(*line, *kubelet[at] + kNextPercent);
  }
}

}  // namespace

LinesUnderKubelet under_kubelet(protect::NodeRules rules, const KubeletFound& kubelet,
                                const LineCapacities& capacities) {
  LinesUnderKubelet out{std::move(rules), {}};
  using Thresholds = EvictionThresholds;
  if (out.rules.threshold.enable) move_memory(out.rules.threshold, kubelet, capacities.memory.value, out.moved);
  if (!out.rules.word || !out.rules.threshold.enable) return out;
  model::EvictSettings& lines = out.rules.word->evict;
  move_free(EvictLine::kDiskFree, {lines.disk_free_percent, lines.disk_kubelet_next_percent},
            free_by_disk(kubelet, {&Thresholds::nodefs_available, &Thresholds::imagefs_available}, capacities.bytes,
                         capacities.one_disk),
            out.moved);
  move_free(EvictLine::kInodesFree, {lines.inodes_free_percent, lines.inodes_kubelet_next_percent},
            free_by_disk(kubelet, {&Thresholds::nodefs_inodes, &Thresholds::imagefs_inodes}, capacities.inodes,
                         capacities.one_disk),
            out.moved);
  return out;
}

}  // namespace tidemark::policy::evict
