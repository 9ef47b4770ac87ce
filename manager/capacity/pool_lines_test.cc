#include "manager/capacity/pool_lines.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kConfigPath;
using testing::kMerge;
using testing::Replica;

class PoolLinesTest : public testing::InMemoryCluster {
 protected:
  // Time begins on a Thursday at midnight: a window from one to three.
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "calendar":"early","calendars":[{"name":"early","zone":"UTC","entries":[
        {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80}]}]})"}});
    must("POST", kConfigPath, map);
    node("n1");
    metric("n1", "2");
  }
  void set_config(std::string_view text) {
    must("PATCH", base::cat(kConfigPath, "/tidemark-config"),
         Json::object({{"data", Json::object({{"config.yaml", Json(text)}})}}), kMerge);
  }
};

TEST_F(PoolLinesTest, ShowsTheEndOfTheHolidayList) {
  Replica& one = start();
  constexpr std::string_view kEnd = R"(tidemark_calendar_holidays_end_seconds{pool="default"})";
  run_for(2min);
  EXPECT_EQ(one.metric(kEnd), 0) << "the calendar has no holidays";
  set_config(R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "calendar":"early","calendars":[{"name":"early","zone":"UTC","holidays":{"days":["2026-02-03"]},"entries":[
        {"name":"window","cron":"0 1 * * *","for":"2h","cpu":80,"on":"holidays"}]}]})");
  run_for(2min);
  EXPECT_EQ(one.metric(kEnd), 1'770'163'200) << "2026-02-04T00:00:00Z";
}

TEST_F(PoolLinesTest, LeaderShowsTheWaterLine) {
  constexpr std::string_view kCpu = R"(tidemark_water_line_cpu_percent{pool="default"})";
  constexpr std::string_view kMemory = R"(tidemark_water_line_memory_percent{pool="default"})";
  Replica& one = start();
  run_for(10min);
  EXPECT_EQ(one.metric(kCpu), 60);
  EXPECT_EQ(one.metric(kMemory), 65);
  run_for(60min);
  EXPECT_EQ(one.metric(kCpu), 80) << "the window is open";
  EXPECT_EQ(one.metric(kMemory), 65) << "the window has no memory line";
  set_config(R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"}})");
  run_for(5min);
  EXPECT_EQ(one.metric(kCpu), 0) << "there is no calendar";
}

}  // namespace
}  // namespace tidemark::manager
