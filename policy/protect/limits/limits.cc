#include "policy/protect/limits/limits.h"

#include <string>
#include <utility>

#include "policy/protect/limits/conversions.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::protect {
namespace {

using model::Reason;
using model::SaidAmounts;
using model::TaskContainer;

class Limits {
 public:
  explicit Limits(const LimitsInput& input) : input_(input) {}

  void ask(const std::string& group, const SaidAmounts& requests, const SaidAmounts& limits, bool shares, bool held) {
    if (shares) want(group, Want::kCpuShares, shares_of(requests.cpu), Reason::kLimitFromBatch);
    const Reason why = reason_of_quota(limits);
    if (held) {
      want(group, Want::kCpuQuota, kQuotaMin, Reason::kArbitrateReject);
    } else {
      want(group, Want::kCpuQuota,
           why == Reason::kLimitBySuppression ? kNoLimit : quota_of(limits.cpu, input_.ratio_percent), why);
    }
    if (input_.cpu_alone) return;
    const std::int64_t memory = memory_limit_of(limits.memory);
    want(group, Want::kMemoryLimit, memory, memory == kNoLimit ? Reason::kLimitNothingSaid : Reason::kLimitFromBatch);
  }

  std::vector<Intent> all() && {
    sort_by_group(intents_);
    return std::move(intents_);
  }

 private:
  Reason reason_of_quota(const SaidAmounts& limits) const {
    if (quota_of(limits.cpu) == kNoLimit) return Reason::kLimitNothingSaid;
    if (input_.quota_suppressed) return Reason::kLimitBySuppression;
    return input_.ratio_percent > 100 ? Reason::kLimitNormalized : Reason::kLimitFromBatch;
  }

  void want(const std::string& group, Want what, std::int64_t value, Reason why) {
    intents_.push_back({group, what, value, {}, model::Strategy::kBatchLimits, why});
  }

  const LimitsInput& input_;
  std::vector<Intent> intents_;
};

bool is_limited(const model::Task& task) {
  return may_be_written(task) && task.qos_raw == model::Qos::kBe && has_batch(task);
}

}  // namespace

bool is_refused(const model::Task& task, const std::optional<base::WallTime>& oversold_since) {
  const auto& begun = task.started ? task.started : task.created;
  return oversold_since && is_limited(task) && begun && *begun > *oversold_since;
}

std::vector<Intent> batch_limits(const LimitsInput& input) {
  Limits limits(input);
  for (const model::Task* task : input.tasks) {
    if (!is_limited(*task)) continue;
    const bool held = is_refused(*task, input.oversold_since);
    limits.ask(task->path, task->requests.batch, task->limits.batch, input.group_shares, held);
    for (const TaskContainer& each : task->containers) {
      if (!each.path.empty() && has_batch(each))
        limits.ask(each.path, each.requests.batch, each.limits.batch, true, held);
    }
  }
  return std::move(limits).all();
}

}  // namespace tidemark::policy::protect
