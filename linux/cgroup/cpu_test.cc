#include "linux/cgroup/cpu.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kV2Stat =
    "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 10\nnr_throttled 3\nthrottled_usec 700\nnr_bursts "
    "0\nburst_usec 0\n";
constexpr std::string_view kV1Stat =
    "nr_periods 10\nnr_throttled 3\nthrottled_time 700000\nnr_bursts 0\nburst_time 0\n";

TEST(Cpu, UsageOfBothVersionsIsNanoseconds) {
  EXPECT_EQ(parse_cpu_usage_ns("1500000\n", Version::kV1).value(), 1'500'000);
  EXPECT_EQ(parse_cpu_usage_ns(kV2Stat, Version::kV2).value(), 1'500'000);
}

TEST(Cpu, ThrottlingOfBothVersions) {
  for (const auto& read : {parse_cpu_throttling(kV1Stat, Version::kV1), parse_cpu_throttling(kV2Stat, Version::kV2)}) {
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->periods, 10);
    EXPECT_EQ(read->throttled_periods, 3);
    EXPECT_EQ(read->throttled_ns, 700'000);
  }
}

TEST(Cpu, WithoutTheControllerThrottlingIsMissingAndUseIsNot) {
  constexpr std::string_view kCoreOnly = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n";
  EXPECT_EQ(parse_cpu_usage_ns(kCoreOnly, Version::kV2).value(), 1'500'000);
  const auto throttling = parse_cpu_throttling(kCoreOnly, Version::kV2);
  ASSERT_FALSE(throttling);
  EXPECT_EQ(throttling.error().kind, ErrorKind::kUnsupported);
}

TEST(Cpu, GarbageIsNotZero) {
  for (const std::string_view text :
       {"", "\n", "x", "usage_usec\n", "usage_usec x\n", "user_usec 1\n", "usage_usec 9223372036854775807\n"}) {
    EXPECT_FALSE(parse_cpu_usage_ns(text, Version::kV2)) << text;
    EXPECT_FALSE(parse_cpu_usage_ns(text, Version::kV1)) << text;
    EXPECT_FALSE(parse_cpu_throttling(text, Version::kV1)) << text;
    EXPECT_FALSE(parse_cpu_throttling(text, Version::kV2)) << text;
  }
  EXPECT_FALSE(parse_cpu_throttling("nr_periods 1\nnr_throttled 1\n", Version::kV1)) << "cut off";
}

TEST(Cpu, OfAGroup) {
  testing::Tree tree;
  testing::make_v1(tree);
  testing::make_v1_group(tree, "a");
  tree.write("cpuacct/a/cpuacct.usage", "42\n");
  tree.write("cpu/a/cpu.stat", kV1Stat);
  tree.write("cpuset/a/cpuset.cpus", "\n");
  tree.write("cpuset/a/cpuset.effective_cpus", "0-3\n");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  Buffer buffer;
  EXPECT_EQ(read_cpu_usage_ns(group, buffer).value(), 42);
  EXPECT_EQ(read_cpu_throttling(group, buffer).value()->throttled_periods, 3);
  EXPECT_TRUE(read_cpuset(group, File::kCpusetCpus, buffer).value()->empty());
  EXPECT_EQ(read_cpuset(group, File::kCpusetCpusEffective, buffer).value()->text(), "0-3");
  tree.write("cpuacct/a/cpuacct.usage", "");
  const auto empty = read_cpu_usage_ns(group, buffer);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("cpuacct/a/cpuacct.usage"), std::string::npos) << empty.error().message;
}

}  // namespace
}  // namespace tidemark::linux
