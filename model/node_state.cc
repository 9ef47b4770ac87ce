#include "model/node_state.h"

#include <algorithm>
#include <array>

namespace tidemark::model {

namespace {

constexpr std::array<std::string_view, 4> kStates{"on", "observe", "draining", "off"};

}  // namespace

std::string_view to_string(NodeState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::optional<NodeState> parse_node_state(std::string_view word) {
  const auto at = std::ranges::find(kStates, word);
  if (at == kStates.end()) return std::nullopt;
  return static_cast<NodeState>(at - kStates.begin());
}

}  // namespace tidemark::model
