// The permit of a node's agent for the limits that a copilot sets itself (POST /tidemark/v1/permit, a route of our own
// copilot): orders are for the node, and only the agent sends their result to a copilot.
//
//   {"permit":"off"}, answered with {"says":"…"}: the copilot's status, in one line
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::copilot {

inline constexpr std::size_t kSaysBytesMax = 512;

enum class LimitPermit : std::uint8_t {
  kKeep,     // the agent has no settings yet: limits stay as they are
  kEnforce,  // in force
  kRestore,  // reported; the original values are restored
  kOff,      // restored once no container runs: running ones stay limited
};

std::string_view to_string(LimitPermit);  // "keep" …
std::optional<LimitPermit> parse_limit_permit(std::string_view text);

}  // namespace tidemark::copilot
