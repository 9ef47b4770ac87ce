// What pods and tasks of batch resources may use at most (contract 7.8): the kubelet knows nothing of batch resources
// and leaves such a pod without any limit.
//
//   level       CPU shares                CPU quota                           memory limit
//   container   of its batch-cpu request  of its batch-cpu limit, else none   its batch-memory limit, else none
//   pod         of the sum of requests    of the sum, none where one has none the sum, none where one has none
//
// Only containers that have batch resources count, and only what has some is written. Where all of them together are
// held by one quota (contract 7.3, policy cfsQuota) nobody has one of his own: v1 refuses a child's that is larger.
//
// The sums are the scheduler's (model/pod.h): an init container counts where it needs more than what runs later, and a
// sidecar beside the others. The peer's leave both out; v1 would refuse the quota of an init container above its pod's.
// So a pod's quota is never below one of its containers', before and after rounding: each step grows with the amount.
//
// Ours: on a node that was oversold, what began since then has the smallest quota that a kernel takes, with all of its
// containers, until that is over (TM-ARBITRATE-002): it came where there is no room. Of what does not say when it began
// nothing is taken.
//
// Ours: tasks of a copilot get the same at their own group. The peer leaves that to the copilot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "model/task.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

struct LimitsInput {
  std::span<const model::Task* const> tasks;
  std::int64_t ratio_percent = 100;  // CPU normalization: what a core of this node counts for, in hundredths
  bool quota_suppressed = false;     // resourceUsedThresholdWithBE: enable, with cpuSuppressPolicy cfsQuota
  bool group_shares = true;          // of the tasks' own groups (priority/class_weights.h); containers' stay here
  // Since when the node is marked as one of which two schedulers sold too much (model/oversold.h).
  std::optional<base::WallTime> oversold_since{};
  bool cpu_alone = false;  // no memory limits
};

// Its quota is the smallest one: it began since the node is marked.
bool is_refused(const model::Task& task, const std::optional<base::WallTime>& oversold_since);

// Total. By group, then by what is wanted.
std::vector<Intent> batch_limits(const LimitsInput& input);

}  // namespace tidemark::policy
