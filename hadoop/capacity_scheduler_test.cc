#include "hadoop/capacity_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::hadoop {
namespace {

const Resource kCluster{8192, 8, {}};

class CapacitySchedulerTest : public ::testing::Test {
 protected:
  // Keys without what stands before each of them.
  Result<Resource> largest(const std::map<std::string, std::string>& settings, std::string_view partition = "") {
    TM_TRY(const auto bounds, queue_bounds(site_of(settings), kCluster));
    return largest_in(bounds, partition);
  }
  static Site site_of(const std::map<std::string, std::string>& settings) {
    std::string text = "<configuration>";
    for (const auto& [key, value] : settings) {
      text += "<property><name>yarn.scheduler.capacity." + key + "</name><value>" + value + "</value></property>";
    }
    Site site;
    const auto read = [&](const std::string&, std::size_t) -> Result<std::string> { return text + "</configuration>"; };
    EXPECT_TRUE(site.add("/conf/capacity-scheduler.xml", read));
    return site;
  }
};

TEST_F(CapacitySchedulerTest, UsesTheClusterLimitIfNoQueueHasLess) {
  EXPECT_EQ(*largest({}), kCluster);
  EXPECT_EQ(*largest({{"root.queues", "a,b"}, {"root.a.maximum-allocation-mb", "1024"}}), kCluster) << "b takes it";
  EXPECT_EQ(*largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "-1"}}), kCluster) << "Hadoop's nothing";
  EXPECT_EQ(*largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "9000"}}), kCluster);
}

TEST_F(CapacitySchedulerTest, UsesTheLargestQueue) {
  const std::map<std::string, std::string> settings = {{"root.queues", "a, b"},
                                                       {"root.a.maximum-allocation-mb", "2048"},
                                                       {"root.a.maximum-allocation-vcores", "4"},
                                                       {"root.b.maximum-allocation-mb", "1024"}};
  EXPECT_EQ(*largest(settings), (Resource{2048, 4, {}}));
}

TEST_F(CapacitySchedulerTest, InheritsFromTheParentQueueOrUsesItsOwn) {
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

// As ResourceUtils of Hadoop 3.4.3 reads it; on a real ResourceManager: tests/yarn/test_largest_container.py.
TEST_F(CapacitySchedulerTest, PrefersTheCombinedKey) {
  const auto in_a_word = [&](const std::string& word) {
    return largest({{"root.queues", "a"},
                    {"root.a.maximum-allocation", word},
                    {"root.a.maximum-allocation-mb", "512"},
                    {"root.a.maximum-allocation-vcores", "1"}});
  };
  EXPECT_EQ(*in_a_word("memory-mb=2048,vcores=2"), (Resource{2048, 2, {}}));
  EXPECT_EQ(*in_a_word(" vcores=3 , memory-mb=2 g"), (Resource{2048, 3, {}}));
  EXPECT_EQ(*in_a_word("memory=3G,vcores=2,yarn.io/gpu=1"), (Resource{3072, 2, {}}));
  EXPECT_EQ(*in_a_word("memory=1073741824,vcores=2"), (Resource{1024, 2, {}})) << "bytes";
  EXPECT_EQ(*in_a_word("memory-mb=2048"), (Resource{2048, 0, {}})) << "what it does not name is nothing";
  EXPECT_EQ(*in_a_word("memory-mb=99999,vcores=99"), kCluster);
  EXPECT_EQ(*in_a_word(""), (Resource{512, 1, {}}));
  for (const std::string& wrong :
       std::vector<std::string>{"2048", "memory-mb=much", "memory-mb=2t", "memory-mb=-1", "vcores="}) {
    EXPECT_EQ(in_a_word(wrong).error().message,
              "/conf/capacity-scheduler.xml: yarn.scheduler.capacity.root.a.maximum-allocation is to be amounts as in "
              "memory-mb=2048,vcores=2, found \"" +
                  wrong + "\"");
  }
}

TEST_F(CapacitySchedulerTest, UsesOnlyQueuesThatMayUseThePartition) {
  std::map<std::string, std::string> settings = {{"root.queues", "masters,etl"},
                                                 {"root.masters.maximum-allocation-mb", "1024"},
                                                 {"root.masters.accessible-node-labels", "stable"},
                                                 {"root.etl.queues", "night"},
                                                 {"root.etl.maximum-allocation-mb", "4096"},
                                                 {"root.etl.accessible-node-labels", "volatile, gpu"}};
  EXPECT_EQ(largest(settings, "stable")->memory_mib, 1024);
  EXPECT_EQ(largest(settings, "gpu")->memory_mib, 4096) << "it has what the queue above it has";
  EXPECT_EQ(largest(settings)->memory_mib, 4096) << "nodes without a label are there for all";
  EXPECT_EQ(*largest(settings, "nobodys"), Resource());
  settings["root.etl.night.accessible-node-labels"] = " ";
  EXPECT_EQ(*largest(settings, "gpu"), Resource());
  settings["root.etl.night.accessible-node-labels"] = "x,*";
  EXPECT_EQ(largest(settings, "stable")->memory_mib, 4096);
  EXPECT_EQ(*largest({{"root.accessible-node-labels", "stable"}}, "gpu"), kCluster) << "the root queue has all";
}

TEST_F(CapacitySchedulerTest, RejectsInvalidNumberWithItsPlace) {
  const auto found = largest({{"root.queues", "a"}, {"root.a.maximum-allocation-mb", "2g"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(
      found.error().message,
      "/conf/capacity-scheduler.xml: yarn.scheduler.capacity.root.a.maximum-allocation-mb must be a number, found "
      "\"2g\"");
}

TEST_F(CapacitySchedulerTest, LimitsTheNumberOfQueues) {
  std::string names;
  for (std::size_t i = 0; i <= kQueuesMax; ++i) names += "q" + std::to_string(i) + ",";
  EXPECT_EQ(largest({{"root.queues", names}}).error().kind, ErrorKind::kExhausted);
}

}  // namespace
}  // namespace tidemark::hadoop
