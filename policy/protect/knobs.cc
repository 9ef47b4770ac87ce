#include "policy/protect/knobs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

namespace tidemark::policy::protect {
namespace {

constexpr std::array kLadder = {Knob::kCpuBvt, Knob::kCpuQosLevel, Knob::kCpuIdle};

constexpr std::int64_t kOfflineValue = static_cast<std::int64_t>(CpuPriority::kOffline);
constexpr std::int64_t kOnlineValue = static_cast<std::int64_t>(CpuPriority::kOnline);

// Whether the intent is valid: no kernel accepts other values.
bool makes_sense(const Intent& intent) {
  switch (intent.want) {
    case Want::kCpuQuota:
    case Want::kMemoryLimit:
    case Want::kMemoryMin:
    case Want::kMemoryLow:
      return intent.value >= kNoLimit;
    case Want::kCpuShares:
      return intent.value >= 0;
    case Want::kCpus:
      return !intent.cpus.empty() && std::ranges::all_of(intent.cpus, [](std::int32_t cpu) { return cpu >= 0; });
    case Want::kCpuPriority:
      return intent.value >= kOfflineValue && intent.value <= kOnlineValue;
  }
  return false;
}

struct Target {
  Knob knob = Knob::kCpuQuota;
  std::int64_t value = 0;
};

//   bvt        the value
//   qos_level  min(value, 0)
//   idle       1 if offline, else 0
//   weight     the least if offline, else nothing
std::optional<Target> priority_target(std::int64_t value, const Capabilities& capabilities) {
  const auto rung = priority_knob(capabilities);
  const bool offline = value == kOfflineValue;
  if (rung == Knob::kCpuBvt) return Target{Knob::kCpuBvt, value};
  if (rung == Knob::kCpuQosLevel) return Target{Knob::kCpuQosLevel, std::min<std::int64_t>(value, 0)};
  if (rung == Knob::kCpuIdle) return Target{Knob::kCpuIdle, offline ? 1 : 0};
  if (offline) return Target{Knob::kCpuShares, kSharesMin};
  return std::nullopt;
}

// For a valid intent. nullopt: there is nothing to write for it.
std::optional<Target> target_of(const Intent& intent, const Capabilities& capabilities) {
  switch (intent.want) {
    case Want::kCpuQuota:
      return Target{Knob::kCpuQuota, intent.value == kNoLimit ? kNoLimit : std::max(intent.value, kQuotaMin)};
    case Want::kCpus:
      return Target{Knob::kCpusetCpus, 0};
    case Want::kCpuShares:
      return Target{Knob::kCpuShares, std::clamp(intent.value, kSharesMin, kSharesMax)};
    case Want::kCpuPriority:
      return priority_target(intent.value, capabilities);
    case Want::kMemoryLimit:
      return Target{Knob::kMemoryLimit, intent.value};
    case Want::kMemoryMin:
      return Target{Knob::kMemoryMin, intent.value};
    case Want::kMemoryLow:
      return Target{Knob::kMemoryLow, intent.value};
  }
  return std::nullopt;
}

std::vector<std::int32_t> in_order(std::vector<std::int32_t> cpus) {
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

struct Candidate {
  KnobWrite write;
  std::size_t intent = 0;
};

// The file, then its owner: the strategy by the order of kStrategies. Two intents of one strategy are a bug of it; the
// rest of the order only makes the result independent of the order of the list.
using Order = std::tuple<std::string_view, Knob, std::ptrdiff_t, std::int64_t, const std::vector<std::int32_t>&,
                         model::Reason, std::size_t>;
Order order_of(const Candidate& one) {
  const KnobWrite& write = one.write;
  const auto rank = std::ranges::find(model::kStrategies, write.strategy) - model::kStrategies.begin();
  return {write.group, write.knob, rank, write.value, write.cpus, write.reason, one.intent};
}

bool same_file(const KnobWrite& a, const KnobWrite& b) {
  return a.knob == b.knob && a.group == b.group;
}

}  // namespace

std::string_view to_string(Knob knob) {
  switch (knob) {
    case Knob::kCpuShares:
      return "cpu.shares";
    case Knob::kCpuQuota:
      return "cpu.cfs_quota_us";
    case Knob::kCpuIdle:
      return "cpu.idle";
    case Knob::kCpuBvt:
      return "cpu.bvt_warp_ns";
    case Knob::kCpuQosLevel:
      return "cpu.qos_level";
    case Knob::kCpusetCpus:
      return "cpuset.cpus";
    case Knob::kMemoryLimit:
      return "memory.limit_in_bytes";
    case Knob::kMemoryMin:
      return "memory.min";
    case Knob::kMemoryLow:
      return "memory.low";
  }
  return "unknown";
}

std::optional<Knob> priority_knob(const Capabilities& capabilities) {
  const auto* rung = std::ranges::find_if(kLadder, [&](Knob knob) { return capabilities.has(knob); });
  if (rung == kLadder.end()) return std::nullopt;
  return *rung;
}

Compiled compile(std::span<const Intent> intents, const Capabilities& capabilities) {
  Compiled out;
  std::vector<Candidate> candidates;
  for (std::size_t at = 0; at < intents.size(); ++at) {
    const Intent& intent = intents[at];
    if (!makes_sense(intent)) {
      out.unmet.push_back({at, model::Reason::kKnobRefused});
      continue;
    }
    const auto target = target_of(intent, capabilities);
    if (!target) continue;
    if (!capabilities.has(target->knob)) {
      out.unmet.push_back({at, model::Reason::kKnobMissing});
      continue;
    }
    KnobWrite write{intent.group, target->knob, target->value, {}, intent.strategy, intent.reason};
    if (target->knob == Knob::kCpusetCpus) write.cpus = in_order(intent.cpus);
    candidates.push_back({std::move(write), at});
  }
  std::ranges::sort(candidates, {}, order_of);

  std::vector<Candidate> winners;
  std::set<std::string_view> idle;
  for (Candidate& one : candidates) {
    if (!winners.empty() && same_file(winners.back().write, one.write)) {
      out.unmet.push_back({one.intent, model::Reason::kKnobOutranked});
      continue;
    }
    if (one.write.knob == Knob::kCpuIdle && one.write.value == 1) idle.insert(intents[one.intent].group);
    winners.push_back(std::move(one));
  }
  for (Candidate& one : winners) {
    // Mainline: while cpu.idle is 1 every write of a weight fails with EINVAL, in v1 and v2.
    if (one.write.knob == Knob::kCpuShares && idle.contains(one.write.group)) {
      out.unmet.push_back({one.intent, model::Reason::kKnobOutranked});
    } else {
      out.writes.push_back(std::move(one.write));
    }
  }
  std::ranges::sort(out.unmet, {}, &Unmet::intent);
  return out;
}

}  // namespace tidemark::policy::protect
