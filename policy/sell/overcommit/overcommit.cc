#include "policy/sell/overcommit/overcommit.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "policy/sell/overcommit/demand.h"

namespace tidemark::policy::sell {
namespace {

using model::CalculatePolicy;
using model::CpuMilli;
using model::MemoryBytes;
using model::PriorityClass;
using model::Reason;
using model::Resources;

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

// nullopt if the annotation cannot be read.
std::optional<Resources> held_by_third_parties(const model::NodeSnapshot& node) {
  if (!node.third_party) return std::nullopt;
  Resources held;
  for (const auto& allocation : *node.third_party) {
    if (allocation.priority != PriorityClass::kBatch) continue;
    // A negative allocation would sell more than the node has to sell.
    held += max(allocation.resources, Resources());
  }
  return held;
}

// The amount subtracted at the last write of the node: what batch may use less the offer to Kubernetes.
Resources last_held_by_third_parties(const model::NodeSnapshot& node) {
  const Resources origin = node.origin.value_or(Resources());
  const Resources published{node.published.batch_cpu.value_or(CpuMilli()),
                            node.published.batch_memory.value_or(MemoryBytes())};
  return max(origin - published, Resources());
}

template <class Amount>
void take_off(Amount third_party, bool readable, BatchTerms<Amount>& terms) {
  terms.third_party = third_party;
  if (!readable) {
    terms.third_party_by = Reason::kThirdPartyUnreadable;
  } else if (third_party > Amount{0}) {
    const bool all = third_party >= terms.origin;
    terms.third_party_by = all ? Reason::kThirdPartyTakesAll : Reason::kThirdPartySubtracted;
  }
  terms.published = not_negative(terms.origin - third_party);
}

template <class Amount>
BatchRules rules_of(const Side<Amount>& side) {
  return {side.policy, side.reclaim_threshold_percent, side.batch_threshold_percent};
}

// The value of one CPU of this machine, in milli-cores, rounded up.
CpuMilli normalized(CpuMilli cpu, std::int64_t ratio_percent) {
  constexpr std::int64_t kMicroPerMilli = 1000;
  std::int64_t micro = 0;
  if (__builtin_mul_overflow(cpu.value, kMicroPerMilli, &micro)) return CpuMilli::max_value();
  micro = times(micro, static_cast<double>(ratio_percent) / kRatioNone);
  return {micro / kMicroPerMilli + (micro % kMicroPerMilli > 0 ? 1 : 0)};
}

template <class Amount>
BatchTerms<Amount> batch(const model::NodeSnapshot& node, const model::NodeMetricView& metric, const Demand& demand,
                         const Side<Amount>& side) {
  const Resources system_used = metric.system_usage + demand.host_above_batch;
  BatchTerms<Amount> terms;
  static_cast<WaterLineTerms<Amount>&>(terms) =
      under_water_line<Amount>({node.capacity.*side.of, system_used.*side.of, kubelet_reservation(node, side),
                                node.reserved_by_annotation.*side.of, demand.used.*side.of, demand.requested.*side.of,
                                demand.max_of_both.*side.of},
                               rules_of(side));
  terms.origin = terms.allowed;
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

// True if the offer depends on unreadable settings or annotations of the node, or on impossible (negative)
// measurements.
bool is_unsure(const model::NodeSnapshot& node, const model::NodeMetricView& metric, const NodeStrategy& strategy) {
  const auto unreadable = [](Reason reason) { return reason != Reason::kConfigEnabledBelow; };
  return node.reservation_unreadable || !node.third_party || metric.below_zero ||
         std::any_of(strategy.ignored.begin(), strategy.ignored.end(), unreadable);
}

// The sides with the limits that `profile: tidemark` sets.
template <class Amount>
Side<Amount> within_capacity(Side<Amount> side, std::vector<Reason>& safeguards) {
  constexpr std::int64_t kWhole = 100;
  if (side.reclaim_threshold_percent > kWhole) {
    side.reclaim_threshold_percent = kWhole;
    if (safeguards.empty()) safeguards.push_back(Reason::kSafeMargin);
  }
  return side;
}

void decide_ratios(const model::NodeSnapshot& node, const NodeStrategy& strategy, OvercommitPlan& plan) {
  const auto annotation = [](const std::optional<std::string>& text) {
    return text ? std::optional<std::string_view>(*text) : std::nullopt;
  };
  const bool is_safe = strategy.profile == model::Profile::kTidemark;
  if (strategy.plugins.cpu_normalization) {
    plan.normalization =
        normalization({strategy.normalization.get(), strategy.normalization_switch,
                       node.topology ? &*node.topology : nullptr, annotation(node.normalization_annotation)},
                      strategy.profile);
    if (plan.normalization.ratio_percent && !plan.normalization.annotate) {
      plan.safeguards.push_back(Reason::kSafeRatioKept);
    }
  }
  if (strategy.plugins.resource_amplification) {
    plan.amplification =
        amplification({strategy.amplification.get(), annotation(node.normalization_annotation)}, strategy.profile);
    const bool kept = plan.amplification.action == AnnotationAction::kKeep;
    if (is_safe && kept && node.amplification_annotation) plan.safeguards.push_back(Reason::kSafeAmplificationKept);
  }
}

// Values of a plugin that is off stay as they are on the node.
void leave_to_others(const model::NodeSnapshot& node, const PluginSet& plugins, OvercommitPlan& plan) {
  if (!plugins.batch_resource && !plugins.mid_resource) {
    OvercommitPlan nothing;
    nothing.reason = Reason::kPluginsOff;
    nothing.normalization = plan.normalization;
    nothing.amplification = std::move(plan.amplification);
    nothing.safeguards = std::move(plan.safeguards);
    plan = std::move(nothing);
    return;
  }
  if (!plugins.batch_resource) {
    plan.publish.batch_cpu = node.published.batch_cpu;
    plan.publish.batch_memory = node.published.batch_memory;
    plan.origin.reset();
    plan.zones = {Reason::kBatchPluginOff, {}, false};
  }
  if (!plugins.mid_resource) {
    plan.publish.mid_cpu = node.published.mid_cpu;
    plan.publish.mid_memory = node.published.mid_memory;
  }
}

OvercommitPlan reset(Reason reason, const model::NodeSnapshot& node, const NodeStrategy& strategy) {
  OvercommitPlan plan;
  plan.action = PlanAction::kReset;
  plan.reason = reason;
  plan.origin = Resources();
  plan.zones = reset_zones(node.topology, strategy.profile);
  return plan;
}

void publish(const model::NodeSnapshot& node, const model::NodeMetricView& metric, const NodeStrategy& strategy,
             OvercommitPlan& plan) {
  const bool is_safe = strategy.profile == model::Profile::kTidemark;
  auto cpu = cpu_side(strategy.values);
  auto memory = memory_side(strategy.values);
  if (is_safe) {
    cpu = within_capacity(cpu, plan.safeguards);
    memory = within_capacity(memory, plan.safeguards);
    if (strategy.values.cpu_calculate_policy == CalculatePolicy::kRequest) {
      cpu.policy = CalculatePolicy::kMaxUsageRequest;
      plan.safeguards.push_back(Reason::kSafeCpuRequest);
    }
  }
  const bool asks_for_larger =
      cpu.policy == CalculatePolicy::kMaxUsageRequest || memory.policy == CalculatePolicy::kMaxUsageRequest;

  const OnlineWork work = online_work(node, metric);
  const Demand demand = measure(work, metric, strategy.profile);
  if (is_safe && demand.has_pod_without_report && asks_for_larger) {
    plan.safeguards.push_back(Reason::kSafePodWithoutReport);
  }
  plan.warm_up = demand.warm_up;
  if (demand.warm_up.pods > demand.warm_up.by_request) plan.safeguards.push_back(Reason::kSafeWarmUpProfile);
  if (demand.warm_up.by_request > 0) plan.safeguards.push_back(Reason::kSafeWarmUpRequest);

  plan.action = PlanAction::kPublish;
  plan.reason = Reason::kPublished;
  plan.batch_cpu = batch(node, metric, demand, cpu);
  plan.batch_memory = batch(node, metric, demand, memory);
  const auto ratio = plan.normalization.ratio_percent;
  if (ratio && *ratio > kRatioNone) {
    plan.batch_cpu.ratio_percent = ratio;
    plan.batch_cpu.origin = normalized(plan.batch_cpu.allowed, *ratio);
  }

  auto third_party = held_by_third_parties(node);
  const bool readable = third_party.has_value();
  if (!readable && is_safe) {
    third_party = last_held_by_third_parties(node);
    plan.safeguards.push_back(Reason::kSafeThirdPartyKept);
  }
  const Resources taken_off = third_party.value_or(Resources());
  take_off(taken_off.cpu, readable, plan.batch_cpu);
  take_off(taken_off.memory, readable, plan.batch_memory);

  plan.mid_cpu = mid(node, metric, demand, strategy.values, cpu);
  plan.mid_memory = mid(node, metric, demand, strategy.values, memory);
  plan.publish = {plan.batch_cpu.published, plan.batch_memory.published, plan.mid_cpu.published,
                  plan.mid_memory.published};
  plan.origin = Resources{plan.batch_cpu.origin, plan.batch_memory.origin};

  const ZoneShares shares{metric.system_usage + demand.host_above_batch,
                          {kubelet_reservation(node, cpu), kubelet_reservation(node, memory)},
                          node.reserved_by_annotation,
                          is_safe ? taken_off : Resources()};
  plan.zones = plan_zones(node.topology, work, shares, rules_of(cpu), rules_of(memory), ratio, strategy.profile);
  if (plan.zones.counted_once) plan.safeguards.push_back(Reason::kSafeNumaOnce);
  if (!plan.zones.zones.empty() && shares.third_party != Resources()) {
    plan.safeguards.push_back(Reason::kSafeZoneThirdParty);
  }
  if (is_safe && is_unsure(node, metric, strategy)) {
    keep_cuts_only(plan, node);
    plan.safeguards.push_back(Reason::kSafeCutsOnly);
  }
}

}  // namespace

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

OvercommitPlan overcommit(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now) {
  if (!strategy.enabled) {
    OvercommitPlan plan = reset(strategy.reason, node, strategy);
    // The normalization annotation stays; amplification goes with the rest.
    if (strategy.plugins.resource_amplification) {
      plan.amplification.reason = strategy.reason;
      plan.amplification.action = AnnotationAction::kRemove;
    }
    leave_to_others(node, strategy.plugins, plan);
    return plan;
  }
  if (node.metric && node.metric->update_time && !node.metric->has_node_metric &&
      !is_stale(*node.metric->update_time, strategy.values.degrade_time_minutes, now)) {
    return OvercommitPlan();
  }

  OvercommitPlan plan;
  if (!node.metric) {
    plan = reset(Reason::kMetricMissing, node, strategy);
  } else if (!node.metric->update_time) {
    plan = reset(Reason::kMetricWithoutTime, node, strategy);
  } else if (is_stale(*node.metric->update_time, strategy.values.degrade_time_minutes, now)) {
    plan = reset(Reason::kMetricStale, node, strategy);
  }
  decide_ratios(node, strategy, plan);
  if (plan.action != PlanAction::kReset) publish(node, *node.metric, strategy, plan);
  leave_to_others(node, strategy.plugins, plan);
  return plan;
}

namespace {

template <class Amount>
std::optional<Amount> at_most(const std::optional<Amount>& wanted, const std::optional<Amount>& carried) {
  if (!wanted || !carried) return std::nullopt;
  return std::min(*wanted, *carried);
}

}  // namespace

void keep_cuts_only(OvercommitPlan& plan, const model::NodeSnapshot& node) {
  if (plan.action != PlanAction::kPublish) return;
  plan.publish = {at_most(plan.publish.batch_cpu, node.published.batch_cpu),
                  at_most(plan.publish.batch_memory, node.published.batch_memory),
                  at_most(plan.publish.mid_cpu, node.published.mid_cpu),
                  at_most(plan.publish.mid_memory, node.published.mid_memory)};
  if (plan.origin) plan.origin = model::min(*plan.origin, node.origin.value_or(model::Resources{}));
  for (std::size_t i = 0; i < plan.zones.zones.size(); ++i) {
    ZonePlan& zone = plan.zones.zones[i];
    const model::ZoneView& carried = node.topology->zones[i];
    zone.batch_cpu = std::min(zone.batch_cpu, carried.batch_cpu ? carried.batch_cpu->allocatable : model::CpuMicro());
    zone.batch_memory =
        std::min(zone.batch_memory, carried.batch_memory ? carried.batch_memory->allocatable : model::MemoryMilli());
  }
}

}  // namespace tidemark::policy::sell
