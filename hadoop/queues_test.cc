#include "hadoop/queues.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/testing/source_dir.h"

namespace tidemark::hadoop {
namespace {

// Answers of ResourceManagers of Hadoop 3.4 with three applications.
std::vector<QueueState> queues_of(const std::string& name) {
  std::ifstream file(base::testing::from_root("hadoop/testdata/" + name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto queues = parse_queues(text);
  EXPECT_TRUE(queues) << (queues ? "" : queues.error().message);
  return queues.value_or(std::vector<QueueState>());
}

TEST(Queues, ReadsTheCapacityScheduler) {
  const auto queues = queues_of("scheduler-capacity.json");
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].path, "root.default");
  EXPECT_EQ(queues[0].pending, 0);
  EXPECT_EQ(queues[0].pending_containers, 0);
  EXPECT_EQ(queues[0].used_percent, 75);
}

TEST(Queues, ReadsTheFairScheduler) {
  const auto queues = queues_of("scheduler-fair.json");
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0].path, "root.team.night");
  EXPECT_EQ(queues[0].pending, 0);
  EXPECT_EQ(queues[0].used_percent, 50) << "of the cluster";
  EXPECT_EQ(queues[1].path, "root.default");
  EXPECT_EQ(queues[1].pending, 1);
  EXPECT_EQ(queues[1].pending_containers, 1);
}

TEST(Queues, AnotherSchedulerHasNone) {
  EXPECT_TRUE(parse_queues(R"({"scheduler":{"schedulerInfo":{"type":"fifoScheduler","usedCapacity":0.5}}})")->empty());
  EXPECT_FALSE(parse_queues("{}"));
  EXPECT_FALSE(parse_queues("<html>"));
}

TEST(Queues, QueueIsNamedByPathOrLastWord) {
  const std::vector<QueueState> queues = {{.path = "root.a.night"}, {.path = "root.b.night"}, {.path = "root.day"}};
  EXPECT_EQ(find_queue(queues, "day"), &queues[2]);
  EXPECT_EQ(find_queue(queues, "root.b.night"), &queues[1]);
  EXPECT_EQ(find_queue(queues, "b.night"), &queues[1]);
  EXPECT_EQ(find_queue(queues, "night"), nullptr) << "there are two";
  EXPECT_EQ(find_queue(queues, "ay"), nullptr);
}

}  // namespace
}  // namespace tidemark::hadoop
