// Settings for the agent of a node beyond those of Koordinator.
#pragma once

#include <string>
#include <vector>

#include "policy/evict/settings.h"
#include "policy/pools/modes.h"
#include "policy/pools/work_class.h"

namespace tidemark::policy {

struct AgentWord {
  AgentModes modes{};
  std::vector<WorkClass> classes{};  // by ascending order: the first is suppressed first
  std::string business{};            // the owner of the node: its own work is evicted last
  EvictSettings evict{};
  bool operator==(const AgentWord&) const = default;
};

}  // namespace tidemark::policy
