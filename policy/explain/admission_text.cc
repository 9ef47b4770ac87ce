#include "policy/explain/admission_text.h"

#include "base/json.h"
#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using model::Reason;

std::string with_id(Reason reason) {
  return cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]");
}

Json texts(const std::vector<std::string>& list) {
  Json::Array out;
  for (const auto& each : list) out.emplace_back(each);
  return out;
}

// ___{"reason":"ExistNodeConfict","message":{"config":…,"strategies":[…],"exampleNodes":[…]}}___
std::string peer_body(const settings::StrategyConflict& conflict) {
  Json message = Json::object({{"config", Json(conflict.key)}});
  if (!conflict.strategies.empty()) message["strategies"] = texts(conflict.strategies);
  if (!conflict.example_nodes.empty()) message["exampleNodes"] = texts(conflict.example_nodes);
  const Json body =
      Json::object({{"reason", Json(settings::peer_reason(conflict.reason))}, {"message", std::move(message)}});
  return cat("___", body.dump(), "___");
}

}  // namespace

std::string render_text(const admission::Refusal& refusal) {
  std::string text = with_id(refusal.reason);
  if (!refusal.profile.empty()) text = cat("ClusterColocationProfile ", refusal.profile, ": ", text);
  if (!refusal.detail.empty()) text += cat(": ", refusal.detail);
  return text;
}

std::string render_text(const admission::AdmissionNote& note) {
  std::string text = with_id(note.reason);
  if (!note.profile.empty()) text = cat("ClusterColocationProfile ", note.profile, ": ", text);
  if (!note.detail.empty()) text += cat(": ", note.detail);
  return text;
}

std::string render_text(const state::PodScopeState& state) {
  if (!state.off) return "";
  if (!state.order) return with_id(state.reason);
  const state::StateOrder& order = *state.order;
  std::string text = state.pool.empty() ? std::string("the cluster") : cat("the pool ", state.pool);
  text += " was ordered off";
  if (!order.only.all()) text += cat(" (", base::join(state::part_words(order.only), ", "), ")");
  text += cat(" by ", order.by, order.why.empty() ? "" : ": ", order.why);
  if (order.until) text += cat("; until ", base::format_rfc3339(*order.until));
  return cat(text, " [", model::reason_id(state.reason), "]");
}

std::string render_text(const admission::PodViolation& violation) {
  return cat(violation.field, ": ", with_id(violation.reason), ": found ",
             violation.found.empty() ? std::string("nothing") : violation.found, ", wanted ", violation.wanted);
}

std::string render_text(std::span<const admission::PodViolation> violations) {
  std::string text;
  for (const admission::PodViolation& each : violations) text += cat(text.empty() ? "" : "; ", render_text(each));
  return text;
}

std::string render_text(const admission::EvictionRefusal& refusal) {
  const auto told = [&](const auto&... parts) { return cat(parts..., " [", to_string(refusal.why), "]"); };
  switch (refusal.why) {
    case admission::EvictionDenial::kNoNode:
      return told("the agent's token is not bound to a node: use a token that is bound to a pod or a node");
    case admission::EvictionDenial::kNoUid:
      return told("deleteOptions.preconditions.uid is missing: it must identify the pod");
    case admission::EvictionDenial::kUnreadable:
      return told("the pod cannot be read: ", refusal.found);
    case admission::EvictionDenial::kAnotherPod:
      return told("the pod of that name has the uid ", refusal.found, " and not ", refusal.wanted);
    case admission::EvictionDenial::kAnotherNode:
      return told("the pod is on ", refusal.found.empty() ? "no node" : cat("node ", refusal.found),
                  ": the agent of node ", refusal.wanted, " evicts only from its own node");
    case admission::EvictionDenial::kMirror:
      return told("the pod is a static pod: the kubelet would create it again");
    case admission::EvictionDenial::kOnline:
      return told("the pod is online work: its QoS class is not BE, and its priority class is ",
                  refusal.found.empty() ? std::string("none") : refusal.found,
                  " and not koord-mid, koord-batch or koord-free");
    case admission::EvictionDenial::kJobBudget:
      return told("the job ", refusal.found, ", and ", refusal.wanted, " are allowed: perJobHour of its pool");
    case admission::EvictionDenial::kPoolBudget:
      if (refusal.wanted.empty()) {
        return told("the pool ", refusal.found, " has reached its perPoolHour, by the leader's count");
      }
      return told("the pool ", refusal.found, ", and ", refusal.wanted, " are allowed: its perPoolHour");
    case admission::EvictionDenial::kTooMany:
      return told("more than ", refusal.wanted, " eviction requests per second: retry in a few seconds");
    case admission::EvictionDenial::kNotKnown:
      return told("cannot read the pod, retry in a few seconds: ", refusal.found);
  }
  return told("refused");
}

std::string render_text(const settings::SettingsProblem& problem) {
  const bool told = problem.reason == Reason::kSettingsUnknown || problem.reason == Reason::kSettingsSuspect;
  return cat(problem.key, problem.place.empty() ? "" : ": ", problem.place, ": found ", problem.found,
             told ? "; " : "; allowed: ", problem.allowed);
}

std::string render_refusal(const settings::SettingsVerdict& verdict) {
  std::string text;
  if (!verdict.errors.empty()) text = cat(settings::peer_reason(verdict.errors.front().reason), ": ");
  for (std::size_t i = 0; i < verdict.errors.size(); ++i) {
    text +=
        cat(i == 0 ? "" : "; ", render_text(verdict.errors[i]), " [", model::reason_id(verdict.errors[i].reason), "]");
  }
  if (verdict.left_off > 0) text += cat("; and ", verdict.left_off, " more");
  text += "; the edit is rejected as a whole";
  if (verdict.conflict) text += cat(" ", peer_body(*verdict.conflict));
  return text;
}

}  // namespace tidemark::policy::explain
