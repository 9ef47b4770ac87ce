#include "manager/state/standing.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "manager/state/mark_write.h"
#include "model/names.h"
#include "policy/explain/state_text.h"
#include "policy/explain/why.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr std::string_view kIfWritten = ". If it were written: ";
constexpr std::string_view kOffersOnlyCut = "; the orders of the cluster cannot be read: offers are only cut";
constexpr std::string_view kOffersOnlyCutByBudgets =
    "; the eviction budgets of a newer version cannot be read: offers are only cut";
constexpr std::string_view kObjectsLeft = "; left to another writer, and only observed: ";

std::string_view reason_word(Reason reason) {
  switch (reason) {
    case Reason::kStateObserved:
      return "Observed";
    case Reason::kStateDraining:
      return "Draining";
    case Reason::kStateOff:
      return "Off";
    case Reason::kStateOffK8s:
      return "OffForKubernetes";
    case Reason::kStateOffYarn:
      return "OffForYarn";
    default:
      return "On";
  }
}

}  // namespace

Standing stand(const kube::Node& node, const policy::waterline::TidemarkConfig& config,
               model::Mode model::PoolModes::* mode, const StandingInputs& inputs, const policy::state::SoldNow& sold,
               base::WallTime now) {
  const model::Pool& pool = policy::waterline::pool_of(config, node.meta.labels);
  auto reading = read_marks(mark_of(node));
  Standing out;
  out.pool = pool.name;
  out.trouble = reading.trouble;
  out.problem = std::move(reading.problem);
  policy::state::Inherited inherited;
  inherited.pool = pool.name;
  if (inputs.desired != nullptr) {
    inherited.cluster = inputs.desired->cluster;
    if (const auto* mark = inputs.desired->pool(pool.name)) inherited.of_pool = *mark;
  }
  if (reading.marks.pool) {
    const std::string& marked = reading.marks.pool->pool;
    inherited.marked_pool_exists =
        marked == config.rest.name || std::ranges::find(config.pools, marked, &model::Pool::name) != config.pools.end();
  }
  out.advanced =
      policy::state::advance(reading.marks, inherited, inputs.sold_known ? sold : policy::state::SoldNow(), now);
  out.carried = std::move(reading.marks);
  out.state = policy::state::effective(out.advanced.marks, pool.modes.*mode, now);
  // An order says nothing of evictions: a pool that was stopped must not grow by a mark that says on.
  out.taints = pool.arbitrate.on(pool.profile) && pool.arbitrate.taint;
  out.budgets_newer = inputs.budgets_newer;
  out.may_grow = (inputs.desired_known || out.advanced.marks.any()) && !inputs.budgets_newer;
  if (inputs.budgets != nullptr) out.guard = policy::evict::guard_of(*inputs.budgets, pool.name);
  out.watched = inputs.only_watched;
  if (inputs.watched_again_after && (!out.state.again_after || *inputs.watched_again_after < *out.state.again_after)) {
    out.state.again_after = inputs.watched_again_after;
  }
  out.watched_why = inputs.watched_why;
  out.objects_left = inputs.objects_left;
  return out;
}

std::string standing_text(const Standing& standing) {
  std::string text;
  if (standing.watched) {
    text = base::cat(model::reason_sentence(*standing.watched), standing.watched_why.empty() ? "" : ": ",
                     standing.watched_why, kIfWritten);
  }
  text += policy::explain::render_text(standing.state);
  if (standing.guard.stopped) text += base::cat("; ", policy::explain::why(Reason::kBudgetStopped));
  if (standing.trouble) text += base::cat("; ", model::reason_sentence(*standing.trouble));
  if (!standing.problem.empty()) text += base::cat(": ", standing.problem);
  if (!standing.objects_left.empty()) text += base::cat(kObjectsLeft, standing.objects_left);
  if (standing.budgets_newer) {
    text += kOffersOnlyCutByBudgets;
  } else if (!standing.may_grow) {
    text += kOffersOnlyCut;
  }
  return text;
}

std::optional<StateCondition> condition_of(const Standing& standing) {
  const bool said_nothing = !standing.watched && standing.objects_left.empty() && !standing.trouble &&
                            !standing.guard.stopped && !standing.advanced.marks.any() &&
                            standing.state.strictest() == model::NodeState::kOn &&
                            standing.state.decided_by == Reason::kStateDefault;
  if (said_nothing) return std::nullopt;
  StateCondition condition;
  condition.message = standing_text(standing);
  if (standing.watched) {
    condition.sells = standing.state.k8s == model::NodeState::kOn || standing.state.yarn == model::NodeState::kOn;
    condition.reason = kSecondWriter;
    return condition;
  }
  condition.sells = standing.state.k8s == model::NodeState::kOn || standing.state.yarn == model::NodeState::kOn;
  condition.reason = reason_word(policy::state::reason_of(standing.state));
  if (standing.guard.stopped && condition.sells) {
    condition.sells = false;
    condition.reason = kEvictionSpike;
  }
  return condition;
}

StandingInputs left_to_others(const kube::Node& node) {
  StandingInputs inputs;
  const kube::NodeCondition* condition = node.condition(model::kStateCondition);
  if (condition == nullptr) return inputs;
  const std::string_view message = condition->message.view();
  // "…; left to another writer, and only observed: KIND (WHO); KIND (WHO)"
  if (const auto left = message.find(kObjectsLeft); left != std::string_view::npos) {
    std::string_view objects = message.substr(left + kObjectsLeft.size());
    inputs.objects_left =
        objects.substr(0, std::min(objects.find(kOffersOnlyCut), objects.find(kOffersOnlyCutByBudgets)));
  }
  if (condition->reason.view() != kSecondWriter) return inputs;
  inputs.only_watched = Reason::kContestStanding;
  // "REASON: WHOM. If it were written: STATE"
  const auto from = message.find(": ");
  const auto to = message.find(kIfWritten);
  if (from < to && to != std::string_view::npos) inputs.watched_why = message.substr(from + 2, to - from - 2);
  return inputs;
}

bool carries(const kube::Node& node, const StateCondition& condition) {
  const kube::NodeCondition* there = node.condition(model::kStateCondition);
  return there != nullptr && there->status == (condition.sells ? kube::Truth::kTrue : kube::Truth::kFalse) &&
         there->reason.view() == condition.reason && there->message.view() == condition.message;
}

std::string condition_patch(const StateCondition& condition, const kube::NodeCondition* before, base::WallTime now) {
  const auto status = condition.sells ? kube::Truth::kTrue : kube::Truth::kFalse;
  const bool turned = before == nullptr || before->status != status || !before->changed;
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().key("status").begin_object().key("conditions").begin_array().begin_object();
  json.member("type", model::kStateCondition);
  json.member("status", std::string_view(condition.sells ? "True" : "False"));
  json.member("reason", condition.reason);
  json.member("message", std::string_view(condition.message));
  json.member("lastHeartbeatTime", std::string_view(base::format_rfc3339(now)));
  json.member("lastTransitionTime", std::string_view(base::format_rfc3339(turned ? now : *before->changed)));
  json.end_object().end_array().end_object().end_object();
  return out;
}

}  // namespace tidemark::manager
