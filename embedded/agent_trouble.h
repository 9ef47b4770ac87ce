// What is said of a machine while its agent cannot start: in the log, and in the node's condition, which the agent
// would write itself and which may say of its life before that all is well.
#pragma once

#include <string>

#include "embedded/component_thread.h"
#include "net/task.h"

namespace tidemark::embedded {

class AgentTrouble {
 public:
  explicit AgentTrouble(std::string node_name) : node_name_(std::move(node_name)) {}

  // Once for each reason; to the node again until it was taken.
  net::Task<void> tell(const ComponentSurroundings& around, const Error& error);

 private:
  std::string node_name_;
  std::string logged_, told_;
};

}  // namespace tidemark::embedded
