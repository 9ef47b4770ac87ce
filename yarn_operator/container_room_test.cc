#include "yarn_operator/container_room.h"

#include <gtest/gtest.h>

namespace tidemark::yarn_operator {
namespace {

using hadoop::QueueWaiting;
using hadoop::Resource;

const ContainerSizes kSizes{{1024, 1, {}}, {8192, 4, {}}};

class ContainerRoomTest : public ::testing::Test {
 protected:
  ContainerRoom room() const { return container_room({{{"a", 1}, &a}, {{"b", 1}, &b}}, kSizes).value(); }

  Resource a{512, 1, {}};
  Resource b{512, 1, {}};
};

TEST_F(ContainerRoomTest, WithoutANodeNobodyKnows) {
  EXPECT_FALSE(container_room({}, kSizes));
}

TEST_F(ContainerRoomTest, OneNodeHasToHoldAllOfAContainer) {
  EXPECT_FALSE(room().for_the_smallest);
  a = {1024, 0, {}};
  EXPECT_FALSE(room().for_the_smallest) << "memory here and vcores there are no container";
  a = {1024, 1, {}};
  EXPECT_TRUE(room().for_the_smallest);
  EXPECT_FALSE(room().for_the_largest);
  a = {8192, 3, {}};
  b = {8191, 4, {}};
  EXPECT_FALSE(room().for_the_largest);
  b = {8192, 4, {}};
  EXPECT_TRUE(room().for_the_largest);
}

TEST_F(ContainerRoomTest, TheLargestNodeIsTheOneOfTheMostMemory) {
  a = {4096, 64, {}};
  b = {6144, 2, {}};
  EXPECT_EQ(room().largest_node.text(), "b:1");
  EXPECT_EQ(room().largest_total, b);
  a = {6144, 3, {}};
  EXPECT_EQ(room().largest_node.text(), "a:1");
}

TEST_F(ContainerRoomTest, WhatWaitsIsTooLargeWhereItIsSoOnAverage) {
  a = {4096, 4, {}};
  EXPECT_TRUE(some_wait_in_vain({6144, 1, 1}, room()));
  EXPECT_FALSE(some_wait_in_vain({4096, 1, 1}, room()));
  EXPECT_FALSE(some_wait_in_vain({6144, 1, 2}, room())) << "one of them may have 5 GiB: nobody knows";
  EXPECT_TRUE(some_wait_in_vain({9216, 1, 2}, room()));
  EXPECT_FALSE(some_wait_in_vain({1024, 9, 1}, room())) << "vcores may be no bound";
  EXPECT_FALSE(some_wait_in_vain({}, room()));
  EXPECT_FALSE(some_wait_in_vain({6144, 1, 0}, room())) << "a server that does not say how many";
}

}  // namespace
}  // namespace tidemark::yarn_operator
