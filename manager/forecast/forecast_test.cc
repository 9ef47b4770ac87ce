// What online work uses, learned and held against the calendar by a running manager; under simulated time.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "kube/recorder.h"
#include "manager/forecast/forecast_controller.h"
#include "manager/testing/cluster.h"
#include "policy/pools/parse.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kConfigPath;
using testing::kMerge;
using testing::Replica;

constexpr std::string_view kHours = R"(tidemark_forecast_known{pool="default"})";
constexpr std::string_view kDisagreements = R"(tidemark_forecast_disagreements{pool="default"})";

class ForecastTest : public testing::InMemoryCluster {
 protected:
  // Time begins on a Thursday at midnight: a window from one to three, when online work is at 84 % of the node.
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "calendar":"early","calendars":[{"name":"early","zone":"UTC","entries":[
        {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80}]}]})"}});
    must("POST", kConfigPath, map);
    node("n1");
    metric("n1", "27");
  }
  void use_for(std::string_view cores, base::Duration time) {
    for (base::Duration done{0}; done < time; done += 5min) {
      metric("n1", cores);
      run_for(5min);
    }
  }
  std::size_t told() {
    run_for(5s);
    std::size_t count = 0;
    const Json list = must("GET", "/api/v1/namespaces/koordinator-system/events", nullptr);
    for (const Json& each : list.at("items")->as_array()) {
      if (each.text_at("reason") == "TidemarkForecastDisagrees") {
        count += static_cast<std::size_t>(each.at("count")->as_int());
        EXPECT_EQ(
            each.text_at("message"),
            "pool default: window window, 2026-01-08 Thu 01:00 to 2026-01-08 Thu 02:00: online work is expected to "
            "use 84 % of the pool's cpu, the line is at 80 %: online work alone is expected to reach the line of this "
            "window [TM-LINE-006]");
      }
    }
    return count;
  }
};

TEST_F(ForecastTest, ShowsTheEndOfTheHolidayList) {
  Replica& one = start();
  constexpr std::string_view kEnd = R"(tidemark_calendar_holidays_end_seconds{pool="default"})";
  run_for(2min);
  EXPECT_EQ(one.metric(kEnd), 0) << "it has none";
  must(
      "PATCH", base::cat(kConfigPath, "/tidemark-config"),
      Json::object({{"data", Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "calendar":"early","calendars":[{"name":"early","zone":"UTC","holidays":{"days":["2026-02-03"]},"entries":[
        {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80,"on":"holidays"}]}]})"}})}}),
      kMerge);
  run_for(2min);
  EXPECT_EQ(one.metric(kEnd), 1'770'163'200) << "2026-02-04T00:00:00Z";
}

TEST_F(ForecastTest, WarnsOnceAboutAWindowThatOnlineWorkNeeds) {
  Replica& one = start();
  use_for("27", 115min);
  EXPECT_EQ(told(), 0u);
  use_for("27", 10min);
  EXPECT_EQ(told(), 1u);
  EXPECT_EQ(one.metric(kDisagreements), 1);
  EXPECT_EQ(one.metric(kHours), 2);
  use_for("2", 2h);
  EXPECT_EQ(told(), 1u) << "once";
  EXPECT_EQ(one.metric(kHours), 4);
}

TEST_F(ForecastTest, LearnedDataSurvivesARestart) {
  start();
  use_for("27", 140min);
  replicas.clear();
  Replica& two = start("two");
  use_for("2", 15min);
  EXPECT_EQ(two.metric(kHours), 2);
  EXPECT_EQ(two.metric(kDisagreements), 1);
  use_for("2", 2h);
  replicas.clear();
  Replica& three = start("three");
  use_for("2", 15min);
  EXPECT_GE(three.metric(kHours), 4) << "what the second one learned, and what it found";
}

// The line of memory rises from 65 to 75 %, where online work has 100 of 128 GiB; that of CPU says nothing of it.
TEST_F(ForecastTest, ChecksMemoryOfAWindowAcrossRestarts) {
  must("PATCH", base::cat(kConfigPath, "/tidemark-config"),
       Json::object({{"data", Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce",
         "rollout":{"pace":"at-once"},"calendar":"early","calendars":[{"name":"early","zone":"UTC","entries":[
           {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80,"memory":75}]}]})"}})}}),
       kMerge);
  const auto full_for = [this](base::Duration time) {
    for (base::Duration done{0}; done < time; done += 5min) {
      metric("n1", "2", "100Gi");
      run_for(5min);
    }
  };
  const auto messages = [this] {
    run_for(5s);
    std::vector<std::string> told;
    const Json list = must("GET", "/api/v1/namespaces/koordinator-system/events", nullptr);
    for (const Json& each : list.at("items")->as_array()) {
      if (each.text_at("reason") == "TidemarkForecastDisagrees") told.emplace_back(each.text_at("message"));
    }
    return told;
  };
  Replica& one = start();
  full_for(125min);
  EXPECT_EQ(messages(),
            std::vector<std::string>{
                "pool default: window window, 2026-01-08 Thu 01:00 to 2026-01-08 Thu 02:00: online work is expected to "
                "use 78 % of the pool's memory, the line is at 75 %: online work alone is expected to reach the line "
                "of this window [TM-LINE-006]"});
  EXPECT_EQ(one.metric(kDisagreements), 1);
  full_for(15min);
  replicas.clear();
  Replica& two = start("two");
  full_for(15min);
  EXPECT_EQ(two.metric(kDisagreements), 1) << "by what the first one learned and kept";
}

TEST_F(ForecastTest, LeaderShowsTheWaterLine) {
  constexpr std::string_view kCpu = R"(tidemark_water_line_cpu_percent{pool="default"})";
  constexpr std::string_view kMemory = R"(tidemark_water_line_memory_percent{pool="default"})";
  Replica& one = start();
  use_for("2", 10min);
  EXPECT_EQ(one.metric(kCpu), 60);
  EXPECT_EQ(one.metric(kMemory), 65);
  use_for("2", 60min);
  EXPECT_EQ(one.metric(kCpu), 80) << "the window is open";
  EXPECT_EQ(one.metric(kMemory), 65) << "of which it says nothing";
  must(
      "PATCH", base::cat(kConfigPath, "/tidemark-config"),
      Json::object(
          {{"data", Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"}})"}})}}),
      kMerge);
  use_for("2", 5min);
  EXPECT_EQ(one.metric(kCpu), 0) << "there is no calendar";
}

TEST_F(ForecastTest, LearnsNothingWithoutACalendar) {
  must("DELETE", base::cat(kConfigPath, "/tidemark-config"), nullptr);
  Replica& one = start();
  use_for("27", 130min);
  EXPECT_EQ(one.metrics.text().find("tidemark_forecast_known"), std::string::npos);
  EXPECT_EQ(call("GET", base::cat(kConfigPath, "/tidemark-history-forecast-0"), nullptr).status, 404);
}

TEST_F(ForecastTest, ReadsEachNodeOnceForAnyNumberOfPools) {
  const auto config = policy::parse_tidemark_config(
      R"({"schema":1,"mode":"enforce","calendar":"early","calendars":[{"name":"early","zone":"UTC","entries":[
        {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80}]}]})",
      policy::Zones());
  ASSERT_TRUE(config);
  constexpr int kPools = 40;
  kube::memory::LocalTransport transport(loop, server->handler(), "one");
  kube::Client client(loop, transport, [] { return std::string(); }, {}, base::Random(1));
  base::Registry metrics;
  kube::EventRecorder recorder(loop, client, log, metrics, "test");
  int asked = 0;
  ForecastController controller(
      {loop,
       {loop,
        client,
        client,
        recorder,
        metrics,
        {[] { return false; }, [] { return std::optional<std::int64_t>(); }, [](std::int64_t) {}},
        "koordinator-system"},
       [&] {
         ++asked;
         std::vector<ForecastPool> pools;
         for (int i = 0; i < kPools; ++i) {
           pools.push_back({base::cat("pool-", i), &config->calendars[0], 60, 60});
         }
         return pools;
       },
       [] { return std::map<std::string, OnlineUse, std::less<>>(); },
       [] { return nullptr; }},
      log);
  controller.start();
  run_for(kForecastCheckEvery + 2min);
  EXPECT_GE(asked, 60) << "each minute for a sample";
  EXPECT_LT(asked, 60 + kPools / 2) << "and once, not for each pool, for the check of the hour";
}

}  // namespace
}  // namespace tidemark::manager
