#include "linux/topology.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct TopologyTest : ::testing::Test {
  testing::Tree cpus, nodes;
  Buffer buffer;

  void cpu(int number, int core, int socket) {
    cpus.write(base::cat("cpu", number, "/topology/core_id"), base::cat(core, "\n"));
    cpus.write(base::cat("cpu", number, "/topology/physical_package_id"), base::cat(socket, "\n"));
  }
  Result<Topology> read(bool numa = true) {
    const auto folder = Folder::open(nodes.root()).value();
    return read_topology(Folder::open(cpus.root()).value(), numa ? &folder : nullptr, buffer);
  }
  Topology topology(bool numa = true) {
    auto found = read(numa);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Topology{});
  }
};

using Processors = std::vector<Processor>;

// Two sockets of two cores with two threads, numbered as firmware does: all first threads, then all second ones. The
// numbers of cores begin anew in the second socket, and have gaps.
TEST_F(TopologyTest, TwoSocketsWithTwoThreadsACore) {
  cpus.write("online", "0-7\n");
  for (const int number : {0, 1, 2, 3, 4, 5, 6, 7}) cpu(number, number % 2 == 0 ? 0 : 8, number / 2 % 2);
  nodes.write("node0/cpulist", "0-1,4-5\n");
  nodes.write("node1/cpulist", "2-3,6-7\n");
  const Topology found = topology();
  EXPECT_EQ(found.processors, (Processors{{0, 0, 0, 0},
                                          {1, 1, 0, 0},
                                          {2, 2, 1, 1},
                                          {3, 3, 1, 1},
                                          {4, 0, 0, 0},
                                          {5, 1, 0, 0},
                                          {6, 2, 1, 1},
                                          {7, 3, 1, 1}}));
  EXPECT_TRUE(found.without_core.empty() && found.without_socket.empty() && found.without_node.empty());
}

TEST_F(TopologyTest, CoresOfTwoDiesAreTwo) {
  cpus.write("online", "0-1\n");
  for (const int number : {0, 1}) {
    cpu(number, 0, 0);
    cpus.write(base::cat("cpu", number, "/topology/die_id"), base::cat(number, "\n"));
  }
  nodes.write("node0/cpulist", "0-1\n");
  EXPECT_EQ(topology().processors, (Processors{{0, 0, 0, 0}, {1, 1, 0, 0}}));
}

TEST_F(TopologyTest, OnlyOnlineCpus) {
  cpus.write("online", "0,2\n");
  for (const int number : {0, 1, 2}) cpu(number, 0, 0);
  nodes.write("node0/cpulist", "0,2\n");
  EXPECT_EQ(topology().processors, (Processors{{0, 0, 0, 0}, {2, 0, 0, 0}}));
}

TEST_F(TopologyTest, MissingTopologyGivesOneCorePerCpu) {
  cpus.write("online", "0-2\n");
  const Topology found = topology(false);
  EXPECT_EQ(found.processors, (Processors{{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}}));
  EXPECT_EQ(found.without_core.text(), "0-2");
  EXPECT_EQ(found.without_socket.text(), "0-2");
  EXPECT_EQ(found.without_node.text(), "0-2");
}

TEST_F(TopologyTest, MinusOneIsUnset) {
  cpus.write("online", "0-1\n");
  cpu(0, 0, -1);
  cpu(1, -1, 1);
  nodes.write("node0/cpulist", "0\n");
  const Topology found = topology();
  EXPECT_EQ(found.processors, (Processors{{0, 0, 0, 0}, {1, 1, 1, 0}}));
  EXPECT_EQ(found.without_core.text(), "1");
  EXPECT_EQ(found.without_socket.text(), "0");
  EXPECT_EQ(found.without_node.text(), "1");
}

TEST_F(TopologyTest, WithoutAListTheFoldersCount) {
  for (const int number : {0, 1, 10}) cpu(number, number, 0);
  cpus.folder("cpufreq");
  cpus.folder("cpuidle");
  EXPECT_EQ(topology().processors, (Processors{{0, 0, 0, 0}, {1, 1, 0, 0}, {10, 10, 0, 0}}));
}

TEST_F(TopologyTest, ErrorNamesUnreadableFile) {
  EXPECT_EQ(read().error().kind, ErrorKind::kUnsupported);
  cpus.write("online", "x\n");
  EXPECT_NE(read().error().message.find("/online: "), std::string::npos);
  cpus.write("online", "0\n");
  cpu(0, 0, 0);
  cpus.write("cpu0/topology/core_id", "first\n");
  EXPECT_NE(read().error().message.find("cpu0/topology/core_id: "), std::string::npos) << read().error().message;
  cpus.write("cpu0/topology/core_id", "0\n");
  nodes.write("node0/cpulist", "x\n");
  EXPECT_NE(read().error().message.find("node0/cpulist: "), std::string::npos);
}

TEST(TopologyId, IsANumberOrNone) {
  EXPECT_EQ(parse_topology_id("0\n").value(), 0);
  EXPECT_EQ(parse_topology_id("2147483647").value(), 2'147'483'647);
  EXPECT_EQ(parse_topology_id("-1\n").value(), std::nullopt);
  for (const std::string_view text : {"", "\n", "-2\n", "2147483648\n", "0 1\n", "0x1\n", "+1\n"}) {
    EXPECT_FALSE(parse_topology_id(text)) << text;
  }
}

}  // namespace
}  // namespace tidemark::linux
