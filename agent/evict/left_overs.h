// Ends the containers of copilots that outlive `tidemark off --evict` (policy/evict/left_over.h).
#pragma once

#include <memory>
#include <optional>

#include "agent/evict/hands.h"
#include "agent/tasks/task_list.h"
#include "base/log.h"
#include "net/loop.h"
#include "policy/evict/left_over.h"

namespace tidemark::agent {

class LeftOvers {
 public:
  LeftOvers(net::EventLoop& loop, EvictionHands& hands, base::Log log);

  // Call after each pass of the sampler, once the tasks are known.
  void observe(const std::optional<policy::evict::EvictionOrder>& order, const TaskSnapshot& tasks);

 private:
  net::Task<void> end(TaskPointer task);

  net::EventLoop& loop_;
  EvictionHands& hands_;
  base::Log log_;
  policy::evict::LeftOverState state_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
