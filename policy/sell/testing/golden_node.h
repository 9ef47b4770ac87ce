// Nodes as the golden files of tests/golden/overcommit write them: quantities, annotations and a NodeMetric's status as
// they stand on an API server, a pod by its class, QoS, phase and requests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/testing/source_dir.h"
#include "model/annotations.h"
#include "model/names.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/qos.h"
#include "model/quantity.h"
#include "model/resources.h"
#include "model/selector.h"

namespace tidemark::policy::testing {

inline Json golden_overcommit(const std::string& name) {
  std::ifstream file(base::testing::from_root("tests/golden/overcommit/" + name));
  std::stringstream text;
  text << file.rdbuf();
  auto json = Json::parse(text.str());
  EXPECT_TRUE(json.has_value()) << name;
  return json.value_or(Json());
}

inline model::Quantity golden_quantity(const Json& list, std::string_view name) {
  const Json* found = list.member(name);
  if (found == nullptr) return {};
  auto parsed = model::Quantity::from_json(*found);
  EXPECT_TRUE(parsed.has_value()) << name;
  return parsed.value_or(model::Quantity());
}

// cpu and memory of a resource list; 0 where it does not list them or is not there.
inline model::Resources golden_resources(const Json* list) {
  if (list == nullptr) return {};
  return {cpu_milli(golden_quantity(*list, "cpu")), memory_bytes(golden_quantity(*list, "memory"))};
}

inline std::optional<std::string_view> golden_annotation(const Json& node, std::string_view key) {
  const Json* found = node.at("annotations", key);
  return found == nullptr ? std::nullopt : found->get_string();
}

inline std::vector<model::Label> golden_labels(const Json& node) {
  std::vector<model::Label> labels;
  for (const auto& [key, value] : node.at("labels")->as_object()) labels.push_back({key, value.as_string()});
  return labels;
}

inline model::PodView golden_pod(std::string_view pod_namespace, const Json& item) {
  model::PodView pod;
  pod.id = {pod_namespace, item.text_at("name")};
  pod.phase = model::parse_pod_phase(item.text_at("phase"));
  model::PodResources resources;
  resources.containers.push_back({golden_resources(item.at("requests")), {}, false});
  pod.request = effective_request(resources);
  pod.qos = qos_with_default(model::parse_qos(item.text_at("qos")), kube_qos(resources));
  pod.priority = priority_class_with_default(model::parse_priority_class(item.text_at("prio")), pod.qos);
  if (const Json* zones = item.at("numa")) {
    for (const Json& zone : zones->as_array()) pod.numa_nodes.push_back(static_cast<std::int32_t>(*zone.get_int()));
  }
  return pod;
}

inline model::NodeMetricView golden_metric(const Json& status, base::WallTime update_time) {
  model::NodeMetricView metric;
  metric.update_time = update_time;
  metric.has_node_metric = status.at("nodeMetric") != nullptr;
  if (const Json* use = status.at("nodeMetric", "nodeUsage", "resources")) metric.node_usage = golden_resources(use);
  metric.system_usage = golden_resources(status.at("nodeMetric", "systemUsage", "resources"));
  for (const Json& item : status.at("podsMetric")->as_array()) {
    metric.pods.push_back({{item.text_at("namespace"), item.text_at("name")},
                           golden_resources(item.at("podUsage", "resources")),
                           model::parse_priority_class(item.text_at("priority")),
                           model::parse_qos(item.text_at("qos"))});
  }
  for (const Json& item : status.at("hostApplicationMetric")->as_array()) {
    metric.host_applications.push_back(
        {std::string(item.text_at("name")), golden_resources(item.at("usage", "resources")),
         model::parse_priority_class(item.text_at("priority")), model::parse_qos(item.text_at("qos"))});
  }
  metric.prod_reclaimable = golden_resources(status.at("prodReclaimableMetric", "resource", "resources"));
  return metric;
}

// What the node itself says: without its pods and what was measured.
inline model::NodeSnapshot golden_node(const Json& node) {
  model::NodeSnapshot snapshot;
  snapshot.capacity = golden_resources(node.at("capacity"));
  snapshot.allocatable = golden_resources(node.at("allocatable"));
  if (const auto text = golden_annotation(node, model::kReservationAnnotation)) {
    snapshot.reserved_by_annotation = model::parse_reservation(*text).value_or(model::Resources());
  }
  if (const auto text = golden_annotation(node, model::kThirdPartyAllocationsAnnotation)) {
    auto allocations = model::parse_third_party_allocations(*text);
    snapshot.third_party.reset();
    if (allocations) snapshot.third_party = std::move(*allocations);
  }
  return snapshot;
}

// The way the manager writes it on the node: a plain quantity, "" where the key is absent.
template <class Amount>
std::string as_written(std::optional<Amount> amount) {
  return amount ? model::Quantity::of(amount->value).to_string() : "";
}

}  // namespace tidemark::policy::testing
