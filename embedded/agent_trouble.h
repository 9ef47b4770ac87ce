// What is said of a machine while its agent cannot start: in the log, and in the node's condition, which the agent
// would write itself and which may say of its life before that all is well. The switch on the machine is looked at in
// its place: while it is drawn the condition's status is True.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "agent/latch/latch.h"
#include "agent/machine_places.h"
#include "base/log.h"
#include "embedded/component_thread.h"
#include "net/task.h"

namespace tidemark::embedded {

class AgentTrouble {
 public:
  AgentTrouble(std::string node_name, agent::MachinePlaces places, bool as_root)
      : node_name_(std::move(node_name)), places_(std::move(places)), as_root_(as_root) {}

  // Once for each reason, and for each turn of the switch; to the node again until it was taken.
  net::Task<void> tell(const ComponentSurroundings& around, const Error& error);

 private:
  std::optional<agent::Latch> look_at_switch(const base::Log& log);

  std::string node_name_;
  agent::MachinePlaces places_;
  bool as_root_;
  std::string logged_, told_, unseen_;
};

}  // namespace tidemark::embedded
