#include "linux/numa.h"

#include <gtest/gtest.h>

#include <limits>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kMemory =
    "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:        100 kB\nNode 1 Active(file):    50 kB\nNode 1 "
    "Inactive(file):  40 kB\n"
    "Node 1 SReclaimable:    10 kB\nNode 1 HugePages_Total:     0\n";

TEST(Numa, NodesAndTheirProcessors) {
  testing::Tree tree;
  tree.write("node10/cpulist", "\n");  // a node of memory only
  tree.write("node1/cpulist", "2-3\n");
  tree.write("node0/cpulist", "0-1\n");
  tree.write("power/x", "");
  tree.write("nodes/cpulist", "9\n");
  Buffer buffer;
  const auto nodes = Folder::open(tree.root()).value();
  const auto found = read_numa_nodes(nodes, buffer);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[1].id, 1);
  EXPECT_EQ((*found)[1].cpus.text(), "2-3");
  EXPECT_EQ((*found)[2].id, 10);
  EXPECT_TRUE((*found)[2].cpus.empty());
  tree.write("node0/cpulist", "x\n");
  EXPECT_NE(read_numa_nodes(nodes, buffer).error().message.find("node0/cpulist"), std::string::npos);
}

TEST(Numa, KernelWithoutItIsUnsupported) {
  testing::Tree tree;
  Buffer buffer;
  EXPECT_EQ(read_numa_nodes(Folder::open(tree.root()).value(), buffer).error().kind, ErrorKind::kUnsupported);
}

// Contract 7.12: per NUMA memory = total − free − active/inactive file − SReclaimable.
TEST(Numa, MemoryOfANode) {
  testing::Tree tree;
  tree.write("node1/meminfo", kMemory);
  Buffer buffer;
  const auto nodes = Folder::open(tree.root()).value();
  const auto memory = read_numa_memory(nodes, 1, buffer);
  ASSERT_TRUE(memory && *memory);
  EXPECT_EQ((*memory)->total, 1000 * 1024);
  EXPECT_EQ((*memory)->used(), 800 * 1024);
  EXPECT_FALSE(read_numa_memory(nodes, 2, buffer).value());
}

TEST(Numa, UseOfNodeIsNeverNegative) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((NumaMemory{kMost, 0, kMost, kMost, kMost}).used(), 0);
  EXPECT_EQ((NumaMemory{kMost, kMost, kMost, kMost, kMost}).used(), 0);
  EXPECT_EQ((NumaMemory{kMost, 0, 0, 0, 0}).used(), kMost);
  EXPECT_EQ((NumaMemory{100, 50, 40, 9, 0}).used(), 1);
  EXPECT_EQ((NumaMemory{100, 50, 40, 20, 0}).used(), 0) << "counted one after the other, and moved meanwhile";
}

TEST(Numa, MissingMemoryIsNotZero) {
  for (const std::string_view text :
       {"", "x\n", "Node 0 MemTotal: 1 kB\n", "Node 0 MemTotal: 1 kB\nNode 0 MemFree: x kB\n", "MemTotal: 1 kB\n"}) {
    EXPECT_FALSE(parse_numa_memory(text)) << text;
  }
  EXPECT_TRUE(parse_numa_memory(kMemory));
  EXPECT_FALSE(parse_numa_memory(std::string(kMemory) + "Node 1 MemFree: 1001 kB\n"));
}

}  // namespace
}  // namespace tidemark::linux
