#include "policy/protect/suppress/suppress.h"

#include <algorithm>
#include <span>
#include <utility>

#include "policy/protect/limits/conversions.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::protect {
namespace {

using base::MonotonicTime;
using model::CpuMilli;
using model::Reason;

constexpr std::int64_t kCore_milli = 1000;
constexpr std::int64_t kQuotaPerCore_us = kQuotaPerMilli_us * kCore_milli;

constexpr std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit;
}

bool pods_are_known(const SuppressObservation& seen) {
  return !seen.groups.besteffort.empty() && std::ranges::any_of(seen.tasks, [](const ObservedTask& each) {
    return each.task == nullptr || each.task->kind == model::TaskKind::kPod;
  });
}

bool lies_in_besteffort(const ObservedTask& each, const SuppressObservation& seen) {
  return each.task != nullptr && may_be_written(*each.task) && lies_below(each.task->path, seen.groups.besteffort);
}

bool shares_with_online_pods(const SuppressObservation& seen) {
  return std::ranges::any_of(seen.tasks, [&](const ObservedTask& each) {
    return lies_in_besteffort(each, seen) && each.task->kind == model::TaskKind::kPod && !is_offline(*each.task);
  });
}

std::vector<Intent> intents_of(const SuppressState& state, const SuppressObservation& seen, Reason reason,
                               std::vector<Intent> spare) {
  IntentsOver out(std::move(spare));
  if (!state.policy || seen.groups.besteffort.empty()) return out.take();
  const auto want = [&](const std::string& group) {
    const bool by_cpus = *state.policy == SuppressPolicy::kCpuset;
    Intent& intent = out.next(group, by_cpus ? Want::kCpus : Want::kCpuQuota, by_cpus ? 0 : state.quota_us);
    if (by_cpus) intent.cpus = state.cpus;
    intent.strategy = model::Strategy::kCpuSuppress;
    intent.reason = reason;
  };
  const auto want_all = [&](std::span<const std::string> groups) {
    for (const std::string& each : groups) want(each);
  };
  if (state.each) {
    for (const ObservedTask& each : seen.tasks) {
      if (lies_in_besteffort(each, seen) && is_offline(*each.task)) want(each.task->path);
    }
  } else if (*state.policy == SuppressPolicy::kCfsQuota) {
    want(seen.groups.besteffort);
  } else if (seen.kubelet_static) {
    want_all(seen.groups.containers);
  } else {
    want(seen.groups.besteffort);
    if (seen.nested_cpuset) {
      want_all(seen.groups.pods);
      want_all(seen.groups.containers);
    }
  }
  if (!state.each) share_intents(state.shares, seen, state.quota_us, out);
  std::vector<Intent> intents = out.take();
  sort_by_group(intents);
  return intents;
}

bool left_to_the_kernel(const SuppressObservation& seen, const NodeRules& rules) {
  return rules.threshold.cpu_suppress_policy == SuppressPolicy::kIdle && seen.runs_last && !seen.node_off;
}

// Only of limited CPUs.
SuppressPolicy policy_of(const NodeRules& rules) {
  const auto policy = rules.threshold.cpu_suppress_policy;
  return policy == SuppressPolicy::kIdle ? SuppressPolicy::kCfsQuota : policy;
}

class Step {
 public:
  Step(const SuppressState& before, const SuppressObservation& seen, const NodeRules& rules, MonotonicTime now,
       SuppressStep spare)
      : before_(before),
        seen_(seen),
        rules_(rules),
        now_(now),
        policy_(policy_of(rules)),
        spare_(std::move(spare.plan.intents)),
        processors_(std::move(spare.processors)),
        shares_{std::move(spare.state.shares), std::move(spare.plan.classes), std::move(spare.shares)} {
    state_.cpus = std::move(spare.state.cpus);
    plan_.cpus = std::move(spare.plan.cpus);
    state_.cpus.clear();
    plan_.cpus.clear();
  }

  SuppressStep run() {
    if (!rules_.threshold.enable && !seen_.node_off) return {};
    // Off limits all of offline work.
    const bool known = seen_.node_off ? !seen_.groups.besteffort.empty() : pods_are_known(seen_);
    if (!known) return kept(Reason::kSuppressNothingKnown);
    plan_.room = suppress_room(seen_, rules_.threshold);
    if (!seen_.node_off && !plan_.room) return kept(Reason::kSuppressUnknown);
    if (left_to_the_kernel(seen_, rules_)) return nothing_held();
    state_.policy = policy_;
    state_.grew = before_.grew;
    if (state_.grew && *state_.grew > now_) state_.grew = now_;  // nothing is gained from a clock that went back
    const auto cannot = policy_ == SuppressPolicy::kCpuset ? by_cpuset() : by_quota();
    if (cannot) return kept(*cannot);
    if (seen_.node_off) {
      plan_.reason = Reason::kSuppressNodeOff;
      state_.shares = before_.shares;  // cuts stay while it ends
    } else {
      share(held());
    }
    return finished();
  }

 private:
  CpuMilli room() const { return seen_.node_off ? CpuMilli{0} : plan_.room->room; }
  bool at_floor(std::int64_t least_milli) const {
    const auto& least = plan_.room->least;
    return room().value <= least_milli || (least && room() <= *least);
  }

  bool may_grow() const { return !state_.grew || now_ - *state_.grew >= kGrowthGapMin; }
  // The next value towards `wanted` with the step size `step`. `found` < `wanted`.
  std::int64_t grown(std::int64_t found, std::int64_t wanted, std::int64_t step) {
    if (!may_grow()) {
      plan_.reason = Reason::kSuppressSlewed;
      return found;
    }
    if (wanted - found > step) plan_.reason = Reason::kSuppressSlewed;
    state_.grew = now_;
    return std::min(wanted, found + step);
  }

  // Why it cannot be decided; nullopt: it was.
  std::optional<Reason> by_cpuset() {
    const OfflinePools& pools = offline_pools(seen_, processors_);
    plan_.candidates = pools.size();
    // With a static CPU manager the besteffort cgroup has more than the containers: the last decision counts.
    const bool remembered = seen_.kubelet_static && before_.policy == SuppressPolicy::kCpuset && !before_.cpus.empty();
    if (remembered) {
      plan_.found = static_cast<std::int64_t>(before_.cpus.size());
    } else if (seen_.besteffort_cpus) {
      plan_.found = static_cast<std::int64_t>(seen_.besteffort_cpus->size());
    }
    if (seen_.processors.empty() || (!plan_.found && !seen_.node_off)) return Reason::kSuppressUnknown;
    if (pools.size() == 0) return Reason::kSuppressAtFloor;  // other work has all of them
    const std::int64_t wanted = std::max(rounded_up(room().value, kCore_milli), kSuppressCpusMin);
    plan_.wanted = wanted;
    std::int64_t n = std::min(wanted, pools.size());
    if (!seen_.node_off) {
      plan_.reason = at_floor(kSuppressCpusMin * kCore_milli) ? Reason::kSuppressAtFloor : Reason::kSuppressUnderLine;
      const std::int64_t found = *plan_.found;
      const std::int64_t least = std::min(kSuppressCpusMin, pools.size());
      const std::int64_t band = plan_.room->capacity.value * kSuppressBand_percent / 100;
      const auto processors = static_cast<std::int64_t>(seen_.processors.size());
      if (n > found && found >= least && room().value - found * kCore_milli < band) {
        plan_.reason = Reason::kSuppressSmallStep;
        n = found;
      } else if (n > found) {
        n = std::max(grown(found, n, rounded_up(processors * kSuppressGrowth_percent, 100)), least);
      }
    }
    state_.cpus = choose_processors(processors_, n);
    return std::nullopt;
  }

  std::optional<Reason> by_quota() {
    plan_.found = before_.each ? std::optional(before_.quota_us) : seen_.besteffort_quota_us;
    const std::int64_t wanted = std::max(room().value * kQuotaPerMilli_us, kSuppressQuotaMin_us);
    plan_.wanted = wanted;
    state_.quota_us = wanted;
    state_.each = seen_.node_off && shares_with_online_pods(seen_);
    if (seen_.node_off) return std::nullopt;
    if (!plan_.found) return Reason::kSuppressUnknown;
    const bool floor = at_floor(kSuppressQuotaMin_us / kQuotaPerMilli_us);
    plan_.reason = floor ? Reason::kSuppressAtFloor : Reason::kSuppressUnderLine;
    if (*plan_.found <= 0) return std::nullopt;  // there was none: nothing grows
    const std::int64_t all = rounded_up(plan_.room->capacity.value, kCore_milli) * kQuotaPerCore_us;
    const std::int64_t found = *plan_.found;
    const std::int64_t moved = std::max(wanted, found) - std::min(wanted, found);
    if (moved != 0 && moved < all * kSuppressBand_percent / 100 && wanted != kSuppressQuotaMin_us) {
      plan_.reason = Reason::kSuppressSmallStep;
      state_.quota_us = std::max(found, kSuppressQuotaMin_us);
    } else if (wanted > found) {
      state_.quota_us = std::max(grown(found, wanted, all * kSuppressGrowth_percent / 100), kSuppressQuotaMin_us);
    }
    return std::nullopt;
  }

  CpuMilli held() const {
    if (policy_ == SuppressPolicy::kCfsQuota) return {state_.quota_us / kQuotaPerMilli_us};
    return {static_cast<std::int64_t>(state_.cpus.size()) * kCore_milli};
  }

  void share(CpuMilli among_all) {
    if (!rules_.word) return;
    shares_ = class_shares(before_.shares, seen_, rules_.word->classes, among_all, std::move(shares_));
    state_.shares = std::move(shares_.state);
    plan_.classes = std::move(shares_.classes);
  }

  // Classes share by weight, none is cut by a quota: each is listed and has what it wants as far as possible.
  SuppressStep nothing_held() {
    const SuppressRoom& room = *plan_.room;
    const CpuMilli others = room.online_pods + room.online_applications + room.system_part();
    plan_.reason = Reason::kSuppressRunsLast;
    plan_.left = std::max(room.capacity - others, CpuMilli{kSuppressQuotaMin_us / kQuotaPerMilli_us});
    share(room.capacity + room.capacity);
    state_.shares = {};
    for (ClassShare& each : plan_.classes) {
      each.share = each.wants;
      each.cut = false;
    }
    return finished();
  }

  SuppressStep kept(Reason reason) {
    state_ = before_;
    plan_.reason = reason;
    plan_.holds = true;
    plan_.wanted.reset();
    if (before_.policy != policy_) plan_.found.reset();  // it would be in the other one's unit
    return finished();
  }

  SuppressStep finished() {
    plan_.policy = state_.policy;
    plan_.cpus = state_.cpus;
    plan_.quota_us = state_.quota_us;
    plan_.each = state_.each;
    plan_.intents = intents_of(state_, seen_, plan_.reason, std::move(spare_));
    return {std::move(state_), std::move(plan_), std::move(processors_), std::move(shares_.memory)};
  }

  const SuppressState& before_;
  const SuppressObservation& seen_;
  const NodeRules& rules_;
  const MonotonicTime now_;
  const SuppressPolicy policy_;
  std::vector<Intent> spare_;
  ProcessorMemory processors_;
  SharesStep shares_;  // reused from an earlier result
  SuppressState state_;
  SuppressPlan plan_;
};

}  // namespace

SuppressStep suppress(const SuppressState& before, const SuppressObservation& seen, const NodeRules& rules,
                      MonotonicTime now, SuppressStep spare) {
  return Step(before, seen, rules, now, std::move(spare)).run();
}

}  // namespace tidemark::policy::protect
