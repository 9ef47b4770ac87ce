#include "model/pod.h"

#include <array>
#include <utility>

namespace tidemark::model {
namespace {

constexpr std::array<std::pair<std::string_view, PodPhase>, 4> kPhaseNames{{{"Pending", PodPhase::kPending},
                                                                            {"Running", PodPhase::kRunning},
                                                                            {"Succeeded", PodPhase::kSucceeded},
                                                                            {"Failed", PodPhase::kFailed}}};

// The sums over containers that Kubernetes compares; values that are not positive do not count as set.
struct QosSums {
  Resources requests;
  Resources limits;
  bool all_limited = true;  // every container limits both

  void add(Resources container_requests, Resources container_limits) {
    const Resources zero;
    requests += max(container_requests, zero);
    limits += max(container_limits, zero);
    all_limited &= container_limits.cpu > zero.cpu && container_limits.memory > zero.memory;
  }
};

}  // namespace

PodPhase parse_pod_phase(std::string_view text) {
  for (const auto& [name, phase] : kPhaseNames) {
    if (name == text) return phase;
  }
  return PodPhase::kUnknown;
}

std::string_view to_string(PodPhase phase) {
  for (const auto& [name, each] : kPhaseNames) {
    if (each == phase) return name;
  }
  return "Unknown";
}

Resources effective_request(const PodResources& pod) {
  Resources running;
  for (const auto& container : pod.containers) running += container.requests;

  Resources sidecars;
  Resources starting;
  for (const auto& container : pod.init_containers) {
    if (container.restart_always) {
      running += container.requests;
      sidecars += container.requests;
      starting = max(starting, sidecars);
    } else {
      starting = max(starting, container.requests + sidecars);
    }
  }

  Resources request = max(running, starting);
  if (pod.pod_level) {
    request.cpu = pod.pod_level->cpu_request.value_or(request.cpu);
    request.memory = pod.pod_level->memory_request.value_or(request.memory);
  }
  return request + pod.overhead;
}

KubeQos kube_qos(const PodResources& pod) {
  QosSums sums;
  if (pod.pod_level) {
    const PodLevelResources& level = *pod.pod_level;
    sums.add({level.cpu_request.value_or(CpuMilli{}), level.memory_request.value_or(MemoryBytes{})},
             {level.cpu_limit.value_or(CpuMilli{}), level.memory_limit.value_or(MemoryBytes{})});
  } else {
    for (const auto& container : pod.containers) sums.add(container.requests, container.limits);
    for (const auto& container : pod.init_containers) sums.add(container.requests, container.limits);
  }
  if (sums.requests == Resources() && sums.limits == Resources()) return KubeQos::kBestEffort;
  if (sums.all_limited && sums.requests == sums.limits) return KubeQos::kGuaranteed;
  return KubeQos::kBurstable;
}

}  // namespace tidemark::model
