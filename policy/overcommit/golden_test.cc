// Numbers equal to the peer's, to the unit: 24 nodes that its manager judged on a real API server.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "model/annotations.h"
#include "model/names.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::policy {
namespace {

using model::Resources;

const base::WallTime kNow{std::chrono::hours(24 * 365 * 56)};

Json read_json(const std::string& name) {
  std::ifstream file(base::testing::from_root("tests/golden/overcommit/" + name));
  std::stringstream text;
  text << file.rdbuf();
  auto json = Json::parse(text.str());
  EXPECT_TRUE(json.has_value()) << name;
  return json.value_or(Json());
}

model::Quantity quantity(const Json& object, std::string_view name) {
  const Json* found = object.member(name);
  if (found == nullptr) return {};
  auto parsed = model::Quantity::from_json(*found);
  EXPECT_TRUE(parsed.has_value()) << name;
  return parsed.value_or(model::Quantity());
}

Resources native(const Json* list) {
  if (list == nullptr) return {};
  return {cpu_milli(quantity(*list, "cpu")), memory_bytes(quantity(*list, "memory"))};
}

std::optional<std::string_view> annotation(const Json& node, std::string_view key) {
  const Json* found = node.at("annotations", key);
  return found == nullptr ? std::nullopt : found->get_string();
}

model::PodView pod_of(const Json& item) {
  model::PodView pod;
  pod.id = {"default", item.text_at("name")};
  pod.phase = model::parse_pod_phase(item.text_at("phase"));
  model::PodResources resources;
  resources.containers.push_back({native(item.at("requests")), {}, false});
  pod.request = effective_request(resources);
  pod.qos = qos_with_default(model::parse_qos(item.text_at("qos")), kube_qos(resources));
  pod.priority = priority_class_with_default(model::parse_priority_class(item.text_at("prio")), pod.qos);
  return pod;
}

model::NodeMetricView metric_of(const Json& status, std::int64_t age_s) {
  model::NodeMetricView metric;
  metric.update_time = kNow + std::chrono::seconds(-age_s);
  metric.has_node_metric = status.at("nodeMetric") != nullptr;
  metric.node_usage = native(status.at("nodeMetric", "nodeUsage", "resources"));
  metric.system_usage = native(status.at("nodeMetric", "systemUsage", "resources"));
  for (const Json& item : status.at("podsMetric")->as_array()) {
    metric.pods.push_back({{item.text_at("namespace"), item.text_at("name")},
                           native(item.at("podUsage", "resources")),
                           model::parse_priority_class(item.text_at("priority")),
                           model::parse_qos(item.text_at("qos"))});
  }
  for (const Json& item : status.at("hostApplicationMetric")->as_array()) {
    metric.host_applications.push_back({std::string(item.text_at("name")), native(item.at("usage", "resources")),
                                        model::parse_priority_class(item.text_at("priority")),
                                        model::parse_qos(item.text_at("qos"))});
  }
  metric.prod_reclaimable = native(status.at("prodReclaimableMetric", "resource", "resources"));
  return metric;
}

model::NodeSnapshot snapshot_of(const Json& node) {
  model::NodeSnapshot snapshot;
  snapshot.name = node.text_at("node");
  snapshot.capacity = native(node.at("capacity"));
  snapshot.allocatable = native(node.at("allocatable"));
  if (const auto text = annotation(node, model::kReservationAnnotation)) {
    snapshot.reserved_by_annotation = model::parse_reservation(*text).value_or(Resources());
  }
  if (const auto text = annotation(node, model::kThirdPartyAllocationsAnnotation)) {
    auto allocations = model::parse_third_party_allocations(*text);
    snapshot.third_party.reset();
    if (allocations) snapshot.third_party = std::move(*allocations);
  }
  for (const Json& item : node.at("pods")->as_array()) snapshot.pods.push_back(pod_of(item));
  snapshot.metric = metric_of(*node.at("nodeMetricStatus"), *node.at("metricAgeSeconds")->get_int());
  return snapshot;
}

// The way the manager writes it on the node: a plain quantity, "" where the key is absent.
template <class Amount>
std::string written(std::optional<Amount> amount) {
  return amount ? model::Quantity::of(amount->value).to_string() : "";
}

// By amount, because a quantity may be written in several ways ("12k" is "12000").
void expect_amount(const std::string& ours, std::string_view theirs, const std::string& what) {
  if (ours.empty() || theirs.empty()) {
    EXPECT_EQ(ours, theirs) << what;
    return;
  }
  EXPECT_EQ(model::Quantity::parse(ours)->canonical(), model::Quantity::parse(theirs)->canonical()) << what;
  EXPECT_EQ(*model::Quantity::parse(ours), *model::Quantity::parse(theirs)) << what;
}

TEST(Golden, EveryNodeGetsThePeersNumbers) {
  const Json cases = read_json("cases.json");
  const Json expected = read_json("expected.json");
  const auto config = parse_colocation_config(cases.at("colocation-config")->dump());
  ASSERT_TRUE(config.has_value());
  ASSERT_EQ(cases.at("cases")->as_array().size(), 24U);

  for (const Json& node : cases.at("cases")->as_array()) {
    const model::NodeSnapshot snapshot = snapshot_of(node);
    std::vector<model::Label> labels;
    for (const auto& [key, value] : node.at("labels")->as_object()) labels.push_back({key, value.as_string()});
    const auto strategy = strategy_for(*config, labels, annotation(node, model::kColocationStrategyAnnotation));

    const auto plan = overcommit(snapshot, strategy, kNow);

    const Json* allocatable = expected.at(snapshot.name, "allocatable");
    ASSERT_NE(allocatable, nullptr) << snapshot.name;
    expect_amount(written(plan.publish.batch_cpu), allocatable->text_at(model::kBatchCpu),
                  snapshot.name + " batch-cpu");
    expect_amount(written(plan.publish.batch_memory), allocatable->text_at(model::kBatchMemory),
                  snapshot.name + " batch-memory");
    expect_amount(written(plan.publish.mid_cpu), allocatable->text_at(model::kMidCpu), snapshot.name + " mid-cpu");
    expect_amount(written(plan.publish.mid_memory), allocatable->text_at(model::kMidMemory),
                  snapshot.name + " mid-memory");

    ASSERT_TRUE(plan.origin.has_value()) << snapshot.name;
    EXPECT_EQ(*Json::parse(model::format_origin(*plan.origin))->at("resources"), *expected.at(snapshot.name, "origin"))
        << snapshot.name;
  }
}

}  // namespace
}  // namespace tidemark::policy
