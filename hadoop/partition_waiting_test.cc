#include "hadoop/partition_waiting.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "net/testing/http.h"

namespace tidemark::hadoop {
namespace {

// As a ResourceManager of Hadoop 3.4.3 answers, shortened.
constexpr std::string_view kPartitionWaitingTwo =
    R"({"beans":[{"name":"Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=volatile",)"
    R"("modelerType":"PartitionQueueMetrics,partition=volatile","tag.Partition":"volatile","running_0":0,)"
    R"("AllocatedMB":1024,"PendingMB":6144,"PendingVCores":3,"PendingContainers":2,"ReservedMB":0},)"
    R"({"name":"Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=default",)"
    R"("PendingMB":512,"PendingVCores":1,"PendingContainers":1},)"
    R"({"name":"Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=stable,q0=root",)"
    R"("PendingMB":256,"PendingVCores":1,"PendingContainers":1}]})";

TEST(PartitionWaiting, ReadsEachNamedPartition) {
  const auto read = parse_partition_waiting(kPartitionWaitingTwo);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (WaitingByPartition{{"volatile", {6144, 3, 2}}}));
}

TEST(PartitionWaiting, IsEmptyIfNothingWithALabelEverWaited) {
  const auto read = parse_partition_waiting(
      R"({"beans":[{"name":"Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=default"}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->empty());
}

// An older release answers so, and one on standby.
TEST(PartitionWaiting, IsUnknownIfNoPartitionIsNamed) {
  for (const std::string_view bytes :
       {R"({"beans":[]})", R"({ "beans" : [ { "name" : "java.lang:type=Memory", "HeapMB" : 1.5 } ] })"}) {
    const auto read = parse_partition_waiting(bytes);
    ASSERT_FALSE(read) << bytes;
    EXPECT_EQ(read.error().kind, ErrorKind::kNotFound);
    EXPECT_TRUE(read.error().message.starts_with("what is waited for in partitions: ")) << read.error().message;
  }
}

TEST(PartitionWaiting, ClampsNegativeCounters) {
  const auto read = parse_partition_waiting(
      R"({"beans":[{"name":"Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=p","PendingMB":-128}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("p"), QueueWaiting());
}

TEST(PartitionWaiting, RejectsOtherContent) {
  for (const std::string_view bytes :
       {"", "<html>", "[]", "{}", R"({"beans":3})", R"({"beans":[{"PendingMB":"much"}]})"}) {
    const auto read = parse_partition_waiting(bytes);
    ASSERT_FALSE(read) << bytes;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(read.error().message.starts_with("what is waited for in partitions: ")) << read.error().message;
  }
}

TEST(PartitionWaiting, RequestsTheWebAddress) {
  net::testing::HttpPair pair{net::testing::Wire::kClear};
  int status = 200;
  std::string asked, answer(kPartitionWaitingTwo);
  pair.begin([&](net::HttpExchange& exchange) -> net::Task<void> {
    asked = exchange.head().target;
    exchange.respond(status, "application/json", answer);
    co_return;
  });
  const auto ask = [&] {
    return net::testing::run_task(pair.loop, ask_partition_waiting(*pair.client, std::chrono::seconds(30)));
  };
  EXPECT_EQ(ask()->size(), 1u);
  EXPECT_EQ(asked, "/jmx?qry=Hadoop:service=ResourceManager,name=PartitionQueueMetrics,partition=*");

  status = 403;
  answer = "not you\n";
  const auto shut = ask();
  ASSERT_FALSE(shut);
  EXPECT_EQ(shut.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(shut.error().message,
            "what is waited for in partitions: the ResourceManager's web address answered 403 \"not you\"");
}

}  // namespace
}  // namespace tidemark::hadoop
