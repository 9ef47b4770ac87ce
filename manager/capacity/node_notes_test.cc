// An unreadable text of a node is reported once, whatever other nodes have, and counted while it lasts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kMerge;

class NodeNotesTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    log = base::Log(clock, {base::LogLevel::kWarn, base::LogFormat::kText,
                            [this](std::string_view line) { lines.emplace_back(line); }});
    InMemoryCluster::SetUp();
  }
  void annotate(std::string_view name, std::string_view key, const Json& text) {
    must("PATCH", base::cat("/api/v1/nodes/", name),
         Json::object({{"metadata", Json::object({{"annotations", Json::object({{key, text}})}})}}), kMerge);
  }
  std::ptrdiff_t told(std::string_view node, std::string_view key) const {
    return std::ranges::count_if(lines, [&](const std::string& line) {
      return line.find("cannot read part of a node") != std::string::npos && line.contains(base::cat("node=", node)) &&
             line.contains(key);
    });
  }

  std::vector<std::string> lines;
};

TEST_F(NodeNotesTest, LogsEachProblemOfANodeOnce) {
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  for (const auto& each : nodes) {
    node(each);
    metric(each, "2");
    annotate(each, "node.koordinator.sh/network-bandwidth", "fast");
  }
  auto& replica = start();
  for (int report = 0; report < 5; ++report) {  // each is a look at the node
    for (const auto& each : nodes) metric(each, std::to_string(3 + report));
    run_for(1min);
  }
  for (const auto& each : nodes) EXPECT_EQ(told(each, "network-bandwidth"), 1) << each;
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 3);

  annotate("n1", "node.koordinator.sh/colocation-strategy", "{");
  annotate("n2", "node.koordinator.sh/network-bandwidth", nullptr);
  run_for(1min);
  EXPECT_EQ(told("n1", "colocation-strategy"), 1);
  EXPECT_EQ(told("n2", "network-bandwidth"), 1);
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 2);
}

// A negative use counts as 0. With the profile `tidemark` an offer does not grow because of it.
TEST_F(NodeNotesTest, NegativeMeasurementStopsGrowth) {
  Json map = name_only("tidemark-config");
  map["data"] = Json::object(
      {{"config.yaml",
        "{schema: 1, mode: enforce, motion: {deadBandPermille: 0, slewPermillePerMinute: 1000}, pools: [{name: safe, "
        "profile: tidemark, nodeSelector: {matchLabels: {pool: safe}}}]}"}});
  must("POST", testing::kConfigPath, map);
  for (const char* name : {"safe", "peers"}) {
    node(name);
    metric(name, "8");
  }
  must("PATCH", "/api/v1/nodes/safe", *Json::parse(R"({"metadata":{"labels":{"pool":"safe"}}})"), kMerge);
  auto& replica = start();
  const auto report = [&](std::string_view system) {
    for (const char* name : {"safe", "peers"}) {
      Json status =
          *Json::parse(R"({"podsMetric":[{"name":"p","namespace":"d","podUsage":{"resources":{"cpu":"-8"}}}]})");
      const Json used = Json::object({{"resources", Json::object({{"cpu", Json(system)}, {"memory", "4Gi"}})}});
      status["updateTime"] = Json(base::format_rfc3339(clock.wall()));
      status["nodeMetric"] = Json::object({{"nodeUsage", used}, {"systemUsage", used}});
      must("PATCH", base::cat(testing::kNodeMetricsPath, "/", name, "/status"),
           Json::object({{"status", std::move(status)}}), kMerge);
    }
    run_for(1min);
  };
  for (const char* name : {"safe", "peers"}) metric(name, "8.001");
  run_for(1min);
  ASSERT_EQ(offered("safe"), "11199");
  ASSERT_EQ(offered("peers"), "11200") << "not worth a write yet";
  for (int minute = 0; minute < 10; ++minute) report("0");
  EXPECT_EQ(offered("safe"), "11199");
  EXPECT_EQ(offered("peers"), "19200") << "the peer's number: below 0 counts as 0";
  EXPECT_EQ(told("safe", "podUsage is below 0"), 1);
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 2);
  report("12");
  EXPECT_EQ(offered("safe"), "7200") << "a cut is right whatever else was measured";
  metric("safe", "2");
  run_for(5min);
  EXPECT_GT(*base::parse_int(offered("safe")), 7200);
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 1);
}

}  // namespace
}  // namespace tidemark::manager
