// The state of a node: the result of all orders for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

// The state of a node, by strictness; the values of the label tidemark.io/state.
enum class NodeState : std::uint8_t {
  kOn,        // sell
  kObserve,   // decide and show, write nothing
  kDraining,  // sell nothing new: the keys stay with value 0
  kOff,       // the keys go
};
std::string_view to_string(NodeState);
std::optional<NodeState> parse_node_state(std::string_view word);

}  // namespace tidemark::model
