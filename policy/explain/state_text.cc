#include "policy/explain/state_text.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/why.h"

namespace tidemark::policy::explain {
namespace {

std::string date(base::WallTime when) {
  return when >= state::kNever ? "never" : base::format_rfc3339(when);
}

std::string_view class_state(const state::EffectiveState& state, const std::string& name) {
  return std::ranges::binary_search(state.classes_drained, name) ? "off" : "draining";
}

Json amounts_json(const model::Resources& amount) {
  return Json::object({{"cpu", amount.cpu.value}, {"memory", amount.memory.value}});
}

}  // namespace

std::string state_words(const state::EffectiveState& state) {
  std::string words(to_string(state.strictest()));
  if (state.k8s != state.yarn) words = base::cat("Kubernetes ", to_string(state.k8s), ", YARN ", to_string(state.yarn));
  for (const auto& name : state.classes_off) words += base::cat(", class ", name, " ", class_state(state, name));
  return words;
}

std::string decided_words(const state::EffectiveState& state) {
  std::string words(model::reason_sentence(state.decided_by));
  if (!state.pool.empty()) words += base::cat(" ", state.pool);
  if (!state.order) return words;
  if (!state.order->by.empty()) words += base::cat(" by ", state.order->by);
  if (!state.order->why.empty()) words += base::cat(": ", state.order->why);
  if (state.order->until) words += base::cat("; until ", date(*state.order->until));
  return words;
}

std::string render_text(const state::EffectiveState& state) {
  std::string line(model::reason_sentence(state::reason_of(state)));
  for (const auto& name : state.classes_off) line += base::cat("; class ", name, " is ", class_state(state, name));
  const bool drains = state.k8s == model::NodeState::kDraining || state.yarn == model::NodeState::kDraining;
  if (drains && state.order) line += base::cat("; off at ", date(state.order->drain_until), " at the latest");
  return base::cat(line, ". ", decided_words(state));
}

Json render_json(const state::EffectiveState& state) {
  Json out = Json::object({{"state", Json(to_string(state.strictest()))},
                           {"reason", Json(model::reason_id(state::reason_of(state)))},
                           {"kubernetes", Json(to_string(state.k8s))},
                           {"yarn", Json(to_string(state.yarn))},
                           {"decidedBy", Json::object({{"id", Json(model::reason_id(state.decided_by))},
                                                       {"text", Json(model::reason_sentence(state.decided_by))}})}});
  Json classes = Json::array();
  for (const auto& name : state.classes_off) classes.as_array().push_back(Json(name));
  out["classesOff"] = std::move(classes);
  if (!state.pool.empty()) out["pool"] = Json(state.pool);
  if (!state.order) return out;
  out["by"] = Json(state.order->by);
  out["why"] = Json(state.order->why);
  out["since"] = Json(date(state.order->since));
  if (state.order->until) out["until"] = Json(date(*state.order->until));
  return out;
}

std::string classes_off_text(std::string_view side, const state::ClassesOff& off) {
  std::string out;
  for (const auto& each : off.classes) {
    out += base::cat("  ", side, ", class ", each.work_class, ": ", amount_text(each.held.cpu), " and ",
                     amount_text(each.held.memory), " that it holds are reclaimed: ", why(each.reason), "\n");
  }
  return out;
}

Json classes_off_json(const state::ClassesOff& off) {
  Json out = Json::array();
  for (const auto& each : off.classes) {
    out.as_array().push_back(Json::object({{"class", Json(each.work_class)},
                                           {"withdrawn", amounts_json(each.held)},
                                           {"reason", Json(model::reason_id(each.reason))}}));
  }
  return out;
}

}  // namespace tidemark::policy::explain
