#include "policy/explain/doctor/our_side.h"

#include <algorithm>

#include "policy/protect/node_rules.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::int64_t kPercent = 100;

}  // namespace

void OurSide::go_by(const protect::NodeRules& rules) {
  protects_memory = rules.word && std::ranges::any_of(rules.word->classes, [](const model::WorkClass& each) {
                      return each.memory_low_percent > 0;
                    });
  if (!rules.threshold.enable) return;
  memory.percent = rules.threshold.memory_evict_percent;
  suppresses_by_cpuset = rules.threshold.cpu_suppress_policy == protect::SuppressPolicy::kCpuset;
  if (!rules.word) return;
  const auto in_use = [](std::int64_t free) { return kPercent - free; };
  disk.percent = runtime_disk.percent = rules.word->evict.disk_free_percent.transform(in_use);
  disk_inodes.percent = runtime_inodes.percent = rules.word->evict.inodes_free_percent.transform(in_use);
}

}  // namespace tidemark::policy::explain
