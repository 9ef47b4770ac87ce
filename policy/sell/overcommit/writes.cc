#include "policy/sell/overcommit/writes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace tidemark::policy::sell {
namespace {

using model::Reason;

// The comparison is in thousandths and in doubles, as in Koordinator.
bool differs(double old_milli, double new_milli, double threshold) {
  return std::abs(new_milli - old_milli) > old_milli * threshold;
}

// nullopt if the pair needs no write.
template <class Amount>
std::optional<Reason> difference(std::optional<Amount> old, std::optional<Amount> wanted, double threshold) {
  if (!old && !wanted) return std::nullopt;
  if (!old) return Reason::kWriteAppears;
  if (!wanted) return Reason::kWriteDisappears;
  const bool moved =
      differs(static_cast<double>(old->value) * 1000, static_cast<double>(wanted->value) * 1000, threshold);
  return moved ? std::optional(Reason::kWriteMoved) : std::nullopt;
}

template <class Amount>
bool is_cut(const std::optional<Amount>& old, const std::optional<Amount>& wanted) {
  if (!old || !wanted || *wanted >= *old) return false;
  const __int128 least = static_cast<__int128>(old->value) * kCutMinPermille / 1000;
  return static_cast<__int128>(old->value) - wanted->value > least;
}

bool is_due(std::optional<base::Duration> since_write, WriteThresholds thresholds) {
  if (!since_write) return true;
  const auto whole_seconds = std::chrono::floor<std::chrono::seconds>(*since_write);
  const bool partly_over = *since_write > whole_seconds;
  const std::int64_t age_s = whole_seconds.count();
  return age_s > thresholds.refresh_s || (age_s == thresholds.refresh_s && partly_over);
}

bool normalization_differs(const model::NodeSnapshot& node, const NormalizationPlan& plan, model::Profile profile) {
  if (!plan.annotate) return false;
  if (!node.normalization_annotation) return true;
  if (profile == model::Profile::kTidemark) return *node.normalization_annotation != ratio_text(*plan.ratio_percent);
  constexpr double kEnough = 0.01;
  const auto carried = parse_ratio(*node.normalization_annotation);
  const double wanted = static_cast<double>(*plan.ratio_percent) / 100;
  return !carried || *carried > wanted + kEnough || *carried < wanted - kEnough;
}

bool amplification_differs(const model::NodeSnapshot& node, const AmplificationPlan& plan) {
  switch (plan.action) {
    case AnnotationAction::kKeep:
      return false;
    case AnnotationAction::kSet:
      return node.amplification_annotation != plan.text;
    case AnnotationAction::kRemove:
      return node.amplification_annotation.has_value();
  }
  return false;
}

enum class ZoneCuts : std::uint8_t {
  kAsGrowth,  // as in Koordinator
  kAtOnce,    // those that would be worth a write of the node
  kAny,       // the zones carry more than their node
};

// Any of the values, capacity or available too, because readers may use it.
template <class Fine>
ZoneCuts cuts_of(const model::TopologyView& topology,
                 std::optional<model::ZoneAmounts<Fine>> model::ZoneView::* resource,
                 const std::optional<model::Resources>& follow, std::int64_t of_node) {
  if (!follow) return ZoneCuts::kAsGrowth;
  __int128 sum = 0;
  for (const model::ZoneView& zone : topology.zones) {
    const auto& carried = zone.*resource;
    if (!carried) continue;
    const Fine most = std::max({carried->capacity, carried->allocatable, carried->available});
    sum += std::max<std::int64_t>(most.value, 0);
  }
  constexpr __int128 kFine = 1000;  // of a zone's unit in one of the node's
  return sum > kFine * std::max<std::int64_t>(of_node, 0) ? ZoneCuts::kAny : ZoneCuts::kAtOnce;
}

// The values of one resource of a zone to write; nullopt: none.
template <class Fine>
std::optional<ZoneChange> zone_change(const std::optional<model::ZoneAmounts<Fine>>& carried, Fine wanted, bool all,
                                      ZoneCuts cuts, double threshold) {
  if (!carried) return ZoneChange{0, false, true, true, true, true};
  const auto moved = [&](Fine old) {
    if (all) return old != wanted;
    if (cuts == ZoneCuts::kAny && wanted < old) return true;
    if (cuts == ZoneCuts::kAtOnce && is_cut(std::optional(old), std::optional(wanted))) return true;
    return differs(static_cast<double>(old.value), static_cast<double>(wanted.value), threshold);
  };
  const ZoneChange change{
      0, false, false, moved(carried->capacity), moved(carried->allocatable), moved(carried->available)};
  if (!change.capacity && !change.allocatable && !change.available) return std::nullopt;
  return change;
}

}  // namespace

WriteDecision needs_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted,
                          std::optional<base::Duration> since_write, WriteThresholds thresholds) {
  if (!since_write) return {true, Reason::kWriteFirst};
  const double threshold = thresholds.difference;
  for (const auto reason : {difference(on_node.batch_cpu, wanted.batch_cpu, threshold),
                            difference(on_node.batch_memory, wanted.batch_memory, threshold),
                            difference(on_node.mid_cpu, wanted.mid_cpu, threshold),
                            difference(on_node.mid_memory, wanted.mid_memory, threshold)}) {
    if (reason) return {true, *reason};
  }
  if (is_due(since_write, thresholds)) return {true, Reason::kWriteRefresh};
  return {false, Reason::kWriteNotNeeded};
}

WriteDecision needs_cut_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted) {
  const bool cut = is_cut(on_node.batch_cpu, wanted.batch_cpu) || is_cut(on_node.batch_memory, wanted.batch_memory) ||
                   is_cut(on_node.mid_cpu, wanted.mid_cpu) || is_cut(on_node.mid_memory, wanted.mid_memory);
  return cut ? WriteDecision{true, Reason::kWriteCut} : WriteDecision{};
}

WriteDecision needs_ratio_write(const model::NodeSnapshot& node, const OvercommitPlan& plan, model::Profile profile) {
  if (normalization_differs(node, plan.normalization, profile) || amplification_differs(node, plan.amplification)) {
    return {true, Reason::kWriteRatio};
  }
  return {};
}

ZoneWriteDecision needs_zone_write(const model::TopologyView& topology, const ZonesPlan& wanted,
                                   std::optional<base::Duration> since_write, WriteThresholds thresholds,
                                   std::optional<model::Resources> follow) {
  ZoneWriteDecision decision;
  if (wanted.zones.size() != topology.zones.size()) return decision;  // nothing is wanted of them
  const bool all = is_due(since_write, thresholds);
  const bool clears = wanted.reason == Reason::kZonesCleared;
  const ZoneCuts cpu = cuts_of(topology, &model::ZoneView::batch_cpu, follow, follow ? follow->cpu.value : 0);
  const ZoneCuts memory = cuts_of(topology, &model::ZoneView::batch_memory, follow, follow ? follow->memory.value : 0);
  decision.above_node = cpu == ZoneCuts::kAny || memory == ZoneCuts::kAny;
  bool added = false;
  for (std::size_t i = 0; i < wanted.zones.size(); ++i) {
    const model::ZoneView& carried = topology.zones[i];
    const auto take = [&](std::optional<ZoneChange> change, bool is_cpu) {
      // A zone without values already shows that it offers nothing.
      if (!change || (change->added && clears)) return;
      change->zone = i;
      change->is_cpu = is_cpu;
      added = added || change->added;
      decision.changes.push_back(*change);
    };
    const double threshold = thresholds.difference;
    take(zone_change(carried.batch_cpu, wanted.zones[i].batch_cpu, all, cpu, threshold), true);
    take(zone_change(carried.batch_memory, wanted.zones[i].batch_memory, all, memory, threshold), false);
  }
  if (!since_write) {
    decision.write = {true, Reason::kWriteFirst};
  } else if (!decision.changes.empty() && !all) {
    decision.write = {true, added ? Reason::kWriteAppears : Reason::kWriteMoved};
  } else if (all) {
    decision.write = {true, Reason::kWriteRefresh};
  }
  return decision;
}

ZoneWriteDecision needs_zone_cut(const model::TopologyView& topology, const ZonesPlan& wanted,
                                 model::Resources carried) {
  WriteThresholds never;
  never.refresh_s = std::numeric_limits<std::int64_t>::max();
  never.difference = std::numeric_limits<double>::infinity();
  auto decision = needs_zone_write(topology, wanted, base::Duration(0), never, carried);
  std::erase_if(decision.changes, [](const ZoneChange& change) { return change.added; });
  decision.write = decision.changes.empty() ? WriteDecision{} : WriteDecision{true, Reason::kWriteCut};
  return decision;
}

}  // namespace tidemark::policy::sell
