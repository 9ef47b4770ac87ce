#include "kube/node_metric_encode.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "kube/intern.h"
#include "kube/objects.h"

namespace tidemark::kube {
namespace {

using model::PriorityClass;
using model::Qos;
using model::Resources;
using std::chrono::minutes;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr base::WallTime kTime{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

Resources use(std::int64_t cpu_milli, std::int64_t memory_bytes) {
  return {{cpu_milli}, {memory_bytes}};
}

model::NodeMetricReport full() {
  model::NodeMetricReport report;
  report.update_time = kTime + std::chrono::milliseconds(999);
  report.node_usage = use(11'250, 40 * kGi);
  report.aggregated_node_usages = {{minutes(5), use(11'000, 40 * kGi), use(10'500, 39 * kGi), use(12'000, 41 * kGi),
                                    use(12'500, 42 * kGi), use(13'000, 43 * kGi)},
                                   {minutes(30), {}, {}, {}, {}, {}}};
  report.system_usage = use(1'500, 3 * kGi);
  report.aggregated_system_usages = {{minutes(5), use(1, 1), use(1, 1), use(1, 1), use(1, 1), use(1, 1)},
                                     {minutes(30), {}, {}, {}, {}, {}}};
  report.numa_usages = {{0, use(6'000, 20 * kGi), use(750, 3 * kGi / 2)}, {1, std::nullopt, std::nullopt}};
  report.pods = {{"default", "web-1", use(480, 900 * kMi), PriorityClass::kProd, Qos::kLs},
                 {"spark", "exec-2", use(0, 1'000'001), PriorityClass::kBatch, Qos::kBe},
                 {"spark", "odd", use(12'000, 0), PriorityClass::kNone, Qos::kNone}};
  report.host_applications = {{"nginx", use(500, kGi), PriorityClass::kProd, Qos::kLs}};
  report.prod_reclaimable = use(6'000, 8 * kGi);
  report.prod_peak = use(9'375, 20 * kGi);
  return report;
}

// The field forms of contract 3.1, in its order: cpu as decimal SI with thousandths, memory as binary SI, {} where a
// usage is cold.
constexpr std::string_view kFull =
    R"({"updateTime":"2026-01-01T00:00:00Z",)"
    R"("nodeMetric":{"nodeUsage":{"resources":{"cpu":"11250m","memory":"40Gi"}},)"
    R"("aggregatedNodeUsages":[{"usage":{"avg":{"resources":{"cpu":"11","memory":"40Gi"}},)"
    R"("p50":{"resources":{"cpu":"10500m","memory":"39Gi"}},"p90":{"resources":{"cpu":"12","memory":"41Gi"}},)"
    R"("p95":{"resources":{"cpu":"12500m","memory":"42Gi"}},"p99":{"resources":{"cpu":"13","memory":"43Gi"}}},)"
    R"("duration":"5m0s"},{"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"30m0s"}],)"
    R"("systemUsage":{"resources":{"cpu":"1500m","memory":"3Gi"}},)"
    R"("aggregatedSystemUsages":[{"usage":{"avg":{"resources":{"cpu":"1m","memory":"1"}},)"
    R"("p50":{"resources":{"cpu":"1m","memory":"1"}},"p90":{"resources":{"cpu":"1m","memory":"1"}},)"
    R"("p95":{"resources":{"cpu":"1m","memory":"1"}},"p99":{"resources":{"cpu":"1m","memory":"1"}}},)"
    R"("duration":"5m0s"},{"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"30m0s"}],)"
    R"("numaUsages":[{"numaNodeID":0,"nodeUsage":{"resources":{"cpu":"6","memory":"20Gi"}},)"
    R"("systemUsage":{"resources":{"cpu":"750m","memory":"1536Mi"}}},)"
    R"({"numaNodeID":1,"nodeUsage":{},"systemUsage":{}}]},)"
    R"("podsMetric":[{"name":"web-1","namespace":"default",)"
    R"("podUsage":{"resources":{"cpu":"480m","memory":"900Mi"}},"priority":"koord-prod","qos":"LS"},)"
    R"({"name":"exec-2","namespace":"spark",)"
    R"("podUsage":{"resources":{"cpu":"0","memory":"1000001"}},"priority":"koord-batch","qos":"BE"},)"
    R"({"name":"odd","namespace":"spark","podUsage":{"resources":{"cpu":"12","memory":"0"}}}],)"
    R"("hostApplicationMetric":[{"name":"nginx",)"
    R"("usage":{"resources":{"cpu":"500m","memory":"1Gi"}},"priority":"koord-prod","qos":"LS"}],)"
    R"("prodReclaimableMetric":{"resource":{"resources":{"cpu":"6","memory":"8Gi"}}},)"
    R"("prodPeakMetric":{"resource":{"resources":{"cpu":"9375m","memory":"20Gi"}}}})";

TEST(NodeMetricEncode, FollowsTheFormatOfTheContract) {
  EXPECT_EQ(encode_node_metric_status(full()), kFull);
}

// Contract 3.1: if the prediction failed, prodReclaimableMetric has an empty resource and prodPeakMetric is absent. An
// empty report is valid.
TEST(NodeMetricEncode, UnsetValuesAreEmptyOrAbsent) {
  model::NodeMetricReport report;
  report.update_time = kTime;
  EXPECT_EQ(encode_node_metric_status(report),
            R"({"updateTime":"2026-01-01T00:00:00Z","nodeMetric":{"nodeUsage":{},"systemUsage":{}},)"
            R"("prodReclaimableMetric":{"resource":{}}})");
}

void expect_same(const ResourceList& read, const model::ReportedUsage& written) {
  EXPECT_EQ(read.cpu_milli(), written ? std::optional(written->cpu.value) : std::nullopt);
  EXPECT_EQ(read.memory_bytes(), written ? std::optional(written->memory.value) : std::nullopt);
}

void expect_same(const std::vector<AggregatedUsage>& read, const std::vector<model::AggregatedReport>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].duration, written[i].duration);
    EXPECT_EQ(read[i].usage.size(), 5U);
    for (const auto& [kind, usage] :
         {std::pair(Aggregation::kAvg, &written[i].avg), std::pair(Aggregation::kP50, &written[i].p50),
          std::pair(Aggregation::kP90, &written[i].p90), std::pair(Aggregation::kP95, &written[i].p95),
          std::pair(Aggregation::kP99, &written[i].p99)}) {
      const ResourceList* list = read[i].find(kind);
      ASSERT_NE(list, nullptr);
      expect_same(*list, *usage);
    }
  }
}

void expect_read_back(const model::NodeMetricReport& report) {
  Interner interner;
  NodeMetricFields fields;
  fields.aggregated = true;
  const auto read = decode_node_metric(
      base::cat(R"({"metadata":{"name":"node-a"},"status":)", encode_node_metric_status(report), "}"), fields,
      interner);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->updated, base::WallTime{std::chrono::floor<std::chrono::seconds>(report.update_time.since_epoch)});
  EXPECT_TRUE(read->has_node_metric);
  expect_same(read->node_usage, report.node_usage);
  expect_same(read->system_usage, report.system_usage);
  expect_same(read->aggregated_node_usages, report.aggregated_node_usages);
  expect_same(read->aggregated_system_usages, report.aggregated_system_usages);
  ASSERT_EQ(read->pods.size(), report.pods.size());
  for (std::size_t i = 0; i < report.pods.size(); ++i) {
    EXPECT_EQ(read->pods[i].id, model::PodId(report.pods[i].ns, report.pods[i].name));
    EXPECT_EQ(read->pods[i].usage, report.pods[i].usage);
    EXPECT_EQ(read->pods[i].priority, report.pods[i].priority);
    EXPECT_EQ(read->pods[i].qos, report.pods[i].qos);
  }
  ASSERT_EQ(read->host_applications.size(), report.host_applications.size());
  for (std::size_t i = 0; i < report.host_applications.size(); ++i) {
    EXPECT_EQ(read->host_applications[i].name.view(), report.host_applications[i].name);
    expect_same(read->host_applications[i].usage, report.host_applications[i].usage);
    EXPECT_EQ(read->host_applications[i].priority.view(), to_string(report.host_applications[i].priority));
    EXPECT_EQ(read->host_applications[i].qos.view(), to_string(report.host_applications[i].qos));
  }
  ASSERT_TRUE(read->prod_reclaimable);
  expect_same(*read->prod_reclaimable, report.prod_reclaimable);
  EXPECT_EQ(read->prod_peak.has_value(), report.prod_peak.has_value());
  if (read->prod_peak) expect_same(*read->prod_peak, report.prod_peak);
}

TEST(NodeMetricEncode, DecoderReadsItBack) {
  expect_read_back(full());
  expect_read_back({});
}

TEST(NodeMetricEncode, DecoderReadsBackAnyReport) {
  std::mt19937_64 random(17);
  const auto amounts = [&random] {
    return use(static_cast<std::int64_t>(random() >> (random() % 44 + 20)),
               static_cast<std::int64_t>(random() >> (random() % 44 + 20)));
  };
  const auto usage = [&]() -> model::ReportedUsage { return random() % 4 == 0 ? model::ReportedUsage() : amounts(); };
  for (int round = 0; round < 300; ++round) {
    model::NodeMetricReport report;
    report.update_time = {std::chrono::milliseconds(random() % 4'000'000'000'000)};
    report.node_usage = usage();
    report.system_usage = usage();
    report.prod_reclaimable = usage();
    report.prod_peak = usage();
    for (auto* all : {&report.aggregated_node_usages, &report.aggregated_system_usages}) {
      for (std::uint64_t i = random() % 4; i > 0; --i) {
        all->push_back(
            {std::chrono::milliseconds(random() % 100'000'000), usage(), usage(), usage(), usage(), usage()});
      }
    }
    for (std::uint64_t i = random() % 6; i > 0; --i) {
      report.numa_usages.push_back({static_cast<std::int32_t>(i), usage(), usage()});
      report.pods.push_back({base::cat("ns-", random() % 3), base::cat("a\"b\\", random() % 9), amounts(),
                             static_cast<PriorityClass>(random() % 5), static_cast<Qos>(random() % 6)});
      report.host_applications.push_back(
          {base::cat("app", i), amounts(), static_cast<PriorityClass>(random() % 5), static_cast<Qos>(random() % 6)});
    }
    expect_read_back(report);
  }
}

}  // namespace
}  // namespace tidemark::kube
