// Offers that are only cut for a while, by a running manager; against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"
#include "policy/state/desired.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

class CutsOnlyTest : public testing::InMemoryCluster {
 protected:
  void map(std::string_view name, std::string_view key, std::string_view text) {
    Json object = name_only(name);
    object["data"] = Json::object({{key, Json(text)}});
    if (call("POST", testing::kConfigPath, object).status != 409) return;
    must("PUT", base::cat(testing::kConfigPath, "/", name), object);
  }
  void ordered(std::string_view text) { map("tidemark-state", "state.json", text); }
  // An agent that is seen to report: each time something else.
  void reports(std::string_view cores) {
    metric("n1", cores);
    run_for(30s);
    metric("n1", base::cat(cores, "1"));
    run_for(30s);
  }
  std::int64_t offered_milli() { return *base::parse_int(offered("n1")); }
};

// 3.2 of 32 cores a minute, and what two minutes give at most at once.
TEST_F(CutsOnlyTest, GrowsAtTheGrowthRateAfterCutsOnlyEnds) {
  constexpr std::int64_t kAtOnceMax = 6400;
  map("tidemark-config", "config.yaml", "{schema: 1, mode: enforce, profile: tidemark}");
  node("n1");
  metric("n1", "12");
  start("one");
  reports("12.00");
  const std::int64_t before = offered_milli();
  ASSERT_GT(before, 7000);
  ASSERT_LT(before, 7300);
  replicas.clear();

  ordered("{");  // the successor does not know what was ordered
  start("two");
  for (int minute = 0; minute < 10; ++minute) reports("2.00");
  ASSERT_LE(offered_milli(), before) << "nothing grows while that cannot be read";
  policy::state::DesiredStates nothing;
  nothing.generation = 1;
  ordered(policy::state::format_desired(nothing));
  reports("2.00");
  EXPECT_GT(offered_milli(), before);
  EXPECT_LE(offered_milli(), before + kAtOnceMax);
  for (int minute = 0; minute < 10; ++minute) reports("2.00");
  EXPECT_GT(offered_milli(), 16'500) << "and goes on until it is there";
}

}  // namespace
}  // namespace tidemark::manager
