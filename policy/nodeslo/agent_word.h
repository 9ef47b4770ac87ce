// What the manager says to the agent of a node beside what Koordinator knows, in its NodeSLO under extensions.tidemark
// (policy/nodeslo/told.h has what else stands there):
//
//   {"schema":1, "agent":{
//      "modes":{"default":"observe","cpuSuppress":"enforce"},        names of model/node_strategy.h, and "reaction"
//      "classes":[{"name":"transcode","order":10,"cpuWeight":50,"memoryLowPercent":25,"restartCostSeconds":300,
//                  "checkpointing":true}, …],
//      "business":"search",                                          where the pool names one
//      "evict":{"graceSeconds":60,"memoryPressurePercent":20,        where the pool says something of it
//               "diskFreePercent":20,"inodesFreePercent":10}}}
//
// The manager may be newer than the agent: a member that is not known here is passed over. What is known and wrong
// refuses the whole word, since half of it would mean something else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "policy/evict/settings.h"
#include "policy/pools/modes.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

struct AgentWord {
  AgentModes modes{};
  std::vector<WorkClass> classes{};  // by ascending order: what gives way first comes first
  std::string business{};            // whose nodes these are: their own work is evicted last
  EvictSettings evict{};
  bool operator==(const AgentWord&) const = default;
};

// `ours`: extensions.Object.tidemark. nullopt: it says nothing to the agent. kUnsupported: of another schema.
Result<std::optional<AgentWord>> read_agent_word(const Json& ours);
void write_agent_word(base::JsonWriter& json, const AgentWord& word);  // the member `agent`

}  // namespace tidemark::policy
