#include "agent/sampler/readings.h"

namespace tidemark::agent {
namespace {

using std::chrono::seconds;

constexpr ReadingTable kDefault{{
    {Reading::kNodeCpu, "node cpu", seconds(1)},
    {Reading::kNodeMemory, "node memory", seconds(1)},
    {Reading::kNodePressure, "node pressure", seconds(10)},
    {Reading::kNumaMemory, "numa memory", seconds(10)},

    {Reading::kCpu, "cpu", seconds(1)},
    {Reading::kMemory, "memory", seconds(1)},
    {Reading::kThrottling, "throttling", seconds(10)},
    {Reading::kWorkingSet, "working set", seconds(10)},
    {Reading::kPressure, "pressure", seconds(10)},
    {Reading::kMemoryEvents, "memory events", seconds(10)},
    {Reading::kIo, "io", seconds(10)},
    {Reading::kRunQueue, "run queue", seconds(10)},
    {Reading::kCpi, "cpi", seconds(60)},

    {Reading::kContainers, "containers", seconds(30)},
}};

constexpr bool in_order() {
  for (std::size_t at = 0; at < kReadings; ++at) {
    if (static_cast<std::size_t>(kDefault[at].reading) != at) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const ReadingTable& default_readings() {
  return kDefault;
}

}  // namespace tidemark::agent
