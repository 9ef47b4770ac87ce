#include "agent/sampler/facilities.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/testing/kernel_node.h"

namespace tidemark::agent {
namespace {

using testing::KernelNode;
using testing::Layout;

struct FacilitiesTest : ::testing::Test {
  static std::vector<FacilityReport> probed(const KernelNode& node) {
    return probe_facilities({*node.hierarchies, *node.proc_folder, node.numa_folder ? &*node.numa_folder : nullptr,
                             node.proc.path("kmsg")});
  }
  static std::string why(const std::vector<FacilityReport>& all, Facility facility) {
    EXPECT_EQ(all[static_cast<std::size_t>(facility)].facility, facility);
    return all[static_cast<std::size_t>(facility)].why;
  }
};

TEST_F(FacilitiesTest, EachIsPresentOrMissingWithReason) {
  for (const Layout layout : {Layout::kV1, Layout::kHybrid, Layout::kV2}) {
    KernelNode node(layout);
    for (const FacilityReport& one : probed(node)) {
      EXPECT_FALSE(one.why.empty()) << to_string(one.facility) << " of " << linux::to_string(layout);
      EXPECT_NE(to_string(one.facility), "unknown");
    }
  }
}

TEST_F(FacilitiesTest, GroupPressureNeedsV2AndKernelSupport) {
  KernelNode v1(Layout::kV1);
  v1.proc.write("pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
  EXPECT_TRUE(is_there(probed(v1), Facility::kNodePressure));
  EXPECT_FALSE(is_there(probed(v1), Facility::kGroupPressure));
  KernelNode hybrid(Layout::kHybrid);
  EXPECT_FALSE(is_there(probed(hybrid), Facility::kGroupPressure)) << why(probed(hybrid), Facility::kGroupPressure);
  hybrid.proc.write("pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
  EXPECT_TRUE(is_there(probed(hybrid), Facility::kGroupPressure));
  EXPECT_NE(why(probed(hybrid), Facility::kGroupPressure).find("unified"), std::string::npos);
}

TEST_F(FacilitiesTest, FindsV1FilesInRootGroup) {
  KernelNode node(Layout::kV1);
  EXPECT_FALSE(is_there(probed(node), Facility::kMemory));
  node.cgroups.write("memory/memory.stat", "total_rss 0\n");
  EXPECT_TRUE(is_there(probed(node), Facility::kMemory));
  EXPECT_FALSE(is_there(probed(node), Facility::kCpuUse));
}

TEST_F(FacilitiesTest, FindsV2FilesByController) {
  KernelNode node(Layout::kV2);
  EXPECT_TRUE(is_there(probed(node), Facility::kMemory));
  linux::testing::Tree poor;
  linux::testing::make_v2(poor, "cpu\n");
  const auto hierarchies = linux::Hierarchies::discover(poor.root(), "").value();
  const auto all = probe_facilities({hierarchies, *node.proc_folder, nullptr, "/nowhere/kmsg"});
  EXPECT_FALSE(is_there(all, Facility::kMemory));
  EXPECT_NE(why(all, Facility::kMemory).find("memory.stat"), std::string::npos);
  EXPECT_TRUE(is_there(all, Facility::kCpuUse)) << "part of the core";
  EXPECT_FALSE(is_there(all, Facility::kKernelLog));
}

TEST_F(FacilitiesTest, FilesOfProcesses) {
  KernelNode node(Layout::kV2);
  EXPECT_FALSE(is_there(probed(node), Facility::kRunQueue));
  node.proc.write("self/schedstat", "1 2 3\n");
  node.proc.write("kmsg", "");
  node.numa({{"0-1", 0}});
  EXPECT_TRUE(is_there(probed(node), Facility::kRunQueue));
  EXPECT_TRUE(is_there(probed(node), Facility::kKernelLog));
  EXPECT_TRUE(is_there(probed(node), Facility::kNuma));
  EXPECT_FALSE(is_there(probed(node), Facility::kCpi)) << "a folder is no group of perf's";
}

}  // namespace
}  // namespace tidemark::agent
