// Renders the settings in force on a node and their layers, for `tidemark explain config`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/in_force.h"
#include "policy/settings/nodeslo/agent_word.h"

namespace tidemark::policy::explain {

struct ConfigInForce {
  std::string node;
  std::string config_map;  // "namespace/name"
  bool config_map_found = true;
  std::string pool;                // "" if unknown
  std::vector<std::string> notes;  // what a reader should know
  std::string revision;            // the hash of the settings in force on the node; "" if unknown
  std::vector<model::PartInForce> parts;
  std::optional<model::AgentWord> agent;  // settings of its agent; nullopt: none
  // The other content of the node's NodeSLO; nullopt if there is no such object.
  struct Object {
    std::vector<std::string> differs;  // fields of its spec
  };
  std::optional<Object> object;
};

std::string render_text(const ConfigInForce& config);
Json render_json(const ConfigInForce& config);  // {"schema":1,"node":…,"parts":[{"key":…,"fields":[…]}],"agent":{…}}

}  // namespace tidemark::policy::explain
