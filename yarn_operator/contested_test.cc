#include "yarn_operator/contested.h"

#include <gtest/gtest.h>

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;
using Nodes = std::vector<std::string>;

class ContestedTest : public ::testing::Test {
 protected:
  void again(const Nodes& nodes, base::Duration later) {
    now = now + later;
    totals.told_again(nodes, now);
  }
  Nodes contested(base::Duration later = 0s) {
    now = now + later;
    return totals.nodes(now);
  }
  base::MonotonicTime now{1h};
  ContestedTotals totals;
};

TEST_F(ContestedTest, ReportsThreeTimesWithinFiveMinutes) {
  again({"a", "b"}, 0s);
  again({"a"}, 2min);
  EXPECT_EQ(contested(), Nodes{}) << "a NodeManager restart and a manual change";
  again({"a", "b"}, 3min);
  EXPECT_EQ(contested(), Nodes{"a"});
}

TEST_F(ContestedTest, CountsAWriterThatReturnsEveryTwoMinutes) {
  for (int i = 0; i < 50; ++i) {
    again({"a"}, 2min);
    ASSERT_EQ(contested(119s), i < 2 ? Nodes{} : Nodes{"a"}) << i;
    now = now + -119s;
  }
}

TEST_F(ContestedTest, IgnoresRareChanges) {
  for (int i = 0; i < 50; ++i) {
    again({"a"}, kContestedWithin / 2 + 1s);
    ASSERT_EQ(contested(), Nodes{}) << i;
  }
}

TEST_F(ContestedTest, EndsFiveMinutesAfterTheLastChange) {
  for (int i = 0; i < 100; ++i) again({"a"}, 3s);
  EXPECT_EQ(contested(), Nodes{"a"});
  EXPECT_EQ(contested(kContestedWithin), Nodes{"a"});
  EXPECT_EQ(contested(1s), Nodes{});
}

}  // namespace
}  // namespace tidemark::yarn_operator
