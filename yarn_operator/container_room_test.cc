#include "yarn_operator/container_room.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

namespace tidemark::yarn_operator {
namespace {

using hadoop::QueueWaiting;
using hadoop::Resource;

const ContainerSizes kSizes{{1024, 1, {}}, {{std::nullopt, {8192, 4, {}}}}};

class ContainerRoomTest : public ::testing::Test {
 protected:
  ContainerRoom cluster() const {
    return container_room({{{"a", 1}, {&a}}, {{"b", 1}, {&b, of_b}}}, kSizes, shared).value();
  }
  PartitionRoom room(const std::string& partition = "") const { return cluster().partitions.at(partition); }

  Resource a{512, 1, {}};
  Resource b{512, 1, {}};
  std::string of_b;  // its partition
  std::set<std::string> shared;
};

TEST_F(ContainerRoomTest, IsUnknownWithoutANode) {
  EXPECT_FALSE(container_room({}, kSizes, {}));
}

TEST_F(ContainerRoomTest, RequiresOneNodeForTheWholeContainer) {
  EXPECT_FALSE(cluster().for_the_smallest);
  a = {1024, 0, {}};
  EXPECT_FALSE(cluster().for_the_smallest) << "memory of one node and vcores of another do not make a container";
  a = {1024, 1, {}};
  EXPECT_TRUE(cluster().for_the_smallest);
  EXPECT_FALSE(room().for_the_largest);
  a = {8192, 3, {}};
  b = {8191, 4, {}};
  EXPECT_FALSE(room().for_the_largest);
  b = {8192, 4, {}};
  EXPECT_TRUE(room().for_the_largest);
}

TEST_F(ContainerRoomTest, TakesTheNodeWithMostMemoryAsLargest) {
  a = {4096, 64, {}};
  b = {6144, 2, {}};
  EXPECT_EQ(room().largest_node.text(), "b:1");
  EXPECT_EQ(room().largest_total, b);
  a = {6144, 3, {}};
  EXPECT_EQ(room().largest_node.text(), "a:1");
}

TEST_F(ContainerRoomTest, FindsTheLargestNodeOfEachPartition) {
  a = {4096, 4, {}};
  b = {8192, 4, {}};
  of_b = "volatile";
  EXPECT_EQ(room().largest_total, a);
  EXPECT_FALSE(room().for_the_largest) << "requests without a partition do not run on b";
  EXPECT_EQ(room("volatile").largest_node.text(), "b:1");
  EXPECT_TRUE(room("volatile").for_the_largest);
  EXPECT_TRUE(some_wait_in_vain({6144, 1, 1}, room()));
  EXPECT_FALSE(some_wait_in_vain({6144, 1, 1}, room("volatile")));
}

TEST_F(ContainerRoomTest, FindsTheLargestContainerOfEachPartition) {
  const ContainerSizes sizes{
      {1024, 1, {}}, {{std::set<std::string>(), {8192, 4, {}}}, {std::set<std::string>{"masters"}, {1024, 1, {}}}}};
  b = {1024, 1, {}};
  const auto partitions = container_room({{{"a", 1}, {&a}}, {{"b", 1}, {&b, "masters"}}}, sizes, {})->partitions;
  EXPECT_TRUE(partitions.at("masters").for_the_largest);
  EXPECT_EQ(partitions.at("masters").largest_container, b);
  EXPECT_FALSE(partitions.at("").for_the_largest);
  EXPECT_EQ(partitions.at("").largest_container.memory_mib, 8192);
}

TEST_F(ContainerRoomTest, CountsSharedNodesForRequestsWithoutPartition) {
  b = {8192, 4, {}};
  of_b = "volatile";
  shared = {"volatile", "other"};
  EXPECT_EQ(room().largest_node.text(), "b:1");
  EXPECT_TRUE(room().for_the_largest);
  a = {9216, 4, {}};
  EXPECT_EQ(room("volatile").largest_total, b) << "but not vice versa";
}

TEST_F(ContainerRoomTest, PutsAllNodesInOnePartitionIfTheSchedulerIgnoresLabels) {
  hadoop::NodeReport report;
  report.labels = {"volatile"};
  EXPECT_EQ(partition_of(report, {}), "volatile");
  EXPECT_EQ(partition_of(report, {.partitions = false}), "");
}

TEST_F(ContainerRoomTest, CountsRoomInAnyPartition) {
  b = {1024, 1, {}};
  of_b = "volatile";
  EXPECT_TRUE(cluster().for_the_smallest) << "a ResourceManager checks all of its nodes";
}

TEST_F(ContainerRoomTest, FindsWaitingTooLargeByTheAverage) {
  a = {4096, 4, {}};
  EXPECT_TRUE(some_wait_in_vain({6144, 1, 1}, room()));
  EXPECT_FALSE(some_wait_in_vain({4096, 1, 1}, room()));
  EXPECT_FALSE(some_wait_in_vain({6144, 1, 2}, room())) << "one of them may have 5 GiB; unknown";
  EXPECT_TRUE(some_wait_in_vain({9216, 1, 2}, room()));
  EXPECT_FALSE(some_wait_in_vain({1024, 9, 1}, room())) << "vcores may not be a limit";
  EXPECT_FALSE(some_wait_in_vain({}, room()));
  EXPECT_FALSE(some_wait_in_vain({6144, 1, 0}, room())) << "a server that does not report the count";
}

}  // namespace
}  // namespace tidemark::yarn_operator
