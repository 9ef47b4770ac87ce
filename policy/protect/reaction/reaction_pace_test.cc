#include "policy/protect/reaction/reaction_pace.h"

#include <gtest/gtest.h>

namespace tidemark::policy::protect {
namespace {

TEST(ReactionPace, LimitsReactionsPerMinute) {
  ReactionPace pace;
  base::MonotonicTime now{std::chrono::hours(1)};
  const base::MonotonicTime began = now;
  for (std::size_t i = 0; i < kReactionsMax; ++i) {
    ASSERT_TRUE(pace.may(now));
    pace.reacted(now);
    now = now + std::chrono::seconds(1);
  }
  EXPECT_FALSE(pace.may(now));
  EXPECT_FALSE(pace.may(began + (kReactionsWithin - base::Duration(1))));
  EXPECT_TRUE(pace.may(began + kReactionsWithin));
  pace.reacted(began + kReactionsWithin);
  EXPECT_FALSE(pace.may(began + kReactionsWithin)) << "the second of them is younger";
}

}  // namespace
}  // namespace tidemark::policy::protect
