// What of a node cannot be read is told once, whatever other nodes have to say, and counted while it lasts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kMerge;

class NodeNotesTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    log = base::Log(clock, {base::LogLevel::kWarn, base::LogFormat::kText,
                            [this](std::string_view line) { lines.emplace_back(line); }});
    InMemoryCluster::SetUp();
  }
  void annotate(std::string_view name, std::string_view key, const Json& text) {
    must("PATCH", base::cat("/api/v1/nodes/", name),
         Json::object({{"metadata", Json::object({{"annotations", Json::object({{key, text}})}})}}), kMerge);
  }
  std::ptrdiff_t told(std::string_view node, std::string_view key) const {
    return std::ranges::count_if(lines, [&](const std::string& line) {
      return line.find("part of a node not read") != std::string::npos && line.contains(base::cat("node=", node)) &&
             line.contains(key);
    });
  }

  std::vector<std::string> lines;
};

TEST_F(NodeNotesTest, EachNodeIsToldOnceAndAgainWhenItIsSomethingElse) {
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  for (const auto& each : nodes) {
    node(each);
    metric(each, "2");
    annotate(each, "node.koordinator.sh/network-bandwidth", "fast");
  }
  auto& replica = start();
  for (int report = 0; report < 5; ++report) {  // each is a look at the node
    for (const auto& each : nodes) metric(each, std::to_string(3 + report));
    run_for(1min);
  }
  for (const auto& each : nodes) EXPECT_EQ(told(each, "network-bandwidth"), 1) << each;
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 3);

  annotate("n1", "node.koordinator.sh/colocation-strategy", "{");
  annotate("n2", "node.koordinator.sh/network-bandwidth", nullptr);
  run_for(1min);
  EXPECT_EQ(told("n1", "colocation-strategy"), 1);
  EXPECT_EQ(told("n2", "network-bandwidth"), 1);
  EXPECT_EQ(replica.metric("tidemark_nodes_partly_unreadable"), 2);
}

}  // namespace
}  // namespace tidemark::manager
