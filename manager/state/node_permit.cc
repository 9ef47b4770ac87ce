#include "manager/state/node_permit.h"

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

NodePermit node_permit(const kube::Node& node, const policy::waterline::TidemarkConfig& config,
                       model::Mode model::PoolModes::* mode, const NodePermitInputs& inputs,
                       const policy::state::SoldNow& sold, base::WallTime now) {
  const model::Pool& pool = policy::waterline::pool_of(config, node.meta.labels);
  auto reading = read_marks(mark_of(node));
  NodePermit out;
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
  out.taints = pool.arbitrate.on(pool.profile) && pool.arbitrate.taint;
  out.budgets_newer = inputs.budgets_newer;
  // An order says nothing of evictions: a pool that was stopped must not grow by a mark that says on.
  out.may_grow = (inputs.desired_known || out.advanced.marks.any()) && !inputs.budgets_newer;
  if (inputs.budgets != nullptr) out.guard = policy::evict::guard_of(*inputs.budgets, pool.name);
  out.left = inputs.left;
  if (out.left.again_after && (!out.state.again_after || *out.left.again_after < *out.state.again_after)) {
    out.state.again_after = out.left.again_after;
  }
  return out;
}

std::string node_permit_text(const NodePermit& permit) {
  std::string text;
  if (permit.left.reason) {
    text = base::cat(model::reason_sentence(*permit.left.reason), permit.left.writer.empty() ? "" : ": ",
                     permit.left.writer, kIfWritten);
  }
  text += policy::explain::render_text(permit.state);
  if (permit.guard.stopped) text += base::cat("; ", policy::explain::why(Reason::kBudgetStopped));
  if (permit.trouble) text += base::cat("; ", model::reason_sentence(*permit.trouble));
  if (!permit.problem.empty()) text += base::cat(": ", permit.problem);
  if (!permit.left.objects.empty()) text += base::cat(kObjectsLeft, permit.left.objects);
  if (permit.budgets_newer) {
    text += kOffersOnlyCutByBudgets;
  } else if (!permit.may_grow) {
    text += kOffersOnlyCut;
  }
  return text;
}

std::optional<StateCondition> condition_of(const NodePermit& permit) {
  const bool said_nothing = !permit.left.reason && permit.left.objects.empty() && !permit.trouble &&
                            !permit.guard.stopped && !permit.advanced.marks.any() &&
                            permit.state.strictest() == model::NodeState::kOn &&
                            permit.state.decided_by == Reason::kStateDefault;
  if (said_nothing) return std::nullopt;
  StateCondition condition;
  condition.message = node_permit_text(permit);
  if (permit.left.reason) {
    condition.sells = permit.state.k8s == model::NodeState::kOn || permit.state.yarn == model::NodeState::kOn;
    condition.reason = kSecondWriter;
    return condition;
  }
  condition.sells = permit.state.k8s == model::NodeState::kOn || permit.state.yarn == model::NodeState::kOn;
  condition.reason = reason_word(policy::state::reason_of(permit.state));
  if (permit.guard.stopped && condition.sells) {
    condition.sells = false;
    condition.reason = kEvictionSpike;
  }
  return condition;
}

LeftToOthers left_to_others(const kube::Node& node) {
  LeftToOthers left;
  const kube::NodeCondition* condition = node.condition(model::kStateCondition);
  if (condition == nullptr) return left;
  const std::string_view message = condition->message.view();
  // "…; left to another writer, and only observed: KIND (WHO); KIND (WHO)"
  if (const auto at = message.find(kObjectsLeft); at != std::string_view::npos) {
    std::string_view objects = message.substr(at + kObjectsLeft.size());
    left.objects = objects.substr(0, std::min(objects.find(kOffersOnlyCut), objects.find(kOffersOnlyCutByBudgets)));
  }
  if (condition->reason.view() != kSecondWriter) return left;
  left.reason = Reason::kContestStanding;
  // "REASON: WHOM. If it were written: STATE"
  const auto from = message.find(": ");
  const auto to = message.find(kIfWritten);
  if (from < to && to != std::string_view::npos) left.writer = message.substr(from + 2, to - from - 2);
  return left;
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
