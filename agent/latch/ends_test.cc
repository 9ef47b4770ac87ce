#include "agent/latch/ends.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"
#include "policy/state/permits.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

std::size_t begun(const linux::testing::Tree& tree, base::Duration since_boot) {
  const auto ends = Ends::begin(tree.root() + "/run", base::BootTime{since_boot});
  EXPECT_TRUE(ends) << ends.error().message;
  return ends ? ends->unexpected() : 99;
}

TEST(Ends, EachStartWithoutAnOrderlyEndBeforeItCounts) {
  const linux::testing::Tree tree;
  for (std::size_t starts = 0; starts < 5; ++starts) EXPECT_EQ(begun(tree, 1h + 1min * starts), starts);
}

TEST(Ends, OnlyThoseOfTheLastTenMinutesCount) {
  const linux::testing::Tree tree;
  begun(tree, 1h);
  begun(tree, 1h + 5min);
  EXPECT_EQ(begun(tree, 1h + policy::state::kHoldWindow), 2U);
  EXPECT_EQ(begun(tree, 1h + policy::state::kHoldWindow + 1ms), 2U) << "the first is over, the one before this is new";
  EXPECT_EQ(begun(tree, 3h), 0U);
}

TEST(Ends, OrderlyEndResetsCount) {
  const linux::testing::Tree tree;
  begun(tree, 1h);
  const auto ends = Ends::begin(tree.root() + "/run", base::BootTime{1h + 1min});
  ASSERT_TRUE(ends && ends->forget() && ends->forget());
  EXPECT_EQ(begun(tree, 1h + 2min), 0U);
}

TEST(Ends, UnreadableFileDoesNotCount) {
  linux::testing::Tree tree;
  tree.write("run/starts", "abc\n\n-5\n99999999999999999999\n3600000");
  EXPECT_EQ(begun(tree, 1h + 1min), 0U);
}

}  // namespace
}  // namespace tidemark::agent
