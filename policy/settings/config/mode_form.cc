#include "policy/settings/config/mode_form.h"

#include <cstddef>

namespace tidemark::policy::settings {
namespace {

constexpr std::string_view kMode = "mode";
constexpr std::string_view kAgent = "agent";

// Whether `key` holds modes by name, rather than one for all of them.
bool by_name(waterline::Form& form, std::string_view key) {
  const Json* value = form.member(key);
  return value != nullptr && value->is_object();
}

}  // namespace

std::optional<model::Mode> read_mode(waterline::Form& form, std::string_view key) {
  const auto choice = form.choice(key, {to_string(model::Mode::kObserve), to_string(model::Mode::kEnforce)});
  if (!choice) return std::nullopt;
  return *choice == 0 ? model::Mode::kObserve : model::Mode::kEnforce;
}

void read_agent_modes(waterline::Form& form, model::AgentModes& modes) {
  modes.otherwise = read_mode(form, "default").value_or(modes.otherwise);
  for (const model::Strategy each : model::kStrategies) {
    if (const auto mode = read_mode(form, to_string(each))) modes.named[static_cast<std::size_t>(each)] = mode;
  }
  if (const auto mode = read_mode(form, model::kReactionMode)) modes.reaction = mode;
}

void read_pool_modes(waterline::Form& form, model::PoolModes& modes, waterline::Problems& problems) {
  if (!by_name(form, kMode)) {
    if (const auto all = read_mode(form, kMode)) modes = {*all, *all, {.otherwise = *all}, *all};
    return;
  }
  waterline::Form each(form.member(kMode), form.place(kMode), problems);
  modes.capacity = read_mode(each, "capacity").value_or(modes.capacity);
  modes.node_slo = read_mode(each, "nodeSlo").value_or(modes.node_slo);
  modes.yarn = read_mode(each, "yarn").value_or(modes.yarn);
  if (by_name(each, kAgent)) {
    waterline::Form agent(each.member(kAgent), each.place(kAgent), problems);
    read_agent_modes(agent, modes.agent);
    agent.finish();
  } else if (const auto all = read_mode(each, kAgent)) {
    modes.agent = {.otherwise = *all};
  }
  each.finish();
}

}  // namespace tidemark::policy::settings
