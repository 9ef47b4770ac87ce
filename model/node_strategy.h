// The strategies of an agent on the cgroups of its node. Each has a switch and a name of its own: in the settings
// (modes), in metrics, in the node's condition and in the restore journal.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

// If two strategies want the same file of a cgroup, the first one gets it.
enum class Strategy : std::uint8_t {
  kCpuSuppress,   // offline work gets the CPU that online work leaves under the threshold
  kBatchLimits,   // upper limits of pods and tasks with batch resources
  kCpuPriority,   // which work runs first if both want a CPU
  kClassWeights,  // how classes of offline work share its CPU
  kOomOrder,      // which tasks the kernel kills first when the machine is out of memory
  kEviction,      // which offline tasks are evicted if limits are not enough; writes no files
};
inline constexpr std::array kStrategies = {Strategy::kCpuSuppress,  Strategy::kBatchLimits, Strategy::kCpuPriority,
                                           Strategy::kClassWeights, Strategy::kOomOrder,    Strategy::kEviction};

std::string_view to_string(Strategy);  // "cpuSuppress" …
std::optional<Strategy> parse_strategy(std::string_view text);

}  // namespace tidemark::model
