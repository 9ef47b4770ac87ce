// Renders reasons of admission: the message that kubectl shows when a pod or an edit of the settings is rejected, and
// the warnings of an answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/admission/eviction.h"
#include "policy/admission/mutate.h"
#include "policy/admission/validate_pod.h"
#include "policy/settings/check.h"
#include "policy/state/pod_scope.h"

namespace tidemark::policy::explain {

std::string render_text(const admission::Refusal& refusal);
std::string render_text(const admission::AdmissionNote& note);
// "the pool night was ordered off by ann@ops-1: kernel update"; empty if nothing is off.
std::string render_text(const state::PodScopeState& state);
std::string render_text(const admission::PodViolation& violation);
std::string render_text(std::span<const admission::PodViolation> violations);  // all in one sentence after the other
// "the pod is on node b: the agent of node a evicts from its own alone [AnotherNode]"
std::string render_text(const admission::EvictionRefusal& refusal);
// "colocation-config: nodeConfigs[1].degradeTimeMinutes: found 0, allowed: a whole number from 1 on"
std::string render_text(const settings::SettingsProblem& problem);

// The whole message of a rejected edit: Koordinator's text, every problem, and for two strategies of one node
// Koordinator's body between "___" as its consoles expect it. Rejected edits only.
std::string render_refusal(const settings::SettingsVerdict& verdict);

}  // namespace tidemark::policy::explain
