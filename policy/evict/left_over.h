// Which containers outlive an order to evict (`tidemark off --evict`). Their ResourceManager preempts them first; the
// node ends what is left, also if the yarn-operator or the ResourceManager is down.
//
//   order read                         the ResourceManager has the grace of the order
//   grace + kLeftOverAfter later       each container that is still here is asked to end
//   kLeftOverAgain later               again, as long as it is here
//
// The time counts from the moment at which the order was read, because the clock of the command may differ. Pods are
// ended by the command.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/task.h"

namespace tidemark::policy::evict {

struct EvictionOrder {
  base::WallTime since;
  base::Duration grace{0};
  bool operator==(const EvictionOrder&) const = default;
};

// The ResourceManager ends a container at the first heartbeat of its NodeManager after the grace. From then on the
// application sees a pre-emption, even if the agent kills the processes. Large clusters have a heartbeat of three
// seconds, and the operator may read the order later than the agent.
inline constexpr base::Duration kLeftOverAfter = std::chrono::seconds(5);
inline constexpr base::Duration kLeftOverAgain = std::chrono::seconds(10);
inline constexpr base::Duration kLeftOverGrace = std::chrono::seconds(1);  // of the request: the grace is over

struct LeftOverState {
  std::optional<EvictionOrder> order;
  base::MonotonicTime read;                            // of `order`
  std::map<std::string, base::MonotonicTime> asked{};  // by evict_key: when it was last asked
};

struct LeftOverStep {
  LeftOverState state;
  std::vector<std::size_t> to_end;  // indices of tasks
};

// Total. `order`: nullopt if no order in force evicts.
LeftOverStep left_over(LeftOverState state, const std::optional<EvictionOrder>& order,
                       std::span<const model::Task* const> tasks, base::MonotonicTime now);

}  // namespace tidemark::policy::evict
