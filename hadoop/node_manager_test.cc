#include "hadoop/node_manager.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "net/testing/http.h"

namespace tidemark::hadoop {
namespace {

// As a NodeManager of Hadoop 3.4.3 answers, shortened.
constexpr std::string_view kTwo =
    R"({"containers":{"container":[{"id":"container_1700000000000_0001_01_000002","state":"RUNNING","exitCode":-1000,)"
    R"("diagnostics":"","user":"ada","totalMemoryNeededMB":2048,"totalVCoresNeeded":2,"executionType":"GUARANTEED",)"
    R"("containerLogsLink":"http://h:8042/node/containerlogs/x/ada","nodeId":"h:45454","memUsed":0.0,"memMaxed":0.0,)"
    R"("cpuUsed":0.0,"cpuMaxed":0.0,"containerLogFiles":["stdout"]},)"
    R"({"id":"container_1700000000000_0001_01_000001","state":"EXITED_WITH_FAILURE","exitCode":137,"user":"ada",)"
    R"("totalMemoryNeededMB":256,"totalVCoresNeeded":1}]}})";

TEST(NodeManager, ReadsContainersById) {
  const auto read = parse_node_containers(kTwo);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->containers.size(), 2u);
  EXPECT_EQ(read->containers[0].id, "container_1700000000000_0001_01_000001");
  EXPECT_EQ(read->containers[0].exit_code, 137);
  EXPECT_TRUE(has_ended(read->containers[0].state));
  const NodeContainer& running = read->containers[1];
  EXPECT_EQ(running.memory_mib, 2048);
  EXPECT_EQ(running.vcores, 2);
  EXPECT_EQ(running.user, "ada");
  EXPECT_FALSE(has_ended(running.state));
}

TEST(NodeManager, AcceptsNullWithoutContainers) {
  EXPECT_EQ(parse_node_containers(R"({"containers":null})")->containers.size(), 0u);
  EXPECT_EQ(parse_node_containers(R"({"containers":{"container":[]}})")->containers.size(), 0u);
}

TEST(NodeManager, AcceptsASingleObjectAsList) {
  const auto read = parse_node_containers(R"({"containers":{"container":{"id":"container_1_1_1_1","state":"NEW"}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->containers[0].id, "container_1_1_1_1");
}

TEST(NodeManager, SkipsAnUnreadableContainer) {
  const auto read = parse_node_containers(
      R"({"containers":{"container":[{"id":"a","totalMemoryNeededMB":-1},{"id":"b"},{"state":"RUNNING"}]}})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->containers.size(), 1u);
  EXPECT_EQ(read->containers[0].id, "b");
  ASSERT_EQ(read->refused.size(), 2u);
  EXPECT_TRUE(read->refused[0].message.starts_with("a: ")) << read->refused[0].message;
  EXPECT_TRUE(read->refused[0].message.contains("below zero")) << read->refused[0].message;
  EXPECT_EQ(read->refused[1].message, "the container at 2: it has no id");
}

TEST(NodeManager, RejectsOtherContent) {
  for (const std::string_view bytes : {"", "<html>", "[]", "{}", R"({"containers":3})"}) {
    const auto read = parse_node_containers(bytes);
    ASSERT_FALSE(read) << bytes;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(read.error().message.starts_with("a NodeManager's containers: ")) << read.error().message;
  }
}

TEST(NodeManager, RequestsTheRestApi) {
  net::testing::HttpPair pair{net::testing::Wire::kClear};
  int status = 200;
  std::string asked, answer(kTwo), wants;
  pair.begin([&](net::HttpExchange& exchange) -> net::Task<void> {
    asked = exchange.head().target;
    net::Headers headers;
    if (!wants.empty()) headers.add("www-authenticate", wants);
    exchange.respond(status, std::move(headers), net::make_buffer(answer));
    co_return;
  });
  NodeManager manager(*pair.client);
  const auto ask = [&] { return net::testing::run_task(pair.loop, manager.containers(std::chrono::seconds(30))); };
  EXPECT_EQ(ask()->containers.size(), 2u);
  EXPECT_EQ(asked, "/ws/v1/node/containers");

  status = 503;
  answer = "starting\n";
  const auto away = ask();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(away.error().message, "the NodeManager's containers: it answered 503 \"starting\"");

  status = 401;
  answer = "Authentication required";
  wants = "Negotiate";
  const auto denied = ask();
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::kUnavailable) << "our own client is not the one that is rejected";
  EXPECT_TRUE(is_shut_out(denied.error()));
  EXPECT_FALSE(is_shut_out(away.error()));
  EXPECT_TRUE(
      denied.error().message.contains("it answered 401 \"Authentication required\": its web address requires Kerberos"))
      << denied.error().message;
}

}  // namespace
}  // namespace tidemark::hadoop
