#include "manager/capacity/capacity_due.h"

#include <algorithm>
#include <cstdint>

namespace tidemark::manager {
namespace {

model::ExtendedResources as_extended(const model::Resources& batch) {
  return {batch.cpu, batch.memory, std::nullopt, std::nullopt};
}

template <class Amount>
bool less_or_gone(const std::optional<Amount>& wanted, const std::optional<Amount>& carried) {
  return carried && (!wanted || *wanted < *carried);
}

// Some amount is to be lower than the node carries it, or to go.
bool lowers(const model::ExtendedResources& wanted, const model::ExtendedResources& carried) {
  return less_or_gone(wanted.batch_cpu, carried.batch_cpu) || less_or_gone(wanted.batch_memory, carried.batch_memory) ||
         less_or_gone(wanted.mid_cpu, carried.mid_cpu) || less_or_gone(wanted.mid_memory, carried.mid_memory);
}

// A cut by order or because of evictions is written whatever its amount.
policy::sell::WriteDecision is_withdrawn(const NodeDecision& decision) {
  const auto& published = decision.snapshot.published;
  const auto& plan = decision.plan();
  const bool less = lowers(plan.publish, published);
  const bool origin_ends = decision.snapshot.origin && plan.origin && *decision.snapshot.origin != model::Resources{} &&
                           *plan.origin == model::Resources{};
  if (decision.permit.state.strictest() >= model::NodeState::kDraining && (less || origin_ends)) {
    return {true, model::Reason::kWriteState};
  }
  if (!less || !(decision.offer.stopped || decision.offer.backs_off)) return {};
  return {true, decision.offer.stopped ? model::Reason::kWriteStopped : model::Reason::kWriteBackedOff};
}

}  // namespace

policy::sell::WriteDecision is_cut(const NodeDecision& decision) {
  const auto cut = policy::sell::needs_cut_write(decision.snapshot.published, decision.plan().publish);
  if (cut.write || !decision.snapshot.origin || !decision.plan().origin) return cut;
  return policy::sell::needs_cut_write(as_extended(*decision.snapshot.origin), as_extended(*decision.plan().origin));
}

policy::sell::WriteThresholds write_thresholds(const NodeDecision& decision) {
  policy::sell::WriteThresholds thresholds(decision.strategy().values);
  thresholds.refresh_s = std::max<std::int64_t>(thresholds.refresh_s, 1);
  thresholds.difference = std::max(thresholds.difference, 0.0);
  return thresholds;
}

policy::sell::WriteDecision worth_a_write(const NodeDecision& decision, std::optional<base::Duration> since_write) {
  if (decision.plan().action == policy::sell::PlanAction::kHold) return {};
  if (const auto withdrawn = is_withdrawn(decision); withdrawn.write) return withdrawn;
  const policy::sell::WriteThresholds thresholds = write_thresholds(decision);
  const auto needed =
      policy::sell::needs_write(decision.snapshot.published, decision.plan().publish, since_write, thresholds);
  if (needed.write || !decision.plan().origin) return needed;
  const bool cuts_at_once = decision.strategy().profile == model::Profile::kTidemark;
  if (cuts_at_once) {
    if (const auto cut = is_cut(decision); cut.write) return cut;
  }

  // What batch may use can move while what Kubernetes gets of it stands still (YARN holds all): YARN must hear of it
  // too.
  if (!decision.snapshot.origin) return {true, model::Reason::kWriteAppears};
  return policy::sell::needs_write(as_extended(*decision.snapshot.origin), as_extended(*decision.plan().origin),
                                   base::Duration(0), thresholds);
}

std::optional<base::Duration> look_again(const NodeDecision& decision, base::WallTime now) {
  if (!decision.strategy().enabled) return decision.permit.state.again_after;
  const auto& values = decision.strategy().values;
  // Contract 5.6: a node is written again if its last write is older than this.
  using std::chrono::minutes, std::chrono::seconds;
  constexpr std::int64_t kMaxS = seconds(kLookAgainMax).count();
  base::Duration next = seconds(std::clamp<std::int64_t>(values.update_time_threshold_s, 1, kMaxS) + 1);
  if (decision.snapshot.metric && decision.snapshot.metric->update_time) {
    const minutes degrade(std::clamp<std::int64_t>(values.degrade_time_minutes, 0, minutes(kLookAgainMax).count()));
    std::int64_t age_ns = 0;
    const bool far = __builtin_sub_overflow(now.since_epoch.count(),
                                            decision.snapshot.metric->update_time->since_epoch.count(), &age_ns);
    const base::Duration left = degrade + seconds(1) - base::Duration(age_ns);
    if (!far && left > base::Duration(0)) next = std::min(next, left);
  }
  if (decision.offer.again_after)
    next = std::min(next, std::max<base::Duration>(*decision.offer.again_after, seconds(1)));
  // When an order ends, or draining is over, to the moment.
  if (decision.permit.state.again_after) next = std::min(next, *decision.permit.state.again_after);
  return next;
}

}  // namespace tidemark::manager
