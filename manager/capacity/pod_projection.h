// A pod as the manager keeps it. A cluster has thirty times as many pods as nodes, and a decision about a node reads
// all of its pods: so what a decision needs is worked out once, when the pod is decoded, and lies in one small block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/intern.h"
#include "model/pod.h"
#include "model/qos.h"
#include "model/resources.h"

namespace tidemark::manager {

struct PodProjection {
  struct Meta {
    kube::Text ns;
    kube::Text name;
    std::string resource_version;
  };
  Meta meta;
  kube::Text node_name;  // empty: not bound yet
  bool sold = false;     // it requests batch or mid resources
  model::PodId id;
  model::Resources request;
  model::Resources batch_request;  // batch-cpu and batch-memory of its containers
  model::PodPhase phase = model::PodPhase::kUnknown;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
  std::vector<std::int32_t> numa_nodes;  // empty for most

  model::PodView view() const;
  std::size_t bytes() const;
};

Result<PodProjection> decode_pod_projection(std::string_view bytes, kube::Interner& interner);

}  // namespace tidemark::manager
