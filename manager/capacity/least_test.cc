// What a node's offer decays toward, learned by a running manager and kept over a restart; under simulated time.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "manager/capacity/least_offers.h"
#include "manager/history/record.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kConfigPath;

class LeastTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "profile":"tidemark","motion":{"slewPermillePerMinute":1000}})"}});
    must("POST", kConfigPath, map);
    node("n1");
  }
  // One report a minute.
  void report_for(std::string_view cores, base::Duration time) {
    for (base::Duration done{0}; done < time; done += 1min) {
      metric("n1", cores);
      run_for(1min);
    }
  }
  std::int64_t offered_milli() { return base::parse_int(offered("n1")).value_or(-1); }
};

// Time begins at midnight. From one to two the system uses 8 cores at most: 11.2 of the 19.2 under the line are left.
TEST_F(LeastTest, WithoutReportsOfferDecaysToTheMinimumOfTheHour) {
  start();
  report_for("2", 60min);
  report_for("8", 2min);
  report_for("2", 60min);
  replicas.clear();
  start("two");
  report_for("2", 23h - 1min);  // until one in the night again, with the hours that a day has learned
  ASSERT_GT(offered_milli(), 15'000);
  run_for(50min);  // the agent is silent: past the hold and the steps, far from being forgotten
  EXPECT_GE(offered_milli(), 11'000) << "not to nothing";
  EXPECT_LE(offered_milli(), 11'200);
  run_for(24h);
  EXPECT_LE(offered_milli(), 0) << "forgotten in the end";
}

TEST_F(LeastTest, ReadsThePreviousFormatAndStoresTheCurrentOne) {
  const std::string map = history_map_name(kLeastKind, history_shard("n1", kHistoryShardsMax));
  const std::string key = history_key("n1");
  Json stored = name_only(map);
  stored["data"] =
      Json::object({{key, encode_history({"n1", base::cat("9123:4096", std::string(23, ',')), 1}, {1, 1})}});
  must("POST", kConfigPath, stored);
  start();
  report_for("2", 3min);
  ASSERT_GT(offered_milli(), 15'000);
  run_for(50min);
  EXPECT_GE(offered_milli(), 9000);
  EXPECT_LE(offered_milli(), 9123);
  report_for("2", 70min);  // an hour is learned, and so kept
  run_for(1h);
  const auto now = decode_history(key, must("GET", base::cat(kConfigPath, "/", map), nullptr).text_at("data", key));
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->version.schema, kLeastVersion.schema);
  const auto offers = policy::sell::decode_least(now->record.bytes);
  ASSERT_TRUE(offers) << offers.error().message;
  EXPECT_GE(offers->hours[0].cpu_milli, 9123);
  EXPECT_LT(offers->hours[0].cpu_milli, 15'000) << "it went on from there";
}

// Every hour of every node, with long names and amounts that jump.
TEST(LeastSize, TenThousandNodesFitIntoTheStore) {
  constexpr int kNodes = 10'000;
  constexpr std::size_t kNameBytes = 63;
  base::Random random(7);
  std::vector<std::vector<HistoryRecord>> shards(kHistoryShardsMax);
  for (int i = 0; i < kNodes; ++i) {
    std::string name = base::cat("node-", i, "-");
    name.resize(kNameBytes, 'x');
    policy::sell::LeastOffers offers;
    for (auto& hour : offers.hours) {
      hour.cpu_milli = static_cast<std::int32_t>(random.next() % 256'000);
      hour.memory_mib = static_cast<std::int32_t>(random.next() % (1 << 20));
    }
    shards[history_shard(name, shards.size())].push_back({name, policy::sell::encode_least(offers), 1});
  }
  for (auto& records : shards) {
    const ShardContent content = fill_shard(std::move(records), kLeastVersion, 0);
    EXPECT_EQ(content.dropped, 0U);
    EXPECT_LT(content.bytes, kHistoryShardBytesMax * 9 / 10) << "room for the unevenness of other names";
  }
}

TEST_F(LeastTest, OfferDecaysToZeroForAnUnknownHour) {
  start();
  report_for("2", 30min);
  ASSERT_GT(offered_milli(), 15'000);
  run_for(50min);
  EXPECT_LE(offered_milli(), 0);
}

}  // namespace
}  // namespace tidemark::manager
