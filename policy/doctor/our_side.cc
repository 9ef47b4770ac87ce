#include "policy/doctor/our_side.h"

#include <algorithm>

#include "policy/node_rules/node_rules.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {
namespace {

constexpr std::int64_t kPercent = 100;

}  // namespace

void OurSide::go_by(const NodeRules& rules) {
  protects_memory = rules.word && std::ranges::any_of(rules.word->classes, [](const WorkClass& each) {
                      return each.memory_low_percent > 0;
                    });
  if (!rules.threshold.enable) return;
  memory.percent = rules.threshold.memory_evict_percent;
  suppresses_by_cpuset = rules.threshold.cpu_suppress_policy == SuppressPolicy::kCpuset;
  if (!rules.word) return;
  const auto in_use = [](std::int64_t free) { return kPercent - free; };
  disk.percent = runtime_disk.percent = rules.word->evict.disk_free_percent.transform(in_use);
  disk_inodes.percent = runtime_inodes.percent = rules.word->evict.inodes_free_percent.transform(in_use);
}

}  // namespace tidemark::policy
