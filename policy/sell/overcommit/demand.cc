#include "policy/sell/overcommit/demand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "policy/sell/overcommit/warm_up.h"

namespace tidemark::policy::sell {
namespace {

using model::PriorityClass;
using model::Qos;
using model::Resources;

constexpr std::int64_t kDemandMilliPerByte = 1000;

bool is_active(const model::PodView& pod) {
  return pod.phase == model::PodPhase::kRunning || pod.phase == model::PodPhase::kPending;
}

// Online work: everything except batch and free.
bool is_high_priority(PriorityClass priority) {
  return priority != PriorityClass::kBatch && priority != PriorityClass::kFree;
}

// The amount of a pod if use counts.
Resources used_by(const model::PodView& pod, const model::PodUsage* usage, Resources use) {
  if (usage == nullptr) return pod.request;
  // An LSE pod owns its CPUs exclusively: no other pod can use their idle time.
  if (pod.qos == Qos::kLse) return {pod.request.cpu, use.memory};
  return use;
}

bool is_warming(const model::PodView& pod, model::Profile profile) {
  return profile == model::Profile::kTidemark && pod.warm_up && pod.warm_up->left_permille > 0;
}

// The counted use of a pod with a report; one without counts with its request.
Resources use_of(const model::PodView& pod, const model::PodUsage& usage, model::Profile profile) {
  return is_warming(pod, profile) ? warming(pod.request, usage.usage, *pod.warm_up) : usage.usage;
}

std::int64_t divided_up(std::int64_t amount, std::size_t parts) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const double quotient = std::ceil(static_cast<double>(amount) / static_cast<double>(parts));
  if (quotient >= kTwoTo63) return std::numeric_limits<std::int64_t>::max();
  if (quotient < -kTwoTo63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(quotient);
}

std::int64_t in_milli(std::int64_t bytes) {
  std::int64_t milli = 0;
  if (!__builtin_mul_overflow(bytes, kDemandMilliPerByte, &milli)) return milli;
  return bytes < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

ZoneResources larger(ZoneResources a, ZoneResources b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}

ZoneDemand divided_demand(const model::PodView& pod, const model::PodUsage* usage, std::size_t parts,
                          model::Profile profile) {
  const ZoneResources requested = divided(pod.request, parts);
  if (usage == nullptr) return {requested, requested, requested};
  const ZoneResources used = divided(use_of(pod, *usage, profile), parts);
  const ZoneResources counted = pod.qos == Qos::kLse ? ZoneResources{requested.cpu, used.memory} : used;
  return {counted, requested, larger(used, requested)};
}

void add(ZoneDemand& sum, const ZoneDemand& more) {
  sum.used += more.used;
  sum.requested += more.requested;
  sum.max_of_both += more.max_of_both;
}

// The zones of a pod's placement, and the number of parts: Koordinator divides by the number of listed zones, so that a
// zone listed twice gets half of the pod once.
struct Placement {
  std::set<std::size_t> zones;
  std::size_t parts = 0;
};

Placement placement_of(const model::PodView& pod, std::size_t zone_count) {
  Placement placement;
  for (const std::int32_t listed : pod.numa_nodes) {
    if (listed < 0 || static_cast<std::size_t>(listed) >= zone_count) continue;
    placement.zones.insert(static_cast<std::size_t>(listed));
    ++placement.parts;
  }
  return placement;
}

// The reports of pods by identity. Of two reports of one pod the last counts.
class Reported {
 public:
  explicit Reported(const std::vector<model::PodUsage>& reports) {
    by_id_.reserve(reports.size());
    for (const auto& report : reports) by_id_.push_back({&report, false});
    // Equal ones in the order of the reports, which are contiguous.
    std::sort(by_id_.begin(), by_id_.end(), [](const Entry& a, const Entry& b) {
      return a.usage->id != b.usage->id ? a.usage->id < b.usage->id : a.usage < b.usage;
    });
    // Reversed, so that the last of equal ones stays.
    const auto rest = std::unique(by_id_.rbegin(), by_id_.rend(),
                                  [](const Entry& a, const Entry& b) { return a.usage->id == b.usage->id; });
    by_id_.erase(by_id_.begin(), rest.base());
  }

  // Each report is returned once; null if there is none.
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

}  // namespace

OnlineWork online_work(const model::NodeSnapshot& node, const model::NodeMetricView& metric) {
  Reported reported(metric.pods);
  OnlineWork work;
  work.pods.reserve(node.pods.size());
  for (const auto& pod : node.pods) {
    if (!is_active(pod)) continue;
    const model::PodUsage* usage = reported.take(pod.id);
    if (is_high_priority(pod.priority)) work.pods.push_back({&pod, usage});
  }
  reported.for_each_left([&](const model::PodUsage& usage) {
    if (is_high_priority(usage.priority)) work.dangling.push_back(&usage);
  });
  return work;
}

Demand measure(const OnlineWork& work, const model::NodeMetricView& metric, model::Profile profile) {
  Demand demand;
  for (const auto& [pod, usage] : work.pods) {
    if (pod->priority == PriorityClass::kProd || pod->priority == PriorityClass::kNone) {
      demand.prod_requested += pod->request;
    }
    const Resources use = usage == nullptr ? pod->request : use_of(*pod, *usage, profile);
    const Resources used = used_by(*pod, usage, use);
    demand.used += used;
    demand.requested += pod->request;
    if (is_warming(*pod, profile)) {
      ++demand.warm_up.pods;
      if (usage == nullptr || !pod->warm_up->expected) ++demand.warm_up.by_request;
      if (usage != nullptr) {
        demand.warm_up.added += used - used_by(*pod, usage, usage->usage);
        demand.warm_up.added_to_max += max(pod->request, use) - max(pod->request, usage->usage);
      }
    }
    if (usage != nullptr) {
      demand.max_of_both += max(pod->request, use);
    } else {
      demand.has_pod_without_report = true;
      if (profile == model::Profile::kTidemark) demand.max_of_both += pod->request;
    }
  }
  for (const auto* usage : work.dangling) {
    demand.used += usage->usage;
    demand.max_of_both += usage->usage;
  }
  for (const auto& host : metric.host_applications) {
    const auto priority = model::default_priority(host.priority);
    if (priority > model::default_priority(PriorityClass::kBatch)) demand.host_above_batch += host.usage;
    if (priority > model::default_priority(PriorityClass::kMid)) demand.host_above_mid += host.usage;
  }
  return demand;
}

ZoneDemands measure_zones(const OnlineWork& work, std::size_t zone_count, model::Profile profile) {
  ZoneDemands demands;
  demands.zones.resize(zone_count);
  ZoneDemand everywhere;  // the equal part of each zone
  for (const auto& [pod, usage] : work.pods) {
    Placement placement = placement_of(*pod, zone_count);
    if (placement.parts == 0) {
      add(everywhere, divided_demand(*pod, usage, zone_count, profile));
      continue;
    }
    if (profile == model::Profile::kTidemark && placement.parts != placement.zones.size()) {
      placement.parts = placement.zones.size();
      demands.counted_once = true;
    }
    const ZoneDemand part = divided_demand(*pod, usage, placement.parts, profile);
    for (const std::size_t zone : placement.zones) add(demands.zones[zone], part);
  }
  for (const auto* usage : work.dangling) {
    const ZoneResources used = divided(usage->usage, zone_count);
    add(everywhere, {used, {}, used});
  }
  for (ZoneDemand& zone : demands.zones) add(zone, everywhere);
  return demands;
}

ZoneResources divided(const Resources& amount, std::size_t parts) {
  return {{divided_up(amount.cpu.value, parts)}, {divided_up(in_milli(amount.memory.value), parts)}};
}

}  // namespace tidemark::policy::sell
