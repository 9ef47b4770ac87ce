#include "yarn_operator/hour_room.h"

#include <gtest/gtest.h>

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

TEST(HourRoom, SharesAGrantAmongTheNodesOfThePool) {
  HourRoom room;
  room.add_pool("night", {.granted = 5});
  room.add_pool("day", {.granted = 1});
  room.add_node("n1", "night", 2);
  room.add_node("n2", "night", 0);
  room.add_node("d1", "day", 0);
  EXPECT_EQ(room.left("n2"), 3);
  room.take("n1", 3);
  EXPECT_EQ(room.left("n1"), 0);
  EXPECT_EQ(room.left("n2"), 0);
  EXPECT_EQ(room.why_none("n2"), Reason::kBudgetPoolExhausted);
  EXPECT_EQ(room.left("d1"), 1);
  room.take("d1", 4);  // more ended than intended
  EXPECT_EQ(room.left("d1"), 0);
}

TEST(HourRoom, UsesTheLocalLimitOfEachNodeWithoutAGrant) {
  HourRoom room;
  room.add_pool("night", {});
  room.add_node("n1", "night", 1);
  room.add_node("n2", "night", 0);
  EXPECT_EQ(room.left("n1"), 1);
  EXPECT_EQ(room.left("n2"), model::kUngrantedEvictionsPerHour);
  room.take("n1", 1);
  EXPECT_EQ(room.left("n1"), 0);
  EXPECT_EQ(room.why_none("n1"), Reason::kEvictBudgetSpent);
  EXPECT_EQ(room.left("n2"), model::kUngrantedEvictionsPerHour);
  EXPECT_EQ(room.left("nobody"), 0);
}

TEST(HourRoom, IsEmptyIfThePoolHasUsedUpItsHour) {
  HourRoom room;
  room.add_pool("night", {.granted = 5, .used_up = true});
  room.add_pool("day", {.granted = {}, .used_up = true});
  room.add_node("n1", "night", 0);
  room.add_node("d1", "day", 0);
  EXPECT_EQ(room.left("n1"), 0);
  EXPECT_EQ(room.left("d1"), 0);
  EXPECT_EQ(room.why_none("d1"), Reason::kBudgetPoolExhausted);
}

TEST(HourOf, KeepsAGrantUntilItsEnd) {
  const base::WallTime now = *base::parse_rfc3339("2026-11-21T20:00:00Z");
  const policy::evict::OperatorGrants grants{{"night", {{30, now + std::chrono::hours(1)}, std::nullopt}}};
  policy::evict::BudgetState state;
  EXPECT_EQ(hour_of(state, grants, "night", now).granted, 30);
  EXPECT_FALSE(hour_of(state, grants, "night", now + std::chrono::hours(1)).granted);
  EXPECT_FALSE(hour_of(state, grants, "day", now).granted);
  state.pools.emplace_back();
  state.pools.back().pool = "night";
  state.pools.back().exhausted = true;
  state.pools.back().node_per_hour = model::kEvictionsPerHourMax;
  EXPECT_TRUE(hour_of(state, grants, "night", now).used_up);
  EXPECT_EQ(hour_of(state, grants, "night", now).node_per_hour, model::kEvictionsPerHourMax);
  EXPECT_EQ(hour_of(state, grants, "day", now).node_per_hour, model::kUngrantedEvictionsPerHour) << "not published";
}

}  // namespace
}  // namespace tidemark::yarn_operator
