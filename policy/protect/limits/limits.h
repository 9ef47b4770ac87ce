// Computes the limits of pods and tasks with batch resources (contract 7.8). The kubelet ignores batch resources and
// sets no limit on such a pod.
//
//   level       CPU shares                CPU quota                           memory limit
//   container   of its batch-cpu request  of its batch-cpu limit, else none   its batch-memory limit, else none
//   pod         of the sum of requests    of the sum, none if one has none    the sum, none if one has none
//
// Only containers with batch resources count, and only existing values are written. If one quota limits all of them
// together (contract 7.3, policy cfsQuota) none has its own: v1 refuses a child's that is larger.
//
// The sums are the scheduler's (model/pod.h): an init container counts if it needs more than the later ones, and a
// sidecar beside the others. Koordinator's leave both out; v1 would refuse an init container's quota above its pod's.
// So a pod's quota is never below one of its containers', before and after rounding: each step is monotone.
//
// Ours: on an oversold node, a task that started since then gets the smallest quota of the kernel, with all of its
// containers, until that is over (TM-ARBITRATE-002), because there is no room for it. A task with an unknown start
// keeps its quota.
//
// Ours: tasks of a copilot get the same in their own cgroup. Koordinator leaves that to the copilot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "model/task.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

struct LimitsInput {
  std::span<const model::Task* const> tasks;
  std::int64_t ratio_percent = 100;  // CPU normalization: the value of a core of this node, in hundredths
  bool quota_suppressed = false;     // resourceUsedThresholdWithBE: enable, with cpuSuppressPolicy cfsQuota
  bool group_shares = true;          // of the tasks' own cgroups (priority/class_weights.h); containers' stay here
  // Since when the node is marked as oversold by two schedulers (model/oversold.h).
  std::optional<base::WallTime> oversold_since{};
  bool cpu_alone = false;  // no memory limits
};

// It gets the smallest quota: it started after the node was marked.
bool is_refused(const model::Task& task, const std::optional<base::WallTime>& oversold_since);

// Total. By cgroup, then by intent.
std::vector<Intent> batch_limits(const LimitsInput& input);

}  // namespace tidemark::policy::protect
