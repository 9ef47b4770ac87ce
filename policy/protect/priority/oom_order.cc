#include "policy/protect/priority/oom_order.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::protect {
namespace {

// Of the kubelet (pkg/kubelet/qos/policy.go).
constexpr std::int64_t kKubeletGuaranteed = -997;
constexpr std::int64_t kKubeletBurstableMin = 3, kKubeletBurstableMax = 999;
constexpr std::int32_t kNodeCritical = 2'000'001'000;           // system-node-critical
constexpr std::int64_t kMachineBytesMax = INT64_MAX / kOomMax;  // a thousand times as much is a number still

std::int64_t given_by_kubelet(const model::Task& task, const model::TaskContainer& container,
                              model::MemoryBytes machine) {
  if (task.priority_number.value_or(0) >= kNodeCritical) return kKubeletGuaranteed;
  if (task.kube_qos == model::KubeQos::kGuaranteed) return kKubeletGuaranteed;
  if (task.kube_qos == model::KubeQos::kBestEffort) return kOomMax;
  const std::int64_t request = container.requests.native.memory.value_or(model::MemoryBytes()).value;
  if (machine.value <= 0 || machine.value > kMachineBytesMax || request <= 0) return kKubeletBurstableMax;
  const std::int64_t share = kOomMax * std::min(request, machine.value) / machine.value;
  return std::clamp(kOomMax - share, kKubeletBurstableMin, kKubeletBurstableMax);
}

// The same as no pod, if it is missing or ended.
std::int64_t largest_of(const model::Task& task, model::MemoryBytes machine) {
  std::int64_t out = kOomMin;
  if (task.kind != model::TaskKind::kPod || task.terminal()) return out;
  for (const model::TaskContainer& each : task.containers) {
    if (each.role != model::ContainerRole::kUnlisted) out = std::max(out, given_by_kubelet(task, each, machine));
  }
  return out;
}

// Only a pod's containers: the process that holds the pod's own cgroup belongs to the runtime. A copilot's task has its
// processes in its own cgroup.
void want(const model::Task& task, OomRank rank, std::vector<OomIntent>& out) {
  if (task.kind == model::TaskKind::kCopilotTask) out.push_back({task.path, rank});
  for (const model::TaskContainer& each : task.containers) {
    if (!each.path.empty() && each.role != model::ContainerRole::kUnlisted) out.push_back({each.path, rank});
  }
}

}  // namespace

std::int64_t oom_score_adj(OomRank rank, std::int64_t found, std::int64_t line) {
  switch (rank) {
    case OomRank::kOffline:
      return kOomMax;
    case OomRank::kOfflineInfrastructure:
      return found < kOomLineMin || found > kOomLineMax ? line : found;
    case OomRank::kInfrastructure:
      return found > kOomLineMax ? line : found;
  }
  return found;
}

OomPlan oom_order(const OomInput& input) {
  OomPlan out;
  for (const model::Task* task : input.tasks) {
    const bool offline = is_offline(*task);
    if (!offline && !task->infrastructure) out.line = std::max(out.line, largest_of(*task, input.machine));
    if (!may_be_written(*task) || !(offline || task->infrastructure)) continue;
    want(*task,
         !offline               ? OomRank::kInfrastructure
         : task->infrastructure ? OomRank::kOfflineInfrastructure
                                : OomRank::kOffline,
         out.intents);
  }
  out.line = std::clamp(out.line, kOomLineMin, kOomLineMax);
  // If two tasks claim one cgroup, the list of tasks gives it to one; a duplicate here is the same task.
  std::ranges::sort(out.intents, {},
                    [](const OomIntent& intent) { return std::pair(std::string_view(intent.group), intent.rank); });
  const auto repeated = std::ranges::unique(out.intents, {}, &OomIntent::group);
  out.intents.erase(repeated.begin(), repeated.end());
  return out;
}

}  // namespace tidemark::policy::protect
