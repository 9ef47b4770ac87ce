#include "kube/convert.h"

#include <utility>

#include "base/text.h"
#include "model/annotations.h"
#include "model/names.h"

namespace tidemark::kube {
namespace {

std::vector<model::ContainerResources> to_containers(const std::vector<Container>& containers) {
  std::vector<model::ContainerResources> out;
  out.reserve(containers.size());
  for (const Container& container : containers) {
    out.push_back({native_resources(container.requests), native_resources(container.limits), container.restart_always});
  }
  return out;
}

std::optional<model::CpuMilli> cpu_of(const ResourceList& list, std::string_view name) {
  const auto amount = list.find(name);
  return amount ? std::optional(model::CpuMilli{*amount}) : std::nullopt;
}

std::optional<model::MemoryBytes> memory_of(const ResourceList& list, std::string_view name) {
  const auto amount = list.find(name);
  return amount ? std::optional(model::MemoryBytes{*amount}) : std::nullopt;
}

// The annotation's text by its parser; an error is noted and answered with nothing.
template <class T, class Parse>
std::optional<T> read_annotation(const Node& node, std::string_view key, Parse&& parse,
                                 std::vector<std::string>& notes) {
  Result<T> value = parse(node.meta.annotations.get(key));
  if (value) return std::move(*value);
  notes.push_back(base::cat("annotation ", key, ": ", value.error().message));
  return std::nullopt;
}

std::optional<std::string> text_of(const Node& node, std::string_view key) {
  const Text* text = node.meta.annotations.find(key);
  return text == nullptr ? std::nullopt : std::optional(std::string(text->view()));
}

}  // namespace

PodFields overcommit_pod_fields() {
  PodFields fields;
  fields.meta.labels = {model::kQosClassLabel, model::kPriorityClassLabel, model::kPriorityLabel};
  fields.meta.annotations = {model::kResourceStatusAnnotation};
  fields.statuses = false;
  return fields;
}

NodeFields overcommit_node_fields() {
  NodeFields fields;
  fields.meta.labels = KeyFilter::all();  // the configuration selects nodes by any of them
  fields.meta.annotations = {model::kColocationStrategyAnnotation, model::kReservationAnnotation,
                             model::kOriginAllocatableAnnotation,  model::kThirdPartyAllocationsAnnotation,
                             model::kNormalizationRatioAnnotation, model::kAmplificationRatioAnnotation};
  fields.info = false;
  return fields;
}

NodeMetricFields overcommit_node_metric_fields() {
  return {};
}

MetaFields overcommit_topology_fields() {
  return {{}, {model::kCpuBasicInfoAnnotation}};
}

model::Resources native_resources(const ResourceList& list) {
  return {{list.cpu_milli().value_or(0)}, {list.memory_bytes().value_or(0)}};
}

model::ExtendedResources extended_resources(const ResourceList& list) {
  return {cpu_of(list, model::kBatchCpu), memory_of(list, model::kBatchMemory), cpu_of(list, model::kMidCpu),
          memory_of(list, model::kMidMemory)};
}

model::Resources batch_request(const Pod& pod) {
  const auto of = [](const Container& container) {
    return model::Resources{{container.requests.get(model::kBatchCpu)}, {container.requests.get(model::kBatchMemory)}};
  };
  model::Resources sum;
  for (const auto& container : pod.containers) sum += of(container);
  model::Resources largest;
  for (const auto& container : pod.init_containers) {
    if (container.restart_always) {
      sum += of(container);
    } else {
      largest = model::max(largest, of(container));
    }
  }
  return model::max(sum, largest);
}

model::PodResources to_pod_resources(const Pod& pod) {
  model::PodResources out;
  out.containers = to_containers(pod.containers);
  out.init_containers = to_containers(pod.init_containers);
  out.overhead = native_resources(pod.overhead);
  if (!pod.pod_requests.empty() || !pod.pod_limits.empty()) {
    out.pod_level = model::PodLevelResources{cpu_of(pod.pod_requests, "cpu"), memory_of(pod.pod_requests, "memory"),
                                             cpu_of(pod.pod_limits, "cpu"), memory_of(pod.pod_limits, "memory")};
  }
  return out;
}

model::PodView to_pod_view(const Pod& pod) {
  const model::PodResources resources = to_pod_resources(pod);
  model::PodView view;
  view.id = {pod.meta.ns, pod.meta.name};
  view.phase = pod.phase;
  const model::KubeQos kube = pod.qos ? *pod.qos : model::kube_qos(resources);
  view.qos = model::qos_with_default(model::parse_qos(pod.meta.labels.get(model::kQosClassLabel)), kube);
  const Text* label = pod.meta.labels.find(model::kPriorityClassLabel);
  const auto raw =
      model::priority_class_raw(label == nullptr ? std::nullopt : std::optional(label->view()), pod.priority);
  view.priority = model::priority_class_with_default(raw, view.qos);
  view.request = model::effective_request(resources);
  if (const Text* placed = pod.meta.annotations.find(model::kResourceStatusAnnotation)) {
    view.numa_nodes = model::parse_numa_nodes(placed->view()).value_or(std::vector<std::int32_t>());
  }
  return view;
}

namespace {

// Lists the parts of a report with negative usage; it must not count as capacity to sell.
std::string lift_to_zero(model::NodeMetricView& view) {
  std::string below;
  const auto at_least_zero = [&below](std::string_view part, model::Resources& used) {
    if (used.cpu >= model::CpuMilli{} && used.memory >= model::MemoryBytes{}) return;
    used = model::max(used, model::Resources{});
    if (below.ends_with(part)) return;  // of pods and host applications there are many
    below += below.empty() ? "" : ", ";
    below += part;
  };
  if (view.node_usage) at_least_zero("nodeUsage", *view.node_usage);
  at_least_zero("systemUsage", view.system_usage);
  for (auto& pod : view.pods) at_least_zero("podUsage", pod.usage);
  for (auto& application : view.host_applications) at_least_zero("usage of hostApplicationMetric", application.usage);
  at_least_zero("prodReclaimableMetric", view.prod_reclaimable);
  view.below_zero = !below.empty();
  return below;
}

model::NodeMetricView read_metric(const NodeMetric& metric, std::string& below_zero) {
  model::NodeMetricView view;
  view.update_time = metric.updated;
  view.has_node_metric = metric.has_node_metric;
  if (metric.node_usage.cpu_milli() && metric.node_usage.memory_bytes()) {
    view.node_usage = native_resources(metric.node_usage);
  }
  view.system_usage = native_resources(metric.system_usage);
  view.pods = metric.pods;
  view.host_applications.reserve(metric.host_applications.size());
  for (const HostApplicationMetric& application : metric.host_applications) {
    view.host_applications.push_back({std::string(application.name.view()), native_resources(application.usage),
                                      model::parse_priority_class(application.priority),
                                      model::parse_qos(application.qos)});
  }
  if (metric.prod_reclaimable) view.prod_reclaimable = native_resources(*metric.prod_reclaimable);
  below_zero = lift_to_zero(view);
  return view;
}

}  // namespace

model::NodeMetricView to_node_metric_view(const NodeMetric& metric) {
  std::string below_zero;
  return read_metric(metric, below_zero);
}

Conversion to_node_snapshot(const Node& node, std::vector<model::PodView> pods, const NodeMetric* metric,
                            const NodeResourceTopology* topology) {
  Conversion out;
  model::NodeSnapshot& snapshot = out.snapshot;
  snapshot.name = node.meta.name.view();
  snapshot.capacity = native_resources(node.capacity);
  snapshot.allocatable = native_resources(node.allocatable);
  snapshot.published = extended_resources(node.allocatable);
  if (node.meta.annotations.has(model::kReservationAnnotation)) {
    const auto reserved =
        read_annotation<model::Resources>(node, model::kReservationAnnotation, model::parse_reservation, out.notes);
    snapshot.reserved_by_annotation = reserved.value_or(model::Resources());
    snapshot.reservation_unreadable = !reserved;
  }
  if (node.meta.annotations.has(model::kOriginAllocatableAnnotation)) {
    snapshot.origin =
        read_annotation<model::Resources>(node, model::kOriginAllocatableAnnotation, model::parse_origin, out.notes);
  }
  if (node.meta.annotations.has(model::kThirdPartyAllocationsAnnotation)) {
    snapshot.third_party = read_annotation<std::vector<model::ThirdPartyAllocation>>(
        node, model::kThirdPartyAllocationsAnnotation, model::parse_third_party_allocations, out.notes);
  }
  snapshot.pods = std::move(pods);
  if (metric != nullptr) {
    std::string below_zero;
    snapshot.metric = read_metric(*metric, below_zero);
    if (!below_zero.empty()) {
      out.notes.push_back(base::cat("NodeMetric: ", below_zero,
                                    " is below 0: it counts as 0, and with profile tidemark "
                                    "nothing grows on it"));
    }
  }
  if (topology != nullptr) snapshot.topology = to_topology_view(*topology, out.notes);
  snapshot.normalization_annotation = text_of(node, model::kNormalizationRatioAnnotation);
  snapshot.amplification_annotation = text_of(node, model::kAmplificationRatioAnnotation);
  return out;
}

}  // namespace tidemark::kube
