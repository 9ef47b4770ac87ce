// The part of a pod that decisions need, and the Kubernetes rules that compute it from the specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/pod_id.h"
#include "model/qos.h"
#include "model/resources.h"

namespace tidemark::model {

enum class PodPhase : std::uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };
PodPhase parse_pod_phase(std::string_view text);
std::string_view to_string(PodPhase);

// A pod that started recently: it will use more than it uses now.
struct WarmUp {
  std::int64_t left_permille = 0;     // of the ramp: 1000 when it has just started
  std::optional<Resources> expected;  // the use of its workload's pods at this hour; nullopt: unknown
  bool operator==(const WarmUp&) const = default;
};

// A pod on a node as the overcommit formulas see it.
struct PodView {
  PodId id;
  PodPhase phase = PodPhase::kUnknown;
  PriorityClass priority = PriorityClass::kNone;  // with default
  Qos qos = Qos::kNone;                           // with default
  Resources request;                              // effective, native cpu and memory
  std::vector<std::int32_t> numa_nodes{};         // the scheduler's placement; empty: none
  std::optional<WarmUp> warm_up{};                // nullopt: its measured use counts
};

// Native cpu and memory of one container; absent is 0 (both rules below treat an explicit 0 like an absent value).
struct ContainerResources {
  Resources requests;
  Resources limits;
  bool restart_always = false;  // of an init container: it is a sidecar and runs on beside the others
};

// If spec.resources (pod level) is set, it overrides the sum over containers, each resource separately.
struct PodLevelResources {
  std::optional<CpuMilli> cpu_request;
  std::optional<MemoryBytes> memory_request;
  std::optional<CpuMilli> cpu_limit;
  std::optional<MemoryBytes> memory_limit;
};

struct PodResources {
  std::vector<ContainerResources> containers;
  std::vector<ContainerResources> init_containers;  // in their order: it matters
  std::optional<PodLevelResources> pod_level;       // nullopt if spec.resources is absent
  Resources overhead;
};

// The amount that the scheduler reserves for the pod.
//
//    running  = Σ containers + Σ sidecars
//    starting = max over init containers i of: request(i) + Σ sidecars before i   (a sidecar itself: Σ sidecars up to
//    it) request  = max(running, starting), replaced by the pod level where set, + overhead
Resources effective_request(const PodResources& pod);

// Kubernetes' QoS class from the specification, for a status that does not carry it yet.
KubeQos kube_qos(const PodResources& pod);

}  // namespace tidemark::model
