// Settings for the agent of a node beyond those of Koordinator.
#pragma once

#include <string>
#include <vector>

#include "model/settings/evict_settings.h"
#include "model/settings/modes.h"
#include "model/settings/work_class.h"

namespace tidemark::model {

struct AgentWord {
  AgentModes modes{};
  std::vector<WorkClass> classes{};  // by ascending order: the first is suppressed first
  std::string business{};            // the owner of the node: its own work is evicted last
  EvictSettings evict{};
  bool operator==(const AgentWord&) const = default;
};

}  // namespace tidemark::model
