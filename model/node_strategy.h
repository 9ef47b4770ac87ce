// What an agent does to the groups of its node, each part switched and told by its own name: in the settings (modes),
// in metrics, in the node's condition and in the journal of what was found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

// Of two that want the same file of one group the first has it.
enum class Strategy : std::uint8_t {
  kCpuSuppress,   // offline work gets the processors that online work leaves under the line
  kBatchLimits,   // what a pod or task of batch resources may use at most
  kCpuPriority,   // who runs first where both want a processor
  kClassWeights,  // how kinds of offline work share what all of it gets
  kOomOrder,      // whom the kernel ends first when the machine is out of memory
  kEviction,      // which offline work ends where limiting it is not enough; it writes no files
};
inline constexpr std::array kStrategies = {Strategy::kCpuSuppress,  Strategy::kBatchLimits, Strategy::kCpuPriority,
                                           Strategy::kClassWeights, Strategy::kOomOrder,    Strategy::kEviction};

std::string_view to_string(Strategy);  // "cpuSuppress" …
std::optional<Strategy> parse_strategy(std::string_view text);

}  // namespace tidemark::model
