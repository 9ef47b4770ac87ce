#include "model/node_strategy.h"

namespace tidemark::model {

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::kCpuSuppress:
      return "cpuSuppress";
    case Strategy::kBatchLimits:
      return "batchLimits";
    case Strategy::kCpuPriority:
      return "cpuPriority";
    case Strategy::kClassWeights:
      return "classWeights";
    case Strategy::kOomOrder:
      return "oomOrder";
    case Strategy::kEviction:
      return "eviction";
  }
  return "unknown";
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  for (const Strategy each : kStrategies) {
    if (text == to_string(each)) return each;
  }
  return std::nullopt;
}

}  // namespace tidemark::model
