#include "policy/protect/priority/class_weights.h"

#include <algorithm>
#include <utility>

#include "model/settings/work_class.h"
#include "policy/protect/limits/conversions.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/sell/ledger/over_report.h"

namespace tidemark::policy::protect {

bool group_shares_of_limits(std::span<const model::WorkClass> classes, bool idle) {
  return classes.empty() && !idle;
}

ClassWeightsPlan class_weights(const ClassWeightsInput& input) {
  ClassWeightsPlan plan;
  const model::WorkClass unnamed;  // the default weight, and nothing protected
  if (input.classes.empty()) return plan;
  for (const model::Task* task : input.tasks) {
    if (!may_be_written(*task) || !is_offline(*task) || !has_batch(*task)) continue;
    const auto known = std::ranges::find(input.classes, task->identity.work_class, &model::WorkClass::name);
    const bool unknown = known == input.classes.end();
    const model::WorkClass& one = unknown ? unnamed : *known;
    const auto want = [&](Want what, std::int64_t value) {
      plan.intents.push_back({task->path,
                              what,
                              value,
                              {},
                              model::Strategy::kClassWeights,
                              unknown ? model::Reason::kShareUnknownClass : model::Reason::kShareByClass});
    };
    if (input.idle) {
      plan.without_weight.push_back(task->path);
    } else {
      const std::int64_t weight = std::clamp<std::int64_t>(one.cpu_weight, 1, model::kClassWeightMax);
      want(Want::kCpuShares,
           std::clamp(sell::scaled(shares_of(task->requests.batch.cpu), weight, 100), kSharesMin, kSharesMax));
    }
    const std::int64_t percent = std::clamp<std::int64_t>(one.memory_low_percent, 0, model::kClassMemoryLowMax);
    const std::int64_t low =
        task->requests.batch.memory ? sell::scaled(task->requests.batch.memory->value, percent, 100) : 0;
    if (low > 0) want(Want::kMemoryLow, low);
  }
  sort_by_group(plan.intents);
  std::ranges::sort(plan.without_weight);
  return plan;
}

}  // namespace tidemark::policy::protect
