// By which settings an order for a pool finds its nodes. What an order does is tested in order_test.
#include <gtest/gtest.h>

#include <optional>

#include "operate/order.h"
#include "operate/testing/orders.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {
namespace {

using testing::kMaps;

class OrderPoolTest : public testing::Orders {
 protected:
  // As a manager stores it, the oldest first: of several the last one has reached no node yet.
  void in_force(const std::vector<std::string>& configs) {
    Json data = Json::object();
    policy::settings::RolloutState state;
    for (const auto& config : configs) {
      policy::settings::StoredRevision revision;
      revision.number = static_cast<std::int64_t>(state.layers.size()) + 1;
      revision.texts.tidemark = config;
      revision.hash = policy::settings::hash_of(revision.texts);
      const policy::settings::NodeMark reached = state.layers.empty() ? policy::settings::kAllNodes : "";
      state.layers.push_back({revision.hash, reached, reached});
      data[policy::settings::revision_key(revision.number)] = Json(policy::settings::encode_revision(revision));
    }
    state.phase = configs.size() == 1 ? policy::settings::Phase::kSettled : policy::settings::Phase::kCanary;
    data[policy::settings::kStateKey] = Json(policy::settings::encode_state(state));
    Json map = *Json::parse(R"({"metadata":{"name":"tidemark-config-revisions"}})");
    map["data"] = std::move(data);
    call("POST", std::string(kMaps), map.dump());
  }
};

TEST_F(OrderPoolTest, PoolComesFromSettings) {
  node("day", R"("labels":{"pool":"day"})");
  node("night", R"("labels":{"pool":"night"})");
  live(config_with("night"));
  auto options = pool_order(policy::state::Wish::kOff, "night");
  const auto report = give(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->nodes.size(), 1u);
  EXPECT_EQ(label("night"), "off");
  EXPECT_EQ(label("day"), "");
  options.pool = "nigh";
  const auto refused = give(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("did you mean night?"), std::string::npos) << refused.error().message;
}

// An operator that must stop selling now does not have to name thousands of nodes because an edit was bad.
TEST_F(OrderPoolTest, InvalidSettingsFallBackToPoolsInForce) {
  node("day", R"("labels":{"pool":"day"})");
  node("night", R"("labels":{"pool":"night"})");
  live("schema: 1\nmode: enforced\n");
  const auto options = pool_order(policy::state::Wish::kOff, "night");
  const auto unknown = give(options);
  ASSERT_FALSE(unknown) << "nothing tells what is in force";
  EXPECT_NE(unknown.error().message.find("name the nodes instead"), std::string::npos) << unknown.error().message;
  EXPECT_NE(unknown.error().message.find("mode: wanted observe or enforce"), std::string::npos)
      << unknown.error().message;
  EXPECT_EQ(ask("GET", base::cat(kMaps, "/tidemark-state")).status, 404);

  in_force({config_with("night")});
  const auto pools = pools_for(options);
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_NE(pools->note.find("koordinator-system/tidemark-config cannot be used: "), std::string::npos) << pools->note;
  EXPECT_NE(pools->note.find("those of revision 1 ("), std::string::npos) << pools->note;
  ASSERT_TRUE(give(options));
  EXPECT_EQ(label("night"), "off");
  EXPECT_EQ(label("day"), "");
  EXPECT_FALSE(give(pool_order(policy::state::Wish::kOff, "nigh")));
}

TEST_F(OrderPoolTest, AcceptsBothNamesOfPoolBeingRenamed) {
  node("night", R"("labels":{"pool":"night"})");
  node("other", R"("labels":{"pool":"other"})");
  live(config_with("dusk", "night"));
  in_force({config_with("night"), config_with("dusk", "night")});
  EXPECT_EQ(pools_for(pool_order(policy::state::Wish::kOff, "dusk")).value().note, "");
  const auto options = pool_order(policy::state::Wish::kOff, "night");
  const auto pools = pools_for(options);
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_TRUE(pools->note.starts_with("tidemark-config has no pool \"night\" any more; ")) << pools->note;
  EXPECT_NE(pools->note.find("those of revision 1 ("), std::string::npos) << pools->note;
  ASSERT_TRUE(give(options));
  EXPECT_EQ(label("night"), "off");
  EXPECT_EQ(label("other"), "");
}

// Settings that cannot be read just now may have the pool otherwise.
TEST_F(OrderPoolTest, FailsWithoutApiServer) {
  in_force({config_with("night")});
  between.refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (!request.target.ends_with("/tidemark-config")) return std::nullopt;
    return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
  };
  const auto pools = pools_for(pool_order(policy::state::Wish::kOff, "night"));
  ASSERT_FALSE(pools);
  EXPECT_EQ(pools.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace tidemark::operate
