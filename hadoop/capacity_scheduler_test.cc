#include "hadoop/capacity_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tidemark::hadoop {
namespace {

const Resource kCluster{8192, 8, {}};

class CapacitySchedulerTest : public ::testing::Test {
 protected:
  // Keys without what stands before each of them.
  Result<Resource> largest(const std::map<std::string, std::string>& settings) {
    std::string text = "<configuration>";
    for (const auto& [key, value] : settings) {
      text += "<property><name>yarn.scheduler.capacity." + key + "</name><value>" + value + "</value></property>";
    }
    Site site;
    const auto read = [&](const std::string&, std::size_t) -> Result<std::string> { return text + "</configuration>"; };
    EXPECT_TRUE(site.add("/conf/capacity-scheduler.xml", read));
    return largest_in_any_queue(site, kCluster);
  }
};

TEST_F(CapacitySchedulerTest, WhereNoQueueSaysLessTheClustersOwnCounts) {
  EXPECT_EQ(*largest({}), kCluster);
  EXPECT_EQ(*largest({{"root.queues", "a,b"}, {"root.a.maximum-allocation-mb", "1024"}}), kCluster) << "b takes it";
  EXPECT_EQ(*largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "-1"}}), kCluster) << "Hadoop's nothing";
  EXPECT_EQ(*largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "9000"}}), kCluster);
}

TEST_F(CapacitySchedulerTest, TheLargestOfAllQueuesCounts) {
  const std::map<std::string, std::string> settings = {{"root.queues", "a, b"},
                                                       {"root.a.maximum-allocation-mb", "2048"},
                                                       {"root.a.maximum-allocation-vcores", "4"},
                                                       {"root.b.maximum-allocation-mb", "1024"}};
  EXPECT_EQ(*largest(settings), (Resource{2048, 4, {}}));
}

TEST_F(CapacitySchedulerTest, AQueueHasWhatCountsForTheOneAboveItAndMayHaveItsOwn) {
  std::map<std::string, std::string> settings = {{"root.queues", "etl"},
                                                 {"root.etl.queues", "night,day"},
                                                 {"root.etl.maximum-allocation-mb", "2048"},
                                                 {"root.etl.night.maximum-allocation-vcores", "2"},
                                                 {"root.etl.day.maximum-allocation-mb", "512"}};
  EXPECT_EQ(*largest(settings), (Resource{2048, 2, {}}));
  settings["root.maximum-allocation-mb"] = "1024";
  EXPECT_EQ(*largest(settings), (Resource{2048, 2, {}})) << "its own counts, be it more than what is above it";
  settings["root.etl.maximum-allocation-mb"] = "9000";
  EXPECT_EQ(*largest(settings), (Resource{8192, 2, {}})) << "up to the cluster's";
}

TEST_F(CapacitySchedulerTest, WhatIsNoNumberIsToldWithItsPlace) {
  const auto found = largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "2g"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(
      found.error().message,
      "/conf/capacity-scheduler.xml: yarn.scheduler.capacity.root.a.maximum-allocation-mb is to be a number, found "
      "\"2g\"");
}

TEST_F(CapacitySchedulerTest, ThereIsABoundOfQueues) {
  std::string names;
  for (std::size_t i = 0; i <= kQueuesMax; ++i) names += "q" + std::to_string(i) + ",";
  EXPECT_EQ(largest({{"root.queues", names}}).error().kind, ErrorKind::kExhausted);
}

}  // namespace
}  // namespace tidemark::hadoop
