#include "agent/tasks/told_once.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::agent {
namespace {

using Texts = std::vector<std::string>;

TEST(ToldOnce, PassesNewAndReturningComplaints) {
  ToldOnce told;
  EXPECT_EQ(told.take({"b", "a", "b"}), (Texts{"a", "b"}));
  EXPECT_EQ(told.take({"a", "b"}), Texts{});
  EXPECT_EQ(told.take({"b", "c"}), Texts{"c"});
  EXPECT_EQ(told.take({}), Texts{});
  EXPECT_EQ(told.take({"b"}), Texts{"b"});
}

TEST(ToldOnce, IsBounded) {
  Texts many;
  for (std::size_t i = 0; i < 10 * ToldOnce::kMax; ++i) many.push_back(base::cat("container ", i));
  ToldOnce told;
  EXPECT_EQ(told.take(many).size(), ToldOnce::kMax);
  EXPECT_EQ(told.take(many).size(), 0u);
}

}  // namespace
}  // namespace tidemark::agent
