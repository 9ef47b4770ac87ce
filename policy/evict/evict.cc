#include "policy/evict/evict.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "policy/evict/ladder.h"

namespace tidemark::policy::evict {
namespace {

using base::Duration;
using base::MonotonicTime;
using base::WallTime;
using model::Reason;

constexpr int kNoneStays = INT_MAX;

std::int64_t less(std::int64_t amount, std::int64_t by) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(amount, std::max<std::int64_t>(by, 0), &out) ? INT64_MIN : out;
}

bool is_used(Measure measure) {
  return measure == Measure::kCpuUsed || measure == Measure::kMemoryUsed;
}

// A gap of this step, and the part of it that no leaving task covers.
struct Missing {
  Gap gap;
  std::int64_t left = 0;
  bool asked = false;                    // a task was asked for it
  Reason held = Reason::kEvictNoVictim;  // why no other task was
};

class Step {
 public:
  Step(const EvictState& before, const EvictObservation& seen, const protect::NodeRules& rules, EvictSwitches switches,
       MonotonicTime now, WallTime wall)
      : seen_(seen),
        rules_(rules),
        switches_(switches),
        now_(now),
        wall_(wall),
        grace_(std::clamp(rules.evict_settings().grace, model::kEvictGraceMin, model::kEvictGraceMax)),
        state_(before),
        ladder_(state_, plan_, seen, grace_, now, wall) {}

  EvictStep run() {
    ladder_.look();
    std::optional<EvictState> noted;
    if (!seen_.may_act) noted = state_;
    const Gaps gaps = gaps_of(seen_.node, seen_.tasks, rules_, switches_);
    EvictSwitches above;
    for (const Gap& each : gaps.gaps) above.set(each.feature);
    ladder_.climb(above);
    choose(gaps);
    return {noted ? *std::move(noted) : std::move(state_), std::move(plan_)};
  }

 private:
  void choose(const Gaps& gaps) {
    for (const Gap& each : gaps.gaps) missing_.push_back({each, each.amount});
    if (!missing_.empty()) count_on_the_way();
    // The pauses before this step: the victims of one gap do not delay the next gap.
    EvictSwitches waiting;
    for (const Missing& each : missing_) {
      if (waits(each.gap.feature)) waiting.set(each.gap.feature);
    }
    for (Missing& each : missing_) {
      if (each.left <= 0) continue;
      if (waiting.has(each.gap.feature)) {
        each.held = Reason::kEvictCoolDown;
      } else {
        ask_for(each);
      }
    }
    for (const FeatureVerdict& each : gaps.verdicts) plan_.verdicts.push_back(verdict(each));
  }

  bool waits(EvictFeature feature) {
    const std::optional<MonotonicTime>& not_before = ladder_.not_before(feature);
    return not_before && now_ < *not_before && !ladder_.refused(feature);
  }

  void count_on_the_way() {
    for (const Leaving& one : state_.leaving) {
      const auto index = is_on_its_way(one.stage) ? ladder_.task_of(one) : std::nullopt;
      if (index) count(seen_.tasks[*index], one.feature, ladder_.holds_on(one));
    }
    for (const TaskSeen& each : seen_.tasks) {
      if (each.task == nullptr || !ladder_.ends_anyway(*each.task)) continue;
      const Leaving* known = ladder_.find(evict_key(*each.task));
      if (known == nullptr || !is_on_its_way(known->stage)) count(each, {});
    }
  }
  // A guessed release counts only if the task was evicted for this gap: other tasks that come and go are not awaited.
  // `holds_on`: it keeps what it uses. Its kubelet or scheduler frees what it holds of a disk or requests.
  void count(const TaskSeen& seen, std::optional<EvictFeature> goes_for, bool holds_on = false) {
    for (Missing& each : missing_) {
      if (holds_on && is_used(each.gap.measure)) continue;
      const auto release = goes_for == each.gap.feature ? release_of : known_release_of;
      each.left = less(each.left, release(seen, each.gap));
    }
  }

  // Sorts by what is still missing: once most of it is covered, a small task is enough for the rest.
  void ask_for(Missing& wanted) {
    while (wanted.left > 0 && ask_the_next(wanted)) {
    }
  }

  // False: no task is left that may be asked.
  bool ask_the_next(Missing& wanted) {
    int stays = kNoneStays;  // the lowest rank of tasks that are not known to leave
    for (const Victim& victim : victims(seen_.tasks, wanted.gap, wanted.left, victim_rules(), wall_)) {
      const model::Task& chosen = *seen_.tasks[victim.task].task;
      if (victim.release <= 0 || !is_here(chosen)) continue;
      // Wait for the result of tasks that are known to help before evicting on a guess.
      if (wanted.asked && victim.sight != Sight::kSeen) return false;
      std::string name = evict_key(chosen);
      Leaving* known = ladder_.find(name);
      const int rank = service_rank(chosen);
      if (rank > stays) return false;
      if (!ladder_.may_be_asked(known)) {
        if (known->stage == EvictStage::kForbidden || known->stage == EvictStage::kAsked) stays = std::min(stays, rank);
        continue;
      }
      if (asked_ == kVictimsAStep || (known == nullptr && state_.leaving.size() >= kLeavingMax)) {
        wanted.held = Reason::kEvictCoolDown;
        return false;
      }
      const bool rescues = wanted.gap.kubelet_next && victim.sight == Sight::kSeen;
      if (ladder_.in_hour_beside(known) >= (rescues ? granted_and_rescues() : granted())) {
        wanted.held = Reason::kEvictBudgetSpent;
        stays = std::min(stays, rank);
        continue;  // one that is already counted costs nothing more
      }
      plan_.orders.push_back({EvictVerb::kAsk, victim.task, wanted.gap.feature, wanted.gap.reason, Reason::kEvictAsked,
                              wanted.gap, victim.release, victim.lost_core_seconds, grace_,
                              is_known_cause(victim, wanted.gap) || victim.out_of_turn,
                              ladder_.in_hour_beside(known) >= granted()});
      plan_.orders.back().gap.amount = wanted.left;
      ladder_.asked(known, std::move(name), wanted.gap, victim.lost_core_seconds);
      ++asked_;
      wanted.asked = true;
      count(seen_.tasks[victim.task], wanted.gap.feature);
      return true;
    }
    return false;
  }
  std::int64_t granted() const { return std::clamp<std::int64_t>(seen_.per_hour, 0, model::kEvictionsPerHourMax); }
  std::int64_t granted_and_rescues() const {
    return std::min(granted() + kRescuesPerHour, model::kEvictionsPerHourMax);
  }
  VictimRules victim_rules() const {
    if (!rules_.word) return {rules_.threshold, {}, {}, seen_.yarn_preempts};
    return {rules_.threshold, rules_.word->classes, rules_.word->business, seen_.yarn_preempts,
            rules_.word->evict.yarn_by_class};
  }

  EvictVerdict verdict(const FeatureVerdict& feature) const {
    EvictVerdict out{feature, feature.reason, 0};
    bool found = false;
    bool asked = false;
    for (const Missing& each : missing_) {
      if (each.gap.feature != feature.feature) continue;
      if (!found) out.reason = Reason::kEvictReleasesOnTheWay;
      found = true;
      // An asked task outranks what held others back; that outranks a covered gap.
      if (each.asked && !asked) {
        asked = true;
        out.reason = each.gap.reason;
      } else if (each.left > 0 && out.missing == 0 && !asked) {
        out.reason = each.held;
      }
      if (each.left > 0 && __builtin_add_overflow(out.missing, each.left, &out.missing)) out.missing = INT64_MAX;
    }
    return out;
  }

  const EvictObservation& seen_;
  const protect::NodeRules& rules_;
  const EvictSwitches switches_;
  const MonotonicTime now_;
  const WallTime wall_;
  const Duration grace_;
  EvictState state_;
  EvictPlan plan_;
  Ladder ladder_;
  std::vector<Missing> missing_;
  std::size_t asked_ = 0;
};

}  // namespace

EvictState first_evict_state(MonotonicTime now) {
  EvictState out;
  out.cpu_not_before = now + kCpuEvictPause;
  return out;
}

std::string evict_key(const model::Task& task) {
  return task.identity.source + "/" + task.identity.task;
}

EvictStep evict(const EvictState& before, const EvictObservation& seen, const protect::NodeRules& rules,
                EvictSwitches switches, MonotonicTime now, WallTime wall) {
  return Step(before, seen, rules, switches, now, wall).run();
}

}  // namespace tidemark::policy::evict
