#include "policy/protect/reaction/reaction.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/protect/limits/conversions.h"

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;

constexpr std::int64_t kMilliPerCore = 1000;
constexpr std::array<std::int64_t, kReactionStepsMax - 1> kPartsOfNode = {2, 4, 8};

constexpr std::int64_t up(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit;
}

ReactionReadiness readiness_of(const SuppressPlan& decided, const SuppressObservation& seen, std::int64_t in_force) {
  if (seen.node_off) return ReactionReadiness::kNodeOff;
  if (!decided.policy) return ReactionReadiness::kNothingHeld;
  if (decided.holds || !decided.room) return ReactionReadiness::kNotKnown;
  if (decided.each || in_force <= 0) return ReactionReadiness::kNothingHeld;
  if (*decided.policy == SuppressPolicy::kCpuset && seen.kubelet_static) return ReactionReadiness::kContainers;
  return ReactionReadiness::kReady;
}

// Reuses the present texts: each second they are the same.
void put_at(std::vector<std::string>& texts, std::size_t at, std::string_view text) {
  if (at == texts.size()) texts.emplace_back();
  texts[at] = text;
}

std::string_view above(std::string_view group) {
  const auto slash = group.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : group.substr(0, slash);
}

// Selects the cgroups whose use is counted, and the part of it that the decision knew. False: there are too many
// cgroups to read.
bool take_groups(const SuppressObservation& seen, ReactionPlan& out) {
  const std::string& besteffort = seen.groups.besteffort;
  std::size_t less = 0;
  const auto leave_out = [&](const std::string& group) { put_at(out.less, less++, group); };
  out.whole = above(besteffort);
  out.known = {};
  leave_out(besteffort);
  for (const ObservedTask& each : seen.tasks) {
    const bool inside = each.task == nullptr || lies_below(each.task->path, out.whole);
    if (!inside || (each.task != nullptr && lies_below(each.task->path, besteffort))) continue;
    if (counts_as_online(each.task, besteffort)) {
      out.known += std::max(each.used.value_or(CpuMilli{0}), CpuMilli{0});
    } else if (1 + less == kReactionCountersMax) {
      return false;
    } else {
      leave_out(each.task->path);
    }
  }
  out.less.resize(less);
  return true;
}

// Selects the cgroups to write: for cpusets all cgroups with their parents, deepest first.
bool take_written(const SuppressObservation& seen, ReactionPlan& out) {
  std::size_t count = 0;
  if (out.policy == SuppressPolicy::kCpuset && seen.nested_cpuset) {
    if (seen.groups.containers.size() + seen.groups.pods.size() >= kReactionGroupsMax) return false;
    for (const auto* list : {&seen.groups.containers, &seen.groups.pods}) {
      for (const std::string& each : *list) put_at(out.groups, count++, each);
    }
  }
  put_at(out.groups, count++, seen.groups.besteffort);
  out.groups.resize(count);
  return true;
}

// A v1 kernel refuses a quota below one of a child cgroup: tasks of classes that are cut.
std::int64_t largest_inside(const SuppressPlan& decided, const SuppressObservation& seen) {
  std::int64_t out = 0;
  if (!seen.nested_quota) return out;
  for (const Intent& each : decided.intents) {
    const bool quota = each.want == Want::kCpuQuota && lies_below(each.group, seen.groups.besteffort);
    if (quota) out = std::max(out, each.value);
  }
  return out;
}

// The steps: amounts of one kind.
struct Reading {
  std::int64_t node = 0;   // all of it
  std::int64_t least = 0;  // that offline work keeps
  std::int64_t floor = 0;  // the lowest value that the kernel accepts now
  CpuMilli milli(std::int64_t amount, SuppressPolicy policy) const {
    return {policy == SuppressPolicy::kCpuset ? amount * kMilliPerCore : amount / kQuotaPerMilli_us};
  }
};

Reading measure_of(const SuppressPlan& decided, const SuppressObservation& seen, SuppressPolicy policy) {
  const std::int64_t least = decided.room->least.value_or(CpuMilli{0}).value;
  if (policy == SuppressPolicy::kCpuset) {
    const std::int64_t cpus =
        std::min(std::max(up(least, kMilliPerCore), kSuppressCpusMin), decided.candidates.value_or(0));
    return {std::ssize(seen.processors), cpus, cpus};
  }
  const std::int64_t quota_us = std::max(least * kQuotaPerMilli_us, kSuppressQuotaMin_us);
  const std::int64_t node_us = up(decided.room->capacity.value, kMilliPerCore) * kMilliPerCore * kQuotaPerMilli_us;
  return {node_us, quota_us, std::max(quota_us, largest_inside(decided, seen))};
}

//   rise of the first   left − (in force − a tenth of the node)
//   rise of the next    left − what the one before leaves, no less than the first's
void take_steps(const SuppressPlan& decided, const SuppressObservation& seen, ReactionPlan& out) {
  const SuppressRoom& room = *decided.room;
  const Reading measure = measure_of(decided, seen, out.policy);
  const CpuMilli left = room.line - room.online_pods - room.online_applications - room.system_part();
  const CpuMilli worth{room.capacity.value * kReactionRise_percent / 100};
  const CpuMilli first = std::max(left - measure.milli(out.in_force, out.policy) + worth, std::max(worth, CpuMilli{1}));
  std::size_t count = 0;
  const auto add = [&](std::int64_t amount) {
    const std::int64_t wider = count == 0 ? out.in_force : out.steps[count - 1].amount;
    if (amount <= 0 || amount < measure.floor || amount >= wider) return;
    const std::vector<std::int32_t>* cpus = nullptr;
    if (out.policy == SuppressPolicy::kCpuset) {
      offline_pools(seen, out.memory[count]);
      cpus = &choose_processors(out.memory[count], amount);
      // CPUs outside the set in force would also have to be written from the top down.
      if (!std::ranges::includes(count == 0 ? decided.cpus : out.steps[count - 1].cpus, *cpus)) return;
    }
    if (count == out.steps.size()) out.steps.emplace_back();
    ReactionStep& step = out.steps[count];
    step.rise = count == 0 ? first : std::max(first, left - measure.milli(wider, out.policy) + CpuMilli{1});
    step.amount = amount;
    step.cpus.clear();
    if (cpus != nullptr) step.cpus = *cpus;
    ++count;
  };
  for (const std::int64_t part : kPartsOfNode) add(measure.node / part);
  add(measure.least);
  out.steps.resize(count);
}

}  // namespace

std::string_view to_string(ReactionReadiness readiness) {
  switch (readiness) {
    case ReactionReadiness::kReady:
      return "ready";
    case ReactionReadiness::kNothingHeld:
      return "nothing is limited";
    case ReactionReadiness::kNodeOff:
      return "the node is off";
    case ReactionReadiness::kNotKnown:
      return "the room under the threshold is unknown";
    case ReactionReadiness::kContainers:
      return "each container has its own limit";
    case ReactionReadiness::kNothingLess:
      return "no step is tighter than the limits in force";
    case ReactionReadiness::kTooManyGroups:
      return "too many cgroups";
  }
  return "unknown";
}

ReactionPlan plan_reaction(const SuppressPlan& decided, const SuppressObservation& seen, std::int64_t in_force,
                           ReactionPlan spare) {
  ReactionPlan out = std::move(spare);
  out.readiness = readiness_of(decided, seen, in_force);
  if (out.readiness != ReactionReadiness::kReady) return out;
  if (above(seen.groups.besteffort).empty()) {
    out.readiness = ReactionReadiness::kNotKnown;
    return out;
  }
  out.policy = *decided.policy;
  out.in_force = in_force;
  if (!take_groups(seen, out) || !take_written(seen, out)) {
    out.readiness = ReactionReadiness::kTooManyGroups;
    return out;
  }
  take_steps(decided, seen, out);
  if (out.steps.empty()) out.readiness = ReactionReadiness::kNothingLess;
  return out;
}

const ReactionStep* step_for(std::span<const ReactionStep> steps, CpuMilli risen) {
  const auto after = std::ranges::upper_bound(steps, risen, {}, &ReactionStep::rise);
  return after == steps.begin() ? nullptr : &*std::prev(after);
}

}  // namespace tidemark::policy::protect
