#include "policy/protect/suppress/room.h"

#include <algorithm>

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;

constexpr std::int64_t kPercent = 100;
// More than any machine has; so that no product below overflows.
constexpr CpuMilli kCapacityMax{1'000'000'000'000};

CpuMilli part_of(CpuMilli capacity, std::int64_t percent) {
  return {capacity.value * std::clamp<std::int64_t>(percent, 0, kPercent) / kPercent};
}

CpuMilli at_least_none(CpuMilli amount) {
  return std::max(amount, CpuMilli{0});
}

}  // namespace

bool lies_below(std::string_view path, std::string_view group) {
  return !group.empty() && path.size() > group.size() && path.starts_with(group) && path[group.size()] == '/';
}

bool counts_as_online(const model::Task* task, std::string_view besteffort) {
  if (task == nullptr) return true;
  switch (task->kind) {
    case model::TaskKind::kPod:
      return task->qos_raw != model::Qos::kBe && task->kube_qos != model::KubeQos::kBestEffort;
    case model::TaskKind::kHostApplication:
      return !task->below_besteffort;
    case model::TaskKind::kCopilotTask:
      return !lies_below(task->path, besteffort);
  }
  return true;
}

std::optional<SuppressRoom> suppress_room(const SuppressObservation& seen, const ThresholdRules& rules) {
  if (!seen.capacity || !seen.node_used || !seen.kubelet_reserved || seen.capacity->value <= 0) return std::nullopt;
  SuppressRoom out;
  out.capacity = std::min(*seen.capacity, kCapacityMax);
  out.line_percent = std::clamp<std::int64_t>(rules.cpu_suppress_percent, 0, kPercent);
  out.line = part_of(out.capacity, out.line_percent);
  for (const ObservedTask& each : seen.tasks) {
    const CpuMilli used = at_least_none(each.used.value_or(CpuMilli{0}));
    if (!counts_as_online(each.task, seen.groups.besteffort)) {
      out.offline += used;
    } else if (each.task == nullptr || each.task->kind == model::TaskKind::kPod) {
      out.online_pods += used;
    } else {
      out.online_applications += used;
    }
  }
  out.measured_system =
      at_least_none(at_least_none(*seen.node_used) - out.online_pods - out.online_applications - out.offline);
  out.reserved = at_least_none(std::max(*seen.kubelet_reserved, seen.annotation_reserved));
  out.room = at_least_none(out.line - out.online_pods - out.online_applications - out.system_part());
  if (rules.cpu_suppress_min_percent) {
    out.least = part_of(out.capacity, *rules.cpu_suppress_min_percent);
    out.room = std::max(out.room, *out.least);
  }
  return out;
}

}  // namespace tidemark::policy::protect
