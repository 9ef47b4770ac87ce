// Settings for the agent of a node beyond Koordinator's, in its NodeSLO under extensions.tidemark
// (policy/settings/nodeslo/told.h describes the rest of that object):
//
//    {"schema":1, "agent":{
//       "modes":{"default":"observe","cpuSuppress":"enforce"},        names of model/node_strategy.h, and "reaction"
//       "classes":[{"name":"transcode","order":10,"cpuWeight":50,"memoryLowPercent":25,"restartCostSeconds":300,
//                   "checkpointing":true}, …],
//       "business":"search",                                          if the pool names one
//       "evict":{"graceSeconds":60,"memoryPressurePercent":20,        if the pool sets something of it
//                "diskFreePercent":20,"inodesFreePercent":10,"perHour":20}}}
//
// The manager may be newer than the agent: unknown members are ignored. An invalid known member rejects the whole
// object, since half of it would mean something else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/settings/agent_settings.h"

namespace tidemark::policy::settings {

// `ours`: extensions.Object.tidemark. nullopt: no settings for the agent. kUnsupported: another schema.
Result<std::optional<model::AgentWord>> read_agent_word(const Json& ours);
void write_agent_word(base::JsonWriter& json, const model::AgentWord& word);  // the member `agent`

}  // namespace tidemark::policy::settings
