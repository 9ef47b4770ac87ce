#include "hadoop/container_logs.h"

#include <gtest/gtest.h>

namespace tidemark::hadoop {
namespace {

TEST(ContainerLogs, FindsTheFileInTheAnswerOfANodeManager) {
  const std::string answer =
      "Container: container_1 on host:1\nLogAggregationType: LOCAL\n=====\nLogType:stderr\n"
      "LogLastModifiedTime:now\nLogLength:6\nLogContents:\nabc\nd\n\nEnd of LogType:stderr.";
  const auto whole = container_file(answer, 100);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->text, "abc\nd\n");
  EXPECT_EQ(whole->length, 6);
  EXPECT_EQ(container_file(answer, 2)->text, "ab")
      << "the answer begins with the first of the bytes that were asked for";
  EXPECT_FALSE(container_file("no log file", 100));
  EXPECT_FALSE(container_file("\nLogLength:600\nLogContents:\nabc", 1000)) << "it is cut";
}

TEST(ContainerLogs, FindsTheNodeManagerOfALogPage) {
  const auto place = container_place("http://node-1:8042/node/containerlogs/container_1_2_01_000001/ann");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->node.host, "node-1");
  EXPECT_EQ(place->container, "container_1_2_01_000001");
  EXPECT_FALSE(container_place(""));
  EXPECT_FALSE(container_place("http://rm:8088/cluster/app/x"));
}

}  // namespace
}  // namespace tidemark::hadoop
