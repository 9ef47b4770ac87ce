// How the agent of a node stands to what a copilot limits there by itself (POST /tidemark/v1/stance, a route of our
// own copilot): off and observe are orders for the node, and a copilot hears of them from nobody else.
//
//   {"stance":"off"}, answered with {"says":"…"}: what the copilot makes of it, in one line
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::copilot {

inline constexpr std::size_t kSaysBytesMax = 512;

enum class LimitStance : std::uint8_t {
  kKeep,     // the agent does not know yet what is wanted: what stands stays
  kEnforce,  // in force
  kObserve,  // told, and put back
  kOff,      // put back once no container runs: whoever runs meanwhile is held as before
};

std::string_view to_string(LimitStance);  // "keep" …
std::optional<LimitStance> parse_limit_stance(std::string_view text);

}  // namespace tidemark::copilot
