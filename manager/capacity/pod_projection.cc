#include "manager/capacity/pod_projection.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kube/convert.h"
#include "kube/objects.h"
#include "model/names.h"
#include "policy/waterline/profile/recommendation.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::manager {

model::PodView PodProjection::view() const {
  model::PodView view;
  view.id = id;
  view.phase = phase;
  view.priority = priority;
  view.qos = qos;
  view.request = request;
  view.numa_nodes = numa_nodes;
  return view;
}

bool PodProjection::online() const {
  return priority != model::PriorityClass::kBatch && priority != model::PriorityClass::kFree;
}

std::size_t PodProjection::bytes() const {
  return kube::allocated_bytes(sizeof(PodProjection)) + meta.ns.bytes() + meta.name.bytes() +
         kube::string_bytes(meta.resource_version) + node_name.bytes() + workload.bytes() + work_class.bytes() +
         containers.bytes() + kube::allocated_bytes(numa_nodes.capacity() * sizeof(numa_nodes[0])) +
         (end == nullptr ? 0 : kube::allocated_bytes(end->bytes()));
}

namespace {

constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

bool requests_sold(const kube::Pod& pod) {
  const auto sold = [](const kube::ResourceList& requests) {
    return requests.get(model::kBatchCpu) > 0 || requests.get(model::kBatchMemory) > 0 ||
           requests.get(model::kMidCpu) > 0 || requests.get(model::kMidMemory) > 0;
  };
  const auto any = [&](const std::vector<kube::Container>& containers) {
    return std::ranges::any_of(containers, [&](const kube::Container& each) { return sold(each.requests); });
  };
  return any(pod.containers) || any(pod.init_containers);
}

kube::PodFields projected_fields() {
  kube::PodFields fields = kube::overcommit_pod_fields();
  fields.meta.labels = {model::kQosClassLabel, model::kPriorityClassLabel, model::kPriorityLabel, model::kClassLabel,
                        kTemplateHashLabel};
  return fields;
}

// When it began to warm up: the kubelet's word, held to what the API server's own clock says of its creation.
std::uint32_t started_s(const kube::Pod& pod) {
  constexpr base::Duration kPendingMax = std::chrono::hours(24);
  if (!pod.meta.created) return 0;
  base::WallTime start = *pod.meta.created;
  if (pod.started) start = std::clamp(*pod.started, start, start + kPendingMax);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(start.since_epoch).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, std::numeric_limits<std::uint32_t>::max()));
}

std::vector<policy::waterline::ContainerRequest> container_requests(const kube::Pod& pod) {
  std::vector<policy::waterline::ContainerRequest> requests;
  for (const auto& container : pod.containers) {
    requests.push_back({std::string(container.name), kube::native_resources(container.requests)});
  }
  return requests;
}

}  // namespace

Result<PodProjection> decode_pod_projection(std::string_view bytes, kube::Interner& interner) {
  static const kube::PodFields fields = projected_fields();
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  model::PodView view = kube::to_pod_view(pod);
  PodProjection kept;
  kept.meta = {std::move(pod.meta.ns), std::move(pod.meta.name), std::move(pod.meta.resource_version)};
  kept.node_name = std::move(pod.node_name);
  kept.id = view.id;
  kept.request = view.request;
  kept.batch_request = kube::batch_request(pod);
  kept.phase = view.phase;
  kept.priority = view.priority;
  kept.qos = view.qos;
  kept.sold = requests_sold(pod);
  if (kept.sold) {
    if (const kube::Text* work_class = pod.meta.labels.find(model::kClassLabel)) kept.work_class = *work_class;
  }
  kept.numa_nodes = std::move(view.numa_nodes);
  kept.started_s = started_s(pod);
  if (kept.online()) {
    const policy::waterline::PodOwner owner{pod.meta.owner_kind, pod.meta.owner_name,
                                            pod.meta.labels.get(kTemplateHashLabel)};
    const auto workload = policy::waterline::workload_of(kept.meta.ns, owner);
    if (!workload.none()) {
      kept.workload = interner.intern(policy::waterline::workload_text(workload));
      kept.containers = interner.intern(policy::waterline::containers_text(container_requests(pod)));
    }
  }
  if (may_be_disrupted(bytes)) {
    TM_TRY(PodEnd end, decode_pod_end(bytes, interner));
    if (end.by != EndedBy::kNothing) kept.end = std::make_unique<const PodEnd>(std::move(end));
  }
  return kept;
}

}  // namespace tidemark::manager
