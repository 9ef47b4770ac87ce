// Every kept field against objects as a real kube-apiserver wrote them.
#include "kube/objects.h"

#include <gtest/gtest.h>

#include <random>

#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using testing::testdata;

constexpr std::int64_t kObjectsMi = 1024 * 1024;
constexpr std::int64_t kObjectsGi = 1024 * kObjectsMi;

base::WallTime at(std::string_view text) {
  return base::parse_rfc3339(text).value();
}

Pod web(Interner& interner, PodFields fields = {{KeyFilter::all(), KeyFilter::all()}, true, true}) {
  auto pod = decode_pod(testdata("pod_web.json"), fields, interner);
  if (!pod) throw std::runtime_error(pod.error().message);
  return std::move(*pod);
}

TEST(PodProjection, Metadata) {
  Interner interner;
  const Pod pod = web(interner);
  EXPECT_EQ(pod.meta.ns, "default");
  EXPECT_EQ(pod.meta.name, "web-0");
  EXPECT_EQ(pod.meta.uid.size(), 36u);
  EXPECT_FALSE(pod.meta.resource_version.empty());
  EXPECT_TRUE(pod.meta.created);
  EXPECT_FALSE(pod.meta.deleted);
  EXPECT_EQ(pod.meta.labels.size(), 3u);
  EXPECT_EQ(pod.meta.labels.get("koordinator.sh/qosClass"), "LS");
  EXPECT_EQ(pod.meta.annotations.get("example.com/note"), "a \"quoted\" note with ünïcode");
  EXPECT_EQ(pod.meta.owner_kind, "StatefulSet");
  EXPECT_EQ(pod.meta.owner_name, "web");
}

TEST(PodProjection, TextsBeyondTheInternerCountWithThePod) {
  Interner roomy, none(0);
  const Pod shared = web(roomy);
  const Pod alone = web(none);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(alone.meta.ns, shared.meta.ns);
  EXPECT_EQ(alone.meta.labels.get("koordinator.sh/qosClass"), "LS");
  EXPECT_GE(alone.bytes(), shared.bytes() + roomy.size() * 32) << "a block for each text";
}

TEST(PodProjection, SpecAndResources) {
  Interner interner;
  const Pod pod = web(interner);
  EXPECT_EQ(pod.node_name, "node-a");
  EXPECT_EQ(pod.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.priority, 9000);
  EXPECT_FALSE(pod.host_network);
  ASSERT_EQ(pod.containers.size(), 2u);
  EXPECT_EQ(pod.containers[0].name, "app");
  EXPECT_EQ(pod.containers[0].requests.cpu_milli(), 500);
  EXPECT_EQ(pod.containers[0].requests.memory_bytes(), kObjectsGi);
  EXPECT_EQ(pod.containers[0].limits.cpu_milli(), 2000);
  EXPECT_EQ(pod.containers[0].limits.memory_bytes(), 2 * kObjectsGi);
  EXPECT_EQ(pod.containers[1].requests.cpu_milli(), 100);
  EXPECT_EQ(pod.containers[1].requests.memory_bytes(), 100'000'000);
  EXPECT_TRUE(pod.containers[1].limits.empty());
  ASSERT_EQ(pod.init_containers.size(), 2u);
  EXPECT_FALSE(pod.init_containers[0].restart_always);
  EXPECT_EQ(pod.init_containers[0].requests.cpu_milli(), 1000);
  EXPECT_TRUE(pod.init_containers[1].restart_always);
  EXPECT_EQ(pod.init_containers[1].limits.memory_bytes(), 256 * kObjectsMi);
  EXPECT_EQ(pod.overhead.cpu_milli(), 250);
  EXPECT_EQ(pod.overhead.memory_bytes(), 120 * kObjectsMi);
  EXPECT_TRUE(pod.pod_requests.empty());
}

TEST(PodProjection, Status) {
  Interner interner;
  const Pod pod = web(interner);
  EXPECT_EQ(pod.phase, model::PodPhase::kRunning);
  EXPECT_EQ(pod.qos, model::KubeQos::kBurstable);
  EXPECT_EQ(pod.ready, Truth::kTrue);
  EXPECT_EQ(pod.started, at("2026-01-01T00:00:05Z"));
  EXPECT_FALSE(pod.terminal());
  ASSERT_EQ(pod.statuses.size(), 4u);
  int init = 0;
  for (const ContainerStatus& status : pod.statuses) {
    init += status.init ? 1 : 0;
    if (status.name == std::string_view("app")) {
      EXPECT_TRUE(status.ready && status.started && !status.init);
      EXPECT_EQ(status.restarts, 2);
    }
    if (status.name == std::string_view("logs")) EXPECT_FALSE(status.ready || status.started);
    if (status.name == std::string_view("proxy")) EXPECT_EQ(status.restarts, 1);
  }
  EXPECT_EQ(init, 2);
}

TEST(PodProjection, PodLevelResources) {
  Interner interner;
  auto pod = decode_pod(testdata("pod_level.json"), {}, interner);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->pod_requests.cpu_milli(), 1000);
  EXPECT_EQ(pod->pod_limits.memory_bytes(), 2 * kObjectsGi);
  ASSERT_EQ(pod->containers.size(), 2u);
  EXPECT_TRUE(pod->node_name.empty());
  EXPECT_EQ(pod->phase, model::PodPhase::kPending);
}

TEST(PodProjection, CostsOnlyKeptContent) {
  Interner interner;
  const Pod all = web(interner);
  const Pod bare = web(interner, {{}, false, false});
  EXPECT_TRUE(bare.meta.labels.empty());
  EXPECT_TRUE(bare.containers.empty());
  EXPECT_TRUE(bare.statuses.empty());
  EXPECT_EQ(bare.node_name, "node-a");
  EXPECT_EQ(bare.priority, 9000);
  EXPECT_LT(bare.bytes() + 400, all.bytes());
  EXPECT_LT(all.bytes(), testdata("pod_web.json").size() / 4);
  // One label of three.
  const Pod some = web(interner, {{{"koordinator.sh/*"}, {}}, false, false});
  EXPECT_EQ(some.meta.labels.size(), 2u);
  EXPECT_TRUE(some.meta.annotations.empty());
}

TEST(NodeProjection, Fields) {
  Interner interner;
  auto node = decode_node(testdata("node.json"), {{KeyFilter::all(), KeyFilter::all()}, true}, interner);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->meta.name, "node-a");
  EXPECT_EQ(node->capacity.cpu_milli(), 32000);
  EXPECT_EQ(node->capacity.memory_bytes(), 128 * kObjectsGi);
  EXPECT_EQ(node->capacity.get("pods"), 110);
  EXPECT_EQ(node->allocatable.cpu_milli(), 31500);
  EXPECT_EQ(node->allocatable.get("kubernetes.io/batch-cpu"), 5000);
  EXPECT_EQ(node->allocatable.get("kubernetes.io/batch-memory"), 12 * kObjectsGi);
  EXPECT_EQ(node->allocatable.find("kubernetes.io/mid-cpu"), std::nullopt);
  EXPECT_EQ(node->ready(), Truth::kTrue);
  ASSERT_EQ(node->conditions.size(), 2u);
  EXPECT_EQ(node->conditions[0].type, "MemoryPressure");
  EXPECT_EQ(node->conditions[0].status, Truth::kFalse);
  EXPECT_EQ(node->conditions[1].changed, at("2026-01-01T00:01:00Z"));
  bool found = false;
  for (const Taint& taint : node->taints) {
    if (taint.key != std::string_view("dedicated")) continue;
    found = true;
    EXPECT_EQ(taint.value, "online");
    EXPECT_EQ(taint.effect, TaintEffect::kPreferNoSchedule);
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(node->unschedulable);
  EXPECT_EQ(node->info.kubelet_version, "v1.34.2");
  EXPECT_EQ(node->info.kernel_version, "6.1.0-18-cloud-amd64");
  EXPECT_EQ(node->internal_ip, "10.1.2.3");
}

TEST(NodeMetricProjection, Fields) {
  Interner interner;
  NodeMetricFields fields;
  fields.aggregated = true;
  auto metric = decode_node_metric(testdata("node_metric.json"), fields, interner);
  ASSERT_TRUE(metric) << metric.error().message;
  ASSERT_TRUE(metric->policy);
  EXPECT_EQ(metric->policy->aggregate_duration_s, 300);
  EXPECT_EQ(metric->policy->report_interval_s, 60);
  EXPECT_EQ(metric->policy->aggregate_durations,
            (std::vector<base::Duration>{std::chrono::minutes(5), std::chrono::minutes(10), std::chrono::minutes(30)}));
  EXPECT_EQ(metric->policy->memory_collect_policy, "usageWithoutPageCache");
  EXPECT_EQ(metric->updated, at("2026-01-01T00:05:00Z"));
  EXPECT_TRUE(metric->has_node_metric);
  EXPECT_EQ(metric->node_usage.cpu_milli(), 11250);
  EXPECT_EQ(metric->system_usage.memory_bytes(), 3 * kObjectsGi);
  ASSERT_EQ(metric->aggregated_node_usages.size(), 2u);
  EXPECT_EQ(metric->aggregated_node_usages[0].duration, std::chrono::minutes(5));
  ASSERT_NE(metric->aggregated_node_usages[0].find(Aggregation::kP95), nullptr);
  EXPECT_EQ(metric->aggregated_node_usages[0].find(Aggregation::kP95)->cpu_milli(), 12500);
  ASSERT_EQ(metric->aggregated_node_usages[1].usage.size(), 5u);
  EXPECT_TRUE(metric->aggregated_node_usages[1].find(Aggregation::kAvg)->empty()) << "cold: keys without values";
  ASSERT_EQ(metric->pods.size(), 2u);
  EXPECT_EQ(metric->pods[0].id, model::PodId("default", "batch-1"));
  EXPECT_EQ(metric->pods[0].priority, model::PriorityClass::kBatch);
  EXPECT_EQ(metric->pods[0].qos, model::Qos::kBe);
  EXPECT_EQ(metric->pods[1].usage, (model::Resources{{480}, {900 * kObjectsMi}}));
  ASSERT_EQ(metric->host_applications.size(), 1u);
  EXPECT_EQ(metric->host_applications[0].usage.cpu_milli(), 500);
  ASSERT_TRUE(metric->prod_reclaimable);
  EXPECT_EQ(metric->prod_reclaimable->cpu_milli(), 6000);
  EXPECT_FALSE(metric->prod_peak);
}

TEST(NodeMetricProjection, NullAndMissingNodeMetricDiffer) {
  Interner interner;
  auto null = decode_node_metric(R"({"metadata":{"name":"n"},"status":{"nodeMetric":null}})", {}, interner);
  auto there = decode_node_metric(R"({"metadata":{"name":"n"},"status":{"nodeMetric":{}}})", {}, interner);
  ASSERT_TRUE(null && there);
  EXPECT_FALSE(null->has_node_metric);
  EXPECT_TRUE(there->has_node_metric);
}

TEST(SmallKinds, Fields) {
  Interner interner;
  auto map = decode_config_map(testdata("config_map.json"), {}, {"colocation-config"}, interner);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->data.size(), 1u);
  EXPECT_EQ(map->data.get("colocation-config"), R"({"enable":true,"cpuReclaimThresholdPercent":65})");

  auto lease = decode_lease(testdata("lease.json"), {}, interner);
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->holder, "host_1");
  EXPECT_EQ(lease->duration_s, 15);
  EXPECT_EQ(lease->acquired, at("2026-01-01T00:00:00.123456Z"));
  EXPECT_EQ(lease->renewed, at("2026-01-01T00:00:10.654321Z"));
  EXPECT_EQ(lease->transitions, 3);

  auto event = decode_event(testdata("event.json"), {}, interner);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, "Warning");
  EXPECT_EQ(event->reason, "BackOff");
  EXPECT_EQ(event->about_kind, "Pod");
  EXPECT_EQ(event->about_name, "web-0");
  EXPECT_EQ(event->component, "kubelet");
  EXPECT_EQ(event->count, 7);
  EXPECT_EQ(event->last, at("2026-01-01T00:10:00Z"));
}

// The short way of the decoder and a Quantity say the same of every text, be it a quantity or not.
TEST(Resources, EqualTheParsedQuantity) {
  Interner interner;
  std::vector<std::string> texts{
      "0", "00", "007", "1",  "999999999999",         "1000000000000",  "9223372036854775807", "1.5", "-1", "+1", "",
      "m", "Ki", "1 ",  " 1", "12345678901234567890", "999999999999Mi", "99999999999999Mi"};
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(random() >> (random() % 63));
    for (const auto* suffix : {"", "m", "k", "Ki", "Mi", "Gi", "M", "u", "e3", "x"}) texts.push_back(number + suffix);
  }
  for (const std::string& text : texts) {
    const auto quantity = model::Quantity::from_json_text(base::cat("\"", text, "\""));
    const auto node = decode_node(base::cat(R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":")", text,
                                            R"(","memory":")", text, R"("}}})"),
                                  {}, interner);
    ASSERT_EQ(node.has_value(), quantity.has_value()) << text;
    if (!node) continue;
    EXPECT_EQ(node->capacity.cpu_milli(), model::cpu_milli(*quantity).value) << text;
    EXPECT_EQ(node->capacity.memory_bytes(), model::memory_bytes(*quantity).value) << text;
  }
}

TEST(Resources, RoundUpToTheUnit) {
  Interner interner;
  auto node = decode_node(
      R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"1500u","memory":"1500m","a":1.5,"b":2,"c":"9e30"}}})",
      {}, interner);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->capacity.cpu_milli(), 2);
  EXPECT_EQ(node->capacity.memory_bytes(), 2);
  EXPECT_EQ(node->capacity.get("a"), 2);
  EXPECT_EQ(node->capacity.get("b"), 2);
  EXPECT_EQ(node->capacity.get("c"), std::numeric_limits<std::int64_t>::max());
}

TEST(KeyFilter, KeysAndPrefixes) {
  EXPECT_FALSE(KeyFilter().keeps("a"));
  EXPECT_TRUE(KeyFilter::all().keeps("anything"));
  const KeyFilter filter = {"exact", "pre/*"};
  EXPECT_TRUE(filter.keeps("exact"));
  EXPECT_FALSE(filter.keeps("exactly"));
  EXPECT_TRUE(filter.keeps("pre/fix"));
  EXPECT_FALSE(filter.keeps("pre"));
}

}  // namespace
}  // namespace tidemark::kube
