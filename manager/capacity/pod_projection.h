// The manager's projection of a pod. A cluster has thirty times as many pods as nodes, and a decision about a node
// reads all of its pods. So the values are computed once, when the pod is decoded, and stored in one small block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/intern.h"
#include "manager/evictions/pod_end.h"
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
  kube::Text
      workload;  // "NAMESPACE/KIND/NAME" of online work (policy/waterline/profile/workload.h); "" where it has none
  kube::Text containers;  // the same pods': what each container requests (policy/waterline/profile/recommendation.h)
  kube::Text work_class;  // of what is sold: `tidemark.io/class`
  bool sold = false;      // it requests batch or mid resources
  model::PodPhase phase = model::PodPhase::kUnknown;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
  std::uint32_t started_s = 0;  // seconds since 1970; 0: unset
  model::PodId id;
  model::Resources request;
  model::Resources batch_request;        // batch-cpu and batch-memory of its containers
  std::vector<std::int32_t> numa_nodes;  // empty for most
  std::unique_ptr<const PodEnd> end;     // eviction found in the status; null for most pods

  model::PodView view() const;
  bool online() const;  // neither batch nor free
  std::size_t bytes() const;
};

Result<PodProjection> decode_pod_projection(std::string_view bytes, kube::Interner& interner);

}  // namespace tidemark::manager
