// Overrides of the water line, obeyed by a running manager; against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "manager/testing/cluster.h"
#include "policy/state/overrides.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kConfigPath;
using testing::kMerge;
using testing::kNodeSlosPath;
using testing::Replica;

class OverrideTest : public testing::InMemoryCluster {
 protected:
  void override_line(std::string_view pool, policy::waterline::LinePercent line, base::Duration lasts) {
    order(pool, {line, "ann@ops", "a fire drill", clock.wall() + lasts});
  }
  void clear(std::string_view pool) { order(pool, {std::nullopt, "ann@ops", "over", {}}); }
  void order(std::string_view pool, const policy::state::OverrideCommand& command) {
    const auto commanded = policy::state::command_override(stored_, pool, command, clock.wall());
    ASSERT_TRUE(commanded) << commanded.error().message;
    stored_ = commanded->overrides;
    write(policy::state::format_overrides(stored_));
  }
  void write(const std::string& text) {
    const Json data = Json::object({{"overrides.json", Json(text)}});
    Json map = name_only("tidemark-state");
    map["data"] = data;
    if (call("POST", kConfigPath, map).status == 409) {
      must("PATCH", base::cat(kConfigPath, "/tidemark-state"), Json::object({{"data", data}}), kMerge);
    }
  }
  void pools() {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},"pools":[
            {"name":"web","nodeSelector":{"matchLabels":{"pool":"web"}}},
            {"name":"rest","nodeSelector":{}}]})"}});
    must("POST", kConfigPath, map);
  }
  std::int64_t suppress_line(std::string_view name) {
    const Json slo = must("GET", base::cat(kNodeSlosPath, "/", name), nullptr);
    return slo.at("spec", "resourceUsedThresholdWithBE", "cpuSuppressThresholdPercent")->as_int();
  }
  std::string events() {
    run_for(5s);
    std::string all;
    const Json list = must("GET", "/api/v1/namespaces/koordinator-system/events", nullptr);
    for (const Json& each : list.at("items")->as_array()) {
      all += base::cat(each.text_at("reason"), ": ", each.text_at("message"), "\n");
    }
    return all;
  }

  policy::state::Overrides stored_;
};

TEST_F(OverrideTest, AppliesToOffersAndAgentsUntilItExpires) {
  pools();
  setting("resource-threshold-config", Json(R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":65}})"));
  node("n1", Json::object({{"pool", "web"}}));
  node("n2", Json::object({{"pool", "other"}}));
  metric("n1", "2");
  metric("n2", "2");
  Replica& one = start();
  ASSERT_EQ(offered("n1"), "17200") << "60 % of 32 cores without 2";
  ASSERT_EQ(suppress_line("n1"), 65);

  override_line("web", {40, std::nullopt}, 10min);
  run_for(2s);
  EXPECT_EQ(offered("n1"), "10800") << "40 % of 32 cores without 2";
  EXPECT_EQ(suppress_line("n1"), 45) << "by as many points";
  EXPECT_EQ(offered("n2"), "17200");
  EXPECT_EQ(suppress_line("n2"), 65);
  EXPECT_NE(events().find("TidemarkLineOverridden: pool web: an override replaces the calendar: cpu 40 %"),
            std::string::npos)
      << events();

  for (int i = 0; i < 9; ++i) {
    run_for(1min);
    metric("n1", "2");
    ASSERT_EQ(offered("n1"), "10800") << "minute " << i;
  }
  run_for(1min);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(suppress_line("n1"), 65);
  EXPECT_NE(events().find("TidemarkLineOverrideEnded: pool web"), std::string::npos) << events();
  EXPECT_EQ(one.metric("tidemark_manager_reconcile_errors_total"), 0);
}

// So that they come down where no manager is left to write it.
TEST_F(OverrideTest, PublishesTheEndOfOnlyRaisedLinesAhead) {
  pools();
  setting("resource-threshold-config", Json(R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":65}})"));
  node("n1", Json::object({{"pool", "web"}}));
  start();
  const auto slo = [&] { return must("GET", base::cat(kNodeSlosPath, "/n1"), nullptr); };
  const auto lines = [&] {
    const Json found = slo();
    const Json* told = found.at("spec", "extensions", "Object", "tidemark", "lines");
    return told == nullptr ? "" : told->dump();
  };
  const auto revision = [&] { return std::string(slo().text_at("metadata", "resourceVersion")); };
  EXPECT_EQ(lines(), "");

  override_line("web", {80, std::nullopt}, 10min);
  const std::string end = base::format_rfc3339(clock.wall() + 10min);
  run_for(2s);
  EXPECT_EQ(suppress_line("n1"), 85);
  EXPECT_EQ(lines(), base::cat(R"([{"from":")", end, R"(","cpuSuppressThresholdPercent":65}])"));
  const std::string raised = revision();
  run_for(9min);
  EXPECT_EQ(revision(), raised) << "told once";

  // Another manager, after the end: what agents hold already.
  replicas.clear();
  run_for(5min);
  EXPECT_EQ(suppress_line("n1"), 85);
  start("two");
  EXPECT_EQ(suppress_line("n1"), 65);
  EXPECT_EQ(lines(), "");
  const std::string day = revision();
  run_for(2min);
  EXPECT_EQ(revision(), day);

  override_line("web", {40, std::nullopt}, 10min);
  run_for(2s);
  EXPECT_EQ(suppress_line("n1"), 45);
  EXPECT_EQ(lines(), "");
}

TEST_F(OverrideTest, UndoRestoresTheCalendarAtOnce) {
  node("n1");
  metric("n1", "2");
  start();
  override_line("", {80, std::nullopt}, 2h);
  run_for(2s);
  EXPECT_EQ(offered("n1"), "23600");
  clear("");
  run_for(2s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_NE(events().find("TidemarkLineOverrideCleared: cluster"), std::string::npos) << events();
}

TEST_F(OverrideTest, LowerLineOfPoolAndClusterApplies) {
  pools();
  node("n1", Json::object({{"pool", "web"}}));
  node("n2", Json::object({{"pool", "other"}}));
  metric("n1", "2");
  metric("n2", "2");
  start();
  override_line("web", {80, std::nullopt}, 2h);
  override_line("", {45, std::nullopt}, 5min);
  run_for(2s);
  EXPECT_EQ(offered("n1"), "12400");
  EXPECT_EQ(offered("n2"), "12400");
  run_for(5min);
  EXPECT_EQ(offered("n1"), "23600") << "its own goes on";
  EXPECT_EQ(offered("n2"), "17200");
}

TEST_F(OverrideTest, NewManagerObeysEarlierOverrides) {
  node("n1");
  metric("n1", "2");
  override_line("", {40, std::nullopt}, 10min);
  start();
  EXPECT_EQ(offered("n1"), "10800");
  replicas.clear();
  metric("n1", "2");
  start("two");
  EXPECT_EQ(offered("n1"), "10800");
  EXPECT_EQ(events().find("TidemarkLineOverridden"), std::string::npos) << "it is no news";
  // An override that ends while no manager runs is over for the next one.
  replicas.clear();
  clock.advance(11min);
  metric("n1", "2");
  start("three");
  EXPECT_EQ(offered("n1"), "17200");
}

TEST_F(OverrideTest, UnreadableOverridesKeepTheLastGoodOnes) {
  node("n1");
  metric("n1", "2");
  start();
  override_line("", {40, std::nullopt}, 8min);
  run_for(2s);
  ASSERT_EQ(offered("n1"), "10800");
  write("{garbage");
  run_for(2min);
  EXPECT_EQ(offered("n1"), "10800");
  EXPECT_NE(events().find("TidemarkLineOverridesInvalid"), std::string::npos) << events();
  metric("n1", "2");
  run_for(7min);
  EXPECT_EQ(offered("n1"), "17200") << "its end needs no text";
}

}  // namespace
}  // namespace tidemark::manager
