#include "policy/evict/gap.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tidemark::policy::evict {
namespace {

using model::CpuMilli;
using model::MemoryBytes;
using model::PriorityClass;
using model::Reason;

using Wide = __int128;  // no product of an amount and a percentage overflows

constexpr std::int64_t kGapPercent = 100;
// Contract 7.4: the default of lower is threshold−2, for the features that count usage.
constexpr std::int64_t kLowerBelowLine_percent = 2;
// "cpuEvictBEUsageThresholdPercent (default 90; limit <1000m counts as high)".
constexpr std::int64_t kOfflineUsageLine_percent = 90;
constexpr CpuMilli kLimitAlwaysHigh{1000};
// "BE satisfaction lower in (0,60], upper in (0,100)".
constexpr std::int64_t kSatisfactionLowerMax_percent = 60;
// Share of the memory per step if the release of a task is unknown: while all work stalls for memory, and while file
// cache fills it as the kubelet counts.
constexpr std::int64_t kMemoryStep_percent = 1;
// As for use: a little beyond the line, or the next file crosses it again.
constexpr std::int64_t kUpperAboveDiskLine_percent = 2;

// `keep` is published again only if it changes by more than a hundredth (policy/sell/ledger/books.h), so a smaller
// excess
// may be within the current `keep`.
constexpr std::int64_t kReclaimBand = 100;

constexpr std::array<std::string_view, kEvictFeatures> kNames{
    "BECPUEvict",          "BEMemoryEvict", "CPUAllocatableEvict", "MemoryAllocatableEvict", "CPUEvict", "MemoryEvict",
    "MemoryPressureEvict", "DiskEvict",     "ReclaimEvict"};

std::int64_t held(Wide value) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp<Wide>(value, kMin, kMax));
}

std::int64_t part_of(std::int64_t amount, std::int64_t percent) {
  return held(Wide{amount} * percent / kGapPercent);
}

// Whole percent of `all`, which is above 0; a negative amount counts as 0.
std::int64_t percent_of(std::int64_t amount, std::int64_t all, bool up) {
  const Wide product = Wide{std::max<std::int64_t>(amount, 0)} * kGapPercent + (up ? all - 1 : 0);
  return static_cast<std::int64_t>(std::min<Wide>(product / all, kSeenPercentMax));
}

// The result of one feature.
struct Outcome {
  FeatureVerdict verdict;
  std::vector<Gap> gaps;
};

Outcome none(EvictFeature feature, Reason why, std::int64_t seen = 0, std::int64_t line = 0) {
  return {{feature, why, seen, line}, {}};
}

Outcome one(Gap gap) {
  if (gap.amount <= 0) return none(gap.feature, Reason::kEvictBelowLine, gap.seen_percent, gap.line_percent);
  return {{gap.feature, gap.reason, gap.seen_percent, gap.line_percent}, {gap}};
}

// ---- used ----

struct UsedLine {
  std::int64_t line = 0;
  std::int64_t lower = 0;
};

// "MemoryEvict etc. skipped if threshold missing/negative or lower ≥ threshold or priority threshold missing".
// BEMemoryEvict needs no priority. A lower bound below 0 is invalid too.
std::optional<UsedLine> used_line(std::optional<std::int64_t> line, std::optional<std::int64_t> lower) {
  if (!line || *line < 0) return std::nullopt;
  if (lower && (*lower < 0 || *lower >= *line)) return std::nullopt;
  return UsedLine{*line, lower.value_or(std::max<std::int64_t>(*line - kLowerBelowLine_percent, 0))};
}

// "node cpu% (int) ≥ threshold" and "node memory% (int, last) ≥ threshold": "Cap×(usage%−lower%)/100".
Outcome used_gap(EvictFeature feature, std::optional<UsedLine> line, std::int64_t capacity,
                 std::optional<std::int64_t> used) {
  if (!line) return none(feature, Reason::kEvictUnfit);
  if (!used || capacity <= 0) return none(feature, Reason::kEvictNotMeasured);
  const std::int64_t seen = percent_of(*used, capacity, false);
  if (seen < line->line) return none(feature, Reason::kEvictBelowLine, seen, line->line);
  const bool cpu = feature == EvictFeature::kCpu;
  Gap gap;
  gap.feature = feature;
  gap.reason = cpu ? Reason::kEvictCpuLine : Reason::kEvictMemoryLine;
  gap.measure = cpu ? Measure::kCpuUsed : Measure::kMemoryUsed;
  gap.amount = part_of(capacity, seen - line->lower);
  gap.seen_percent = seen;
  gap.line_percent = line->line;
  gap.goal_percent = line->lower;
  return one(gap);
}

Outcome cpu_gap(const NodeSeen& node, const protect::ThresholdRules& rules) {
  std::optional<UsedLine> line = used_line(rules.cpu_evict_percent, rules.cpu_evict_lower_percent);
  if (!rules.evict_priority) line.reset();
  return used_gap(EvictFeature::kCpu, line, node.capacity.cpu.value,
                  node.cpu_in_window.transform([](CpuMilli used) { return used.value; }));
}

std::int64_t memory_step(const NodeSeen& node) {
  return std::max<std::int64_t>(part_of(node.capacity.memory.value, kMemoryStep_percent), 1);
}

// Use as the kubelet counts it, and its lines for that.
struct KubeletsCount {
  std::optional<std::int64_t> used, line_percent, next_bytes;
};

KubeletsCount count_of_node(const NodeSeen& node, const protect::ThresholdRules& rules) {
  return {node.memory_of_kubelet.transform([](MemoryBytes used) { return used.value; }),
          rules.memory_before_kubelet_percent, rules.kubelet_next_bytes};
}

KubeletsCount count_of_pods(const NodeSeen& node, const protect::ThresholdRules& rules) {
  const Wide capacity = node.capacity.memory.value;
  return {node.left_to_pods.transform([&](MemoryBytes left) { return held(capacity - left.value); }),
          rules.pods_before_kubelet_percent, rules.pods_kubelet_next_bytes};
}

bool is_next(const NodeSeen& node, const KubeletsCount& count) {
  return count.used && count.next_bytes && Wide{node.capacity.memory.value} - *count.used < *count.next_bytes;
}

// Against the line before the kubelet's. The share of a task in it is unknown: at most one step.
Outcome kubelets_gap(EvictFeature feature, const NodeSeen& node, const KubeletsCount& count) {
  Outcome out = used_gap(feature, used_line(count.line_percent, std::nullopt), node.capacity.memory.value, count.used);
  for (Gap& gap : out.gaps) {
    gap.as_kubelet = true;
    gap.amount = std::min(gap.amount, memory_step(node));
    gap.kubelet_next = is_next(node, count);
  }
  return out;
}

// Our line, else the line before the kubelet's.
Outcome node_memory_gap(EvictFeature feature, const NodeSeen& node, const protect::ThresholdRules& rules,
                        const UsedLine& line) {
  const auto used = node.memory.transform([](MemoryBytes of) { return of.value; });
  const KubeletsCount count = count_of_node(node, rules);
  Outcome out = used_gap(feature, line, node.capacity.memory.value, used);
  for (Gap& gap : out.gaps) gap.kubelet_next = is_next(node, count);
  if (!out.gaps.empty()) return out;
  Outcome kubelets = kubelets_gap(feature, node, count);
  return kubelets.gaps.empty() ? out : kubelets;
}

Outcome memory_gap(EvictFeature feature, const NodeSeen& node, const protect::ThresholdRules& rules) {
  const auto line = used_line(rules.memory_evict_percent, rules.memory_evict_lower_percent);
  if (!line || (feature == EvictFeature::kMemory && !rules.evict_priority)) return none(feature, Reason::kEvictUnfit);
  Outcome out = node_memory_gap(feature, node, rules, *line);
  Outcome pods = kubelets_gap(feature, node, count_of_pods(node, rules));
  for (Gap& gap : pods.gaps) gap.of_pods = true;
  if (out.gaps.empty() && !pods.gaps.empty()) return pods;
  // First: what is freed for the pods is also free on the node, but not the other way round.
  out.gaps.insert(out.gaps.begin(), pods.gaps.begin(), pods.gaps.end());
  return out;
}

// Ours: while all work stalls, a part of the memory is freed at each step, whatever the use is.
Outcome pressure_gap(const NodeSeen& node, std::int64_t line) {
  constexpr EvictFeature kFeature = EvictFeature::kMemoryPressure;
  if (line < 0 || line > model::kPressureMax_percent) return none(kFeature, Reason::kEvictUnfit);
  if (!node.memory_pressure_percent || node.capacity.memory.value <= 0) {
    return none(kFeature, Reason::kEvictNotMeasured);
  }
  Gap gap;
  gap.feature = kFeature;
  gap.reason = Reason::kEvictMemoryPressure;
  gap.measure = Measure::kMemoryUsed;
  gap.seen_percent = std::clamp<std::int64_t>(*node.memory_pressure_percent, 0, model::kPressureMax_percent);
  gap.line_percent = gap.goal_percent = line;
  if (gap.seen_percent > line) {
    gap.amount = memory_step(node);
  }
  return one(gap);
}

// ---- disks ----

struct FreeLine {
  std::int64_t line = 0;
  std::optional<std::int64_t> kubelet_next;
};

// The shortage of one kind. `free` may be any number.
Outcome free_gap(Measure measure, model::Disk disk, const FreeLine& line, std::int64_t capacity, std::int64_t free) {
  const bool bytes = measure == Measure::kDiskHeld;
  Gap gap;
  gap.feature = EvictFeature::kDisk;
  gap.reason = bytes ? Reason::kEvictDiskLine : Reason::kEvictInodesLine;
  gap.measure = measure;
  gap.disk = disk;
  free = std::clamp<std::int64_t>(free, 0, capacity);
  gap.seen_percent = percent_of(free, capacity, false);
  gap.line_percent = line.line;
  gap.goal_percent = line.line + kUpperAboveDiskLine_percent;
  gap.kubelet_next = line.kubelet_next && gap.seen_percent < *line.kubelet_next;
  if (gap.seen_percent < line.line) gap.amount = held(Wide{capacity} * gap.goal_percent / kGapPercent - free);
  return one(gap);
}

bool is_disk_line(std::optional<std::int64_t> percent) {
  return !percent || (*percent > 0 && *percent <= model::kDiskFreeMax_percent);
}

// Reports the first that is short, else the one nearest to its line.
Outcome disk_gaps(const NodeSeen& node, const model::EvictSettings& settings) {
  constexpr EvictFeature kFeature = EvictFeature::kDisk;
  if (!is_disk_line(settings.disk_free_percent) || !is_disk_line(settings.inodes_free_percent)) {
    return none(kFeature, Reason::kEvictUnfit);
  }
  Outcome out = none(kFeature, Reason::kEvictNotMeasured);
  const auto room = [](const FeatureVerdict& of) { return of.seen_percent - of.line_percent; };
  const auto add = [&](const Outcome& its) {
    const bool first = out.verdict.reason == Reason::kEvictNotMeasured;
    const bool nearer = out.gaps.empty() && (!its.gaps.empty() || room(its.verdict) < room(out.verdict));
    if (first || nearer) out.verdict = its.verdict;
    out.gaps.insert(out.gaps.end(), its.gaps.begin(), its.gaps.end());
  };
  for (std::size_t i = 0; i < model::kDisks; ++i) {
    const auto& seen = node.disks[i];
    const auto disk = static_cast<model::Disk>(i);
    if (seen && settings.disk_free_percent && seen->bytes > 0) {
      const FreeLine line{*settings.disk_free_percent, settings.disk_kubelet_next_percent[i]};
      add(free_gap(Measure::kDiskHeld, disk, line, seen->bytes, seen->bytes_free));
    }
    if (seen && settings.inodes_free_percent && seen->inodes > 0) {
      const FreeLine line{*settings.inodes_free_percent, settings.inodes_kubelet_next_percent[i]};
      add(free_gap(Measure::kInodesHeld, disk, line, seen->inodes, seen->inodes_free));
    }
  }
  return out;
}

// ---- the satisfaction of offline work ----

struct SatisfactionLine {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t usage = 0;
  protect::CpuEvictPolicy policy = protect::CpuEvictPolicy::kByRealLimit;
};

// "BE satisfaction lower in (0,60], upper in (0,100) (100 is refused here though the webhook admits it), upper ≥ lower
// else feature skipped".
std::optional<SatisfactionLine> satisfaction_line(const protect::ThresholdRules& rules) {
  const auto lower = rules.cpu_evict_satisfaction_lower_percent;
  const auto upper = rules.cpu_evict_satisfaction_upper_percent;
  const std::int64_t usage = rules.cpu_evict_usage_percent.value_or(kOfflineUsageLine_percent);
  if (!lower || *lower <= 0 || *lower > kSatisfactionLowerMax_percent) return std::nullopt;
  if (!upper || *upper >= kGapPercent || *upper < *lower || usage < 0) return std::nullopt;
  return SatisfactionLine{*lower, *upper, usage, rules.cpu_evict_policy};
}

// nullopt: unknown. "evictByAllocatable → node allocatable batch-cpu (0 → 1, missing → −1 ⇒ skip)"; work cannot run
// with a real limit of 0, so 0 is no valid measurement.
std::optional<CpuMilli> limit_of(const OfflineCpu& offline, protect::CpuEvictPolicy policy) {
  if (!offline.limit || offline.limit->value < 0) return std::nullopt;
  if (offline.limit->value > 0) return offline.limit;
  return policy == protect::CpuEvictPolicy::kByAllocatable ? std::optional(CpuMilli{1}) : std::nullopt;
}

struct Satisfaction {
  std::int64_t percent = 0;  // limit / request, rounded up: at the line at most if the exact value is
  std::int64_t amount = 0;   // 0: nothing to free
};

// "BE usage/limit ≥ cpuEvictBEUsageThresholdPercent and limit/request ≤ lower %": "request×(upper% − limit/request)".
std::optional<Satisfaction> satisfaction(const std::optional<OfflineCpu>& offline, const SatisfactionLine& line) {
  const auto limit = offline ? limit_of(*offline, line.policy) : std::nullopt;
  if (!limit) return std::nullopt;
  const Wide request = offline->request.value;
  if (request <= 0) return Satisfaction{};  // no requests: no work is short of CPU
  const Wide had = Wide{limit->value} * kGapPercent;
  const bool busy =
      *limit < kLimitAlwaysHigh || Wide{offline->used.value} * kGapPercent >= Wide{limit->value} * line.usage;
  Satisfaction out{percent_of(limit->value, offline->request.value, true), 0};
  if (busy && had <= request * line.lower) out.amount = held((request * line.upper - had) / kGapPercent);
  return out;
}

// "both window avg and latest must hold", "min of window and latest".
Outcome offline_cpu_gap(const NodeSeen& node, const protect::ThresholdRules& rules) {
  constexpr EvictFeature kFeature = EvictFeature::kBeCpu;
  const auto line = satisfaction_line(rules);
  if (!line) return none(kFeature, Reason::kEvictUnfit);
  const auto in_window = satisfaction(node.offline_in_window, *line);
  const auto latest = satisfaction(node.offline, *line);
  if (!in_window || !latest) return none(kFeature, Reason::kEvictNotMeasured);
  Gap gap;
  gap.feature = kFeature;
  gap.reason = Reason::kEvictCpuUnsatisfied;
  gap.measure = Measure::kCpuRequested;
  gap.amount = std::min(in_window->amount, latest->amount);
  gap.seen_percent = latest->percent;
  gap.line_percent = line->lower;
  gap.goal_percent = line->upper;
  if (node.oversold && node.oversold->value > 0 && gap.amount > 0) {
    gap.reason = Reason::kArbitrateEvict;
    gap.amount = std::min(gap.amount, node.oversold->value);
  }
  return one(gap);
}

// ---- sold ----

struct SoldLine {
  std::int64_t line = 0;
  std::int64_t lower = 0;
  std::int64_t priority = 0;
};

// "allocatable features need both bounds and priority threshold ≤ 7999. No defaults are injected for these". As for the
// other lines, no bound is below 0 and the lower one is below the line.
std::optional<SoldLine> sold_line(std::optional<std::int64_t> line, std::optional<std::int64_t> lower,
                                  std::optional<std::int64_t> priority) {
  if (!line || !lower || !priority) return std::nullopt;
  if (*lower < 0 || *lower >= *line || *priority > kAllocatableEvictPriorityMax) return std::nullopt;
  return SoldLine{*line, *lower, *priority};
}

// "Σ request of pods with value ≤ allocatableEvictPriorityThreshold, per resource (mid/batch/cpu by class)". Unlike in
// Koordinator, terminal pods hold nothing and are left out.
std::int64_t requested_of(std::span<const TaskSeen> tasks, PriorityClass oversold, Measure measure,
                          std::int64_t priority) {
  Wide sum = 0;
  for (const TaskSeen& each : tasks) {
    if (each.task == nullptr || each.task->terminal() || each.task->priority_value > priority) continue;
    sum += requested_of_class(*each.task, oversold, measure);
  }
  return held(sum);
}

// "requested / node allocatable > threshold % ; allocatable 0/missing → release all": "requested − lower%×allocatable".
// A missing one gets no gap here (NodeSeen::offered).
Gap sold_gap(const SoldLine& line, std::int64_t requested, std::int64_t allocatable) {
  Gap gap;
  gap.line_percent = line.line;
  gap.goal_percent = line.lower;
  if (requested <= 0) return gap;
  if (allocatable <= 0) {
    gap.seen_percent = kSeenPercentMax;
    gap.amount = requested;
    return gap;
  }
  gap.seen_percent = percent_of(requested, allocatable, true);
  if (Wide{requested} * kGapPercent > Wide{allocatable} * line.line) {
    gap.amount = held(Wide{requested} - Wide{allocatable} * line.lower / kGapPercent);
  }
  return gap;
}

std::optional<std::int64_t> allocatable_of(const NodeSeen& node, PriorityClass of, bool cpu) {
  const auto found = std::ranges::find(node.offered, of, &NodeSeen::Offered::of);
  if (found == node.offered.end()) return std::nullopt;
  if (cpu) return found->cpu.transform([](CpuMilli amount) { return amount.value; });
  return found->memory.transform([](MemoryBytes amount) { return amount.value; });
}

// Reports the first oversold class, else the one nearest to its line.
Outcome sold_gaps(EvictFeature feature, std::optional<SoldLine> line, const NodeSeen& node,
                  std::span<const TaskSeen> tasks) {
  if (!line) return none(feature, Reason::kEvictUnfit);
  const bool cpu = feature == EvictFeature::kCpuAllocatable;
  const Measure measure = cpu ? Measure::kCpuRequested : Measure::kMemoryRequested;
  Outcome out = none(feature, Reason::kEvictNotMeasured);
  for (const PriorityClass of : {PriorityClass::kBatch, PriorityClass::kMid, PriorityClass::kProd}) {
    const auto allocatable = allocatable_of(node, of, cpu);
    if (!allocatable) continue;
    Gap gap = sold_gap(*line, requested_of(tasks, of, measure, line->priority), *allocatable);
    gap.feature = feature;
    gap.reason = cpu ? Reason::kEvictCpuOversold : Reason::kEvictMemoryOversold;
    gap.measure = measure;
    gap.oversold = of;
    Outcome its = one(gap);
    const bool nearer = out.gaps.empty() && (!its.gaps.empty() || its.verdict.seen_percent >= out.verdict.seen_percent);
    if (nearer) out.verdict = its.verdict;
    out.gaps.insert(out.gaps.end(), its.gaps.begin(), its.gaps.end());
  }
  return out;
}

// ---- to be reclaimed ----

// An unknown id, from a newer manager, is reported as the most frequent reason.
Reason reclaim_reason(std::string_view id) {
  return id == model::reason_id(Reason::kStateClassOff) ? Reason::kStateClassOff : Reason::kLedgerReclaim;
}

// A task that has ended and is still listed holds nothing, or another one would be evicted in its place.
std::int64_t requested_here(std::span<const TaskSeen> tasks, std::string_view work_class, Measure measure) {
  Wide sum = 0;
  for (const TaskSeen& each : tasks) {
    if (each.task != nullptr && is_here(*each.task)) sum += requested_of_work(*each.task, work_class, measure);
  }
  return held(sum);
}

Gap reclaim_gap(const model::Reclaim& wanted, Measure measure, std::span<const TaskSeen> tasks) {
  Gap gap;
  gap.feature = EvictFeature::kReclaim;
  gap.reason = reclaim_reason(wanted.reason);
  gap.measure = measure;
  gap.work_class = wanted.work_class;
  gap.keep =
      std::max<std::int64_t>(measure == Measure::kCpuRequested ? wanted.keep.cpu.value : wanted.keep.memory.value, 0);
  const std::int64_t requested = requested_here(tasks, wanted.work_class, measure);
  const std::int64_t above = requested - gap.keep;  // both at least 0
  if (above > requested / kReclaimBand) gap.amount = above;
  return gap;
}

Outcome reclaim_gaps(std::span<const model::Reclaim> reclaim, std::span<const TaskSeen> tasks) {
  Outcome out = none(EvictFeature::kReclaim, Reason::kEvictBelowLine);
  for (const model::Reclaim& each : reclaim) {
    for (const Measure measure : {Measure::kCpuRequested, Measure::kMemoryRequested}) {
      Outcome its = one(reclaim_gap(each, measure, tasks));
      if (out.gaps.empty()) out.verdict = its.verdict;
      out.gaps.insert(out.gaps.end(), its.gaps.begin(), its.gaps.end());
    }
  }
  return out;
}

Outcome outcome_of(EvictFeature feature, const NodeSeen& node, std::span<const TaskSeen> tasks,
                   const protect::NodeRules& all_rules, const model::EvictSettings& settings) {
  const protect::ThresholdRules& rules = all_rules.threshold;
  switch (feature) {
    case EvictFeature::kBeCpu:
      return offline_cpu_gap(node, rules);
    case EvictFeature::kBeMemory:
    case EvictFeature::kMemory:
      return memory_gap(feature, node, rules);
    case EvictFeature::kCpuAllocatable:
      return sold_gaps(feature,
                       sold_line(rules.cpu_allocatable_evict_percent, rules.cpu_allocatable_evict_lower_percent,
                                 rules.allocatable_evict_priority),
                       node, tasks);
    case EvictFeature::kMemoryAllocatable:
      return sold_gaps(feature,
                       sold_line(rules.memory_allocatable_evict_percent, rules.memory_allocatable_evict_lower_percent,
                                 rules.allocatable_evict_priority),
                       node, tasks);
    case EvictFeature::kCpu:
      return cpu_gap(node, rules);
    case EvictFeature::kMemoryPressure:
      return pressure_gap(node, settings.memory_pressure_percent.value_or(-1));
    case EvictFeature::kDisk:
      return disk_gaps(node, settings);
    case EvictFeature::kReclaim:
      return reclaim_gaps(all_rules.reclaim, tasks);
  }
  return none(feature, Reason::kEvictNotMeasured);
}

// Which resources pay for a class: "per resource (mid/batch/cpu by class)".
PriorityClass paid_as(PriorityClass of) {
  return of == PriorityClass::kBatch || of == PriorityClass::kMid ? of : PriorityClass::kProd;
}

}  // namespace

std::int64_t requested_of_class(const model::Task& task, PriorityClass of, Measure measure) {
  if (task.kind != model::TaskKind::kPod || paid_as(task.priority) != of) return 0;
  const model::TaskAmounts& all = task.requests;
  const model::SaidAmounts& its = of == PriorityClass::kBatch ? all.batch
                                  : of == PriorityClass::kMid ? all.mid
                                                              : all.native;
  switch (measure) {
    case Measure::kCpuRequested:
      return std::max<std::int64_t>(its.cpu.value_or(CpuMilli{}).value, 0);
    case Measure::kMemoryRequested:
      return std::max<std::int64_t>(its.memory.value_or(MemoryBytes{}).value, 0);
    case Measure::kCpuUsed:
    case Measure::kMemoryUsed:
    case Measure::kDiskHeld:
    case Measure::kInodesHeld:
      return 0;
  }
  return 0;
}

bool is_here(const model::Task& task) {
  return !task.terminal() && (!task.path.empty() || task.phase == model::PodPhase::kPending);
}

std::int64_t requested_of_work(const model::Task& task, std::string_view work_class, Measure measure) {
  if (task.kind != model::TaskKind::kPod || task.identity.work_class != work_class) return 0;
  const model::SaidAmounts& batch = task.requests.batch;
  if (measure == Measure::kCpuRequested) return std::max<std::int64_t>(batch.cpu.value_or(CpuMilli{}).value, 0);
  if (measure == Measure::kMemoryRequested)
    return std::max<std::int64_t>(batch.memory.value_or(MemoryBytes{}).value, 0);
  return 0;
}

std::string_view to_string(EvictFeature feature) {
  return kNames[static_cast<std::size_t>(feature)];
}

std::optional<EvictFeature> parse_evict_feature(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<EvictFeature>(found - kNames.begin());
}

bool is_asked_for(EvictFeature feature, const protect::NodeRules& rules) {
  if (feature == EvictFeature::kReclaim) return !rules.reclaim.empty();
  if (!rules.threshold.enable) return false;
  const model::EvictSettings settings = rules.evict_settings();
  if (feature == EvictFeature::kMemoryPressure) return settings.memory_pressure_percent.has_value();
  if (feature == EvictFeature::kDisk) return settings.disk_free_percent || settings.inodes_free_percent;
  return true;
}

Gaps gaps_of(const NodeSeen& node, std::span<const TaskSeen> tasks, const protect::NodeRules& rules,
             EvictSwitches switches) {
  Gaps out;
  const model::EvictSettings settings = rules.evict_settings();
  for (std::size_t i = 0; i < kEvictFeatures; ++i) {
    const auto feature = static_cast<EvictFeature>(i);
    if (!switches.has(feature)) continue;
    if (!is_asked_for(feature, rules)) continue;
    Outcome its = outcome_of(feature, node, tasks, rules, settings);
    out.verdicts.push_back(its.verdict);
    out.gaps.insert(out.gaps.end(), its.gaps.begin(), its.gaps.end());
  }
  return out;
}

base::Duration cpu_window(const protect::ThresholdRules& rules) {
  using std::chrono::seconds;
  constexpr std::int64_t kMax_s = std::chrono::duration_cast<seconds>(kCpuWindowMax).count();
  return seconds(std::clamp<std::int64_t>(rules.cpu_evict_window_s.value_or(1), 1, kMax_s));
}

}  // namespace tidemark::policy::evict
