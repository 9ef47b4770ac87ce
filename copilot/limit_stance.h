// The permit of a node's agent for the limits that a copilot sets itself (POST /tidemark/v1/stance, a route of our own
// copilot): off and observe are orders for the node, and only the agent sends them to a copilot.
//
//   {"stance":"off"}, answered with {"says":"…"}: the copilot's status, in one line
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::copilot {

inline constexpr std::size_t kSaysBytesMax = 512;

enum class LimitStance : std::uint8_t {
  kKeep,     // the agent has no settings yet: limits stay as they are
  kEnforce,  // in force
  kObserve,  // reported, and restored
  kOff,      // restored once no container runs: running ones stay limited
};

std::string_view to_string(LimitStance);  // "keep" …
std::optional<LimitStance> parse_limit_stance(std::string_view text);

}  // namespace tidemark::copilot
