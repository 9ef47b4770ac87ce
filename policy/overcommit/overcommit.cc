#include "policy/overcommit/overcommit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tidemark::policy {
namespace {

using model::CalculatePolicy;
using model::CpuMilli;
using model::MemoryBytes;
using model::PriorityClass;
using model::Qos;
using model::Reason;
using model::Resources;

bool is_active(const model::PodView& pod) {
  return pod.phase == model::PodPhase::kRunning || pod.phase == model::PodPhase::kPending;
}

// Online work: everything that was not sold batch or free resources.
bool is_high_priority(PriorityClass priority) {
  return priority != PriorityClass::kBatch && priority != PriorityClass::kFree;
}

// What pods and host applications take, counted in each of the ways that a formula asks for.
struct Demand {
  Resources used;         // high-priority pods
  Resources requested;    // high-priority pods
  Resources max_of_both;  // high-priority pods
  Resources prod_requested;
  Resources host_above_batch;
  Resources host_above_mid;
};

Resources used_by(const model::PodView& pod, const model::PodUsage* usage) {
  if (usage == nullptr) return pod.request;
  // An LSE pod has its CPUs to itself: what it does not use of them nobody else can.
  if (pod.qos == Qos::kLse) return {pod.request.cpu, usage->usage.memory};
  return usage->usage;
}

// What was reported of the pods, found by who they are. Of two reports of one pod the last counts.
class Reported {
 public:
  explicit Reported(const std::vector<model::PodUsage>& reports) {
    by_id_.reserve(reports.size());
    for (const auto& report : reports) by_id_.push_back({&report, false});
    // Equals in the order of the reports, which lie in one row.
    std::sort(by_id_.begin(), by_id_.end(), [](const Entry& a, const Entry& b) {
      return a.usage->id != b.usage->id ? a.usage->id < b.usage->id : a.usage < b.usage;
    });
    // The other way round, so that the last of equals is the one that stays.
    const auto rest = std::unique(by_id_.rbegin(), by_id_.rend(),
                                  [](const Entry& a, const Entry& b) { return a.usage->id == b.usage->id; });
    by_id_.erase(by_id_.begin(), rest.base());
  }

  // Each report is given once; null where there is none.
  const model::PodUsage* take(const model::PodId& id) {
    const auto at =
        std::lower_bound(by_id_.begin(), by_id_.end(), id,
                         [](const Entry& entry, const model::PodId& wanted) { return entry.usage->id < wanted; });
    if (at == by_id_.end() || at->usage->id != id || at->taken) return nullptr;
    at->taken = true;
    return at->usage;
  }

  template <class Visit>
  void for_each_left(Visit&& visit) const {
    for (const Entry& entry : by_id_) {
      if (!entry.taken) visit(*entry.usage);
    }
  }

 private:
  struct Entry {
    const model::PodUsage* usage;
    bool taken;
  };
  std::vector<Entry> by_id_;
};

Demand measure(const model::NodeSnapshot& node, const model::NodeMetricView& metric) {
  Reported reported(metric.pods);
  Demand demand;
  for (const auto& pod : node.pods) {
    if (!is_active(pod)) continue;
    const model::PodUsage* usage = reported.take(pod.id);
    if (pod.priority == PriorityClass::kProd || pod.priority == PriorityClass::kNone) {
      demand.prod_requested += pod.request;
    }
    if (!is_high_priority(pod.priority)) continue;
    demand.used += used_by(pod, usage);
    demand.requested += pod.request;
    // A pod that has no report yet adds nothing here, not even its request. That is the peer's rule.
    if (usage != nullptr) demand.max_of_both += max(pod.request, usage->usage);
  }
  // Reported, but not on the node any more (or not active): it may be on its way out, its use is real.
  reported.for_each_left([&](const model::PodUsage& usage) {
    if (!is_high_priority(usage.priority)) return;
    demand.used += usage.usage;
    demand.max_of_both += usage.usage;
  });

  for (const auto& host : metric.host_applications) {
    const auto priority = model::default_priority(host.priority);
    if (priority > model::default_priority(PriorityClass::kBatch)) demand.host_above_batch += host.usage;
    if (priority > model::default_priority(PriorityClass::kMid)) demand.host_above_mid += host.usage;
  }
  return demand;
}

template <class Amount>
Amount not_negative(Amount amount) {
  return std::max(amount, Amount{0});
}

template <class Amount>
Amount share(Amount amount, std::int64_t percent) {
  return {percent_of(amount.value, percent)};
}

template <class Amount>
struct Largest {
  Amount amount;
  Reason reason;
};

template <class Amount>
Largest<Amount> largest_reservation(Amount kubelet, Amount annotation, std::optional<Amount> system) {
  Largest<Amount> largest{kubelet, Reason::kReservedByKubelet};
  if (annotation > largest.amount) largest = {annotation, Reason::kReservedByAnnotation};
  if (system && *system > largest.amount) largest = {*system, Reason::kReservedBySystemUsage};
  return largest;
}

// The inputs of one resource, picked out of the pairs.
template <class Amount>
struct Side {
  Amount Resources::* of;
  CalculatePolicy policy;
  std::int64_t reclaim_threshold_percent;
  std::optional<std::int64_t> batch_threshold_percent;
  std::int64_t mid_threshold_percent;
  std::int64_t mid_static_percent;
};

Side<CpuMilli> cpu_side(const model::ColocationStrategy& strategy) {
  const bool max_of_both = strategy.cpu_calculate_policy == CalculatePolicy::kMaxUsageRequest;
  return {&Resources::cpu,
          max_of_both ? CalculatePolicy::kMaxUsageRequest : CalculatePolicy::kUsage,
          strategy.cpu_reclaim_threshold_percent,
          strategy.batch_cpu_threshold_percent,
          strategy.mid_cpu_threshold_percent,
          strategy.mid_static_cpu_reserved_percent};
}

Side<MemoryBytes> memory_side(const model::ColocationStrategy& strategy) {
  return {&Resources::memory,
          strategy.memory_calculate_policy,
          strategy.memory_reclaim_threshold_percent,
          strategy.batch_memory_threshold_percent,
          strategy.mid_memory_threshold_percent,
          strategy.mid_static_memory_reserved_percent};
}

template <class Amount>
Amount kubelet_reservation(const model::NodeSnapshot& node, const Side<Amount>& side) {
  return not_negative(node.capacity.*side.of - node.allocatable.*side.of);
}

template <class Amount>
void take_off_third_party(const model::NodeSnapshot& node, const Side<Amount>& side, BatchTerms<Amount>& terms) {
  if (!node.third_party) {
    terms.third_party_by = Reason::kThirdPartyUnreadable;
  } else {
    for (const auto& allocation : *node.third_party) {
      if (allocation.priority != PriorityClass::kBatch) continue;
      // A negative allocation would sell more than the node has to sell.
      terms.third_party += not_negative(allocation.resources.*side.of);
    }
    if (terms.third_party > Amount{0}) {
      const bool all = terms.third_party >= terms.origin;
      terms.third_party_by = all ? Reason::kThirdPartyTakesAll : Reason::kThirdPartySubtracted;
    }
  }
  terms.published = not_negative(terms.origin - terms.third_party);
}

template <class Amount>
BatchTerms<Amount> batch(const model::NodeSnapshot& node, const model::NodeMetricView& metric, const Demand& demand,
                         const Side<Amount>& side) {
  BatchTerms<Amount> terms;
  terms.capacity = node.capacity.*side.of;
  // Amount arithmetic, because it does not overflow whatever the threshold is.
  terms.margin = share(terms.capacity, (Amount{100} - Amount{side.reclaim_threshold_percent}).value);
  terms.system_used = metric.system_usage.*side.of + demand.host_above_batch.*side.of;
  terms.reserved_by_kubelet = kubelet_reservation(node, side);
  terms.reserved_by_annotation = node.reserved_by_annotation.*side.of;

  std::optional<Amount> system = terms.system_used;
  switch (side.policy) {
    case CalculatePolicy::kUsage:
      terms.policy = Reason::kPolicyUsage;
      terms.high_priority = demand.used.*side.of;
      break;
    case CalculatePolicy::kRequest:
      terms.policy = Reason::kPolicyRequest;
      terms.high_priority = demand.requested.*side.of;
      system.reset();
      break;
    case CalculatePolicy::kMaxUsageRequest:
      terms.policy = Reason::kPolicyMaxUsageRequest;
      terms.high_priority = demand.max_of_both.*side.of;
      break;
  }
  const auto reserved = largest_reservation(terms.reserved_by_kubelet, terms.reserved_by_annotation, system);
  terms.reserved = reserved.amount;
  terms.reserved_by = reserved.reason;
  terms.left = terms.capacity - terms.margin - terms.reserved - terms.high_priority;

  terms.origin = not_negative(terms.left);
  if (terms.left <= Amount{0}) terms.origin_by = Reason::kBatchNothingLeft;
  if (side.batch_threshold_percent) {
    terms.cap = share(terms.capacity, *side.batch_threshold_percent);
    if (terms.origin > *terms.cap) {
      terms.origin = not_negative(*terms.cap);
      terms.origin_by = Reason::kBatchCapped;
    }
  }
  take_off_third_party(node, side, terms);
  return terms;
}

template <class Amount>
MidTerms<Amount> mid(const model::NodeSnapshot& node, const model::NodeMetricView& metric, const Demand& demand,
                     const model::ColocationStrategy& strategy, const Side<Amount>& side) {
  MidTerms<Amount> terms;
  terms.capacity = node.capacity.*side.of;
  terms.cap = share(terms.capacity, side.mid_threshold_percent);

  if (strategy.mid_reclaim_mode == model::MidReclaimMode::kStatic) {
    terms.static_share = share(terms.capacity, side.mid_static_percent);
    terms.reason = terms.static_share > terms.cap ? Reason::kMidStaticCapped : Reason::kMidStatic;
    terms.published = not_negative(std::min(terms.static_share, terms.cap));
    return terms;
  }

  const auto reserved =
      largest_reservation(kubelet_reservation(node, side), node.reserved_by_annotation.*side.of,
                          std::optional(metric.system_usage.*side.of + demand.host_above_mid.*side.of));
  terms.reserved = reserved.amount;
  terms.reserved_by = reserved.reason;
  terms.prod_request = demand.prod_requested.*side.of;
  terms.unallocated = not_negative(terms.capacity - terms.reserved - terms.prod_request);
  terms.unallocated_share = share(terms.unallocated, strategy.mid_unallocated_percent);

  terms.prod_reclaimable = metric.prod_reclaimable.*side.of;
  if (metric.node_usage) terms.node_unused = terms.capacity - (*metric.node_usage).*side.of;
  terms.base = not_negative(std::min(terms.prod_reclaimable, terms.node_unused));

  const Amount offered = terms.base + terms.unallocated_share;
  terms.published = not_negative(std::min(offered, terms.cap));
  if (offered > terms.cap) {
    terms.reason = Reason::kMidCapped;
  } else if (!metric.node_usage) {
    terms.reason = Reason::kMidNodeUsageMissing;
  } else {
    terms.reason = offered > Amount{0} ? Reason::kMidReclaimable : Reason::kMidNothing;
  }
  return terms;
}

// Strictly older than the limit. A time stamp from the future is not stale: a skewed clock is no reason to sell
// nothing.
bool is_stale(base::WallTime update, std::int64_t degrade_minutes, base::WallTime now) {
  constexpr std::int64_t kNanosecondsPerMinute = 60'000'000'000;
  std::int64_t age_ns = 0;
  if (__builtin_sub_overflow(now.since_epoch.count(), update.since_epoch.count(), &age_ns)) {
    return now.since_epoch > update.since_epoch;
  }
  std::int64_t limit_ns = 0;
  if (__builtin_mul_overflow(degrade_minutes, kNanosecondsPerMinute, &limit_ns)) return degrade_minutes < 0;
  return age_ns > limit_ns;
}

OvercommitPlan reset(Reason reason) {
  OvercommitPlan plan;
  plan.action = PlanAction::kReset;
  plan.reason = reason;
  plan.origin = Resources();
  return plan;
}

// The plan where everything is on.
OvercommitPlan plan_of_all(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now) {
  if (!strategy.enabled) return reset(strategy.reason);
  if (!node.metric) return reset(Reason::kMetricMissing);
  const model::NodeMetricView& metric = *node.metric;
  if (!metric.update_time) return reset(Reason::kMetricWithoutTime);
  if (is_stale(*metric.update_time, strategy.values.degrade_time_minutes, now)) return reset(Reason::kMetricStale);
  if (!metric.has_node_metric) return OvercommitPlan();

  const Demand demand = measure(node, metric);
  const auto cpu = cpu_side(strategy.values);
  const auto memory = memory_side(strategy.values);

  OvercommitPlan plan;
  plan.action = PlanAction::kPublish;
  plan.reason = Reason::kPublished;
  plan.batch_cpu = batch(node, metric, demand, cpu);
  plan.batch_memory = batch(node, metric, demand, memory);
  plan.mid_cpu = mid(node, metric, demand, strategy.values, cpu);
  plan.mid_memory = mid(node, metric, demand, strategy.values, memory);
  plan.publish = {plan.batch_cpu.published, plan.batch_memory.published, plan.mid_cpu.published,
                  plan.mid_memory.published};
  plan.origin = Resources{plan.batch_cpu.origin, plan.batch_memory.origin};
  return plan;
}

}  // namespace

std::int64_t percent_of(std::int64_t value, std::int64_t percent) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const double product = static_cast<double>(value) * (static_cast<double>(percent) / 100);
  if (product >= kTwoTo63) return std::numeric_limits<std::int64_t>::max();
  if (product < -kTwoTo63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(product);
}

OvercommitPlan overcommit(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now) {
  OvercommitPlan plan = plan_of_all(node, strategy, now);
  if (plan.action == PlanAction::kHold) return plan;
  const PluginSet& plugins = strategy.plugins;
  if (!plugins.batch_resource && !plugins.mid_resource) {
    OvercommitPlan nothing;
    nothing.reason = Reason::kPluginsOff;
    return nothing;
  }
  if (!plugins.batch_resource) {
    plan.publish.batch_cpu = node.published.batch_cpu;
    plan.publish.batch_memory = node.published.batch_memory;
    plan.origin.reset();
  }
  if (!plugins.mid_resource) {
    plan.publish.mid_cpu = node.published.mid_cpu;
    plan.publish.mid_memory = node.published.mid_memory;
  }
  return plan;
}

namespace {

// nullopt where the pair is no reason to write. The comparison is in thousandths and in doubles, as the peer's is.
template <class Amount>
std::optional<Reason> difference(std::optional<Amount> old, std::optional<Amount> wanted, double threshold) {
  if (!old && !wanted) return std::nullopt;
  if (!old) return Reason::kWriteAppears;
  if (!wanted) return Reason::kWriteDisappears;
  const double old_milli = static_cast<double>(old->value) * 1000;
  const double new_milli = static_cast<double>(wanted->value) * 1000;
  if (std::abs(new_milli - old_milli) > old_milli * threshold) return Reason::kWriteMoved;
  return std::nullopt;
}

}  // namespace

WriteDecision needs_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted,
                          std::optional<base::Duration> since_write, const model::ColocationStrategy& strategy) {
  if (!since_write) return {true, Reason::kWriteFirst};
  const double threshold = strategy.resource_diff_threshold;
  for (const auto reason : {difference(on_node.batch_cpu, wanted.batch_cpu, threshold),
                            difference(on_node.batch_memory, wanted.batch_memory, threshold),
                            difference(on_node.mid_cpu, wanted.mid_cpu, threshold),
                            difference(on_node.mid_memory, wanted.mid_memory, threshold)}) {
    if (reason) return {true, *reason};
  }
  const auto whole_seconds = std::chrono::floor<std::chrono::seconds>(*since_write);
  const bool partly_over = *since_write > whole_seconds;
  const std::int64_t age_s = whole_seconds.count();
  if (age_s > strategy.update_time_threshold_s || (age_s == strategy.update_time_threshold_s && partly_over)) {
    return {true, Reason::kWriteRefresh};
  }
  return {false, Reason::kWriteNotNeeded};
}

namespace {

template <class Amount>
std::optional<Amount> at_most(const std::optional<Amount>& wanted, const std::optional<Amount>& carried) {
  if (!wanted || !carried) return std::nullopt;
  return std::min(*wanted, *carried);
}

}  // namespace

void keep_cuts_only(OvercommitPlan& plan, const model::ExtendedResources& on_node,
                    const std::optional<model::Resources>& origin_on_node) {
  if (plan.action != PlanAction::kPublish) return;
  plan.publish = {at_most(plan.publish.batch_cpu, on_node.batch_cpu),
                  at_most(plan.publish.batch_memory, on_node.batch_memory),
                  at_most(plan.publish.mid_cpu, on_node.mid_cpu), at_most(plan.publish.mid_memory, on_node.mid_memory)};
  if (plan.origin) plan.origin = model::min(*plan.origin, origin_on_node.value_or(model::Resources{}));
}

}  // namespace tidemark::policy
