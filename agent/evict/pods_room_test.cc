#include "agent/evict/pods_room.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "agent/testing/kernel_node.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using linux::Layout;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class PodsRooms : public ::testing::TestWithParam<Layout> {
 protected:
  PodsRooms() { make(); }

  void make() {
    node.group("kubepods");
    limit(GetParam() == Layout::kV2 ? "max" : "9223372036854771712");
    node.usage("kubepods", 700 * kMiB);
    node.group_memory("kubepods", {0, 500 * kMiB, 200 * kMiB, 0});
  }
  void limit(std::string_view text) {
    const char* name = GetParam() == Layout::kV2 ? "memory.max" : "memory.limit_in_bytes";
    node.cgroups.write(node.file("memory", "kubepods", name), base::cat(text, "\n"));
  }
  std::optional<std::int64_t> left_mib() {
    const auto left = room.look("kubepods");
    EXPECT_TRUE(left) << left.error().message;
    return left && *left ? std::optional((*left)->value / kMiB) : std::nullopt;
  }

  testing::KernelNode node{GetParam()};
  PodsRoom room{*node.hierarchies};
};

// 700 MiB, of which 200 were read from files and may go.
TEST_P(PodsRooms, IsLimitMinusWorkingSet) {
  limit(base::cat(1024 * kMiB));
  EXPECT_EQ(left_mib(), 524);
  node.usage("kubepods", 1024 * kMiB);
  EXPECT_EQ(left_mib(), 200);
  node.usage("kubepods", 2048 * kMiB);
  EXPECT_EQ(left_mib(), 0) << "a limit that was lowered below what is used";
}

TEST_P(PodsRooms, UnsetWithoutLimit) {
  EXPECT_EQ(left_mib(), std::nullopt);
  limit(base::cat(1024 * kMiB));
  EXPECT_EQ(left_mib(), 524) << "a kubelet that starts anew may give them one";
}

TEST_P(PodsRooms, UnsetWithoutGroup) {
  limit(base::cat(1024 * kMiB));
  EXPECT_EQ(left_mib(), 524);
  node.remove_group("kubepods");
  EXPECT_EQ(left_mib(), std::nullopt);
  make();
  limit(base::cat(1024 * kMiB));
  EXPECT_EQ(left_mib(), 524);
}

TEST_P(PodsRooms, UnsetWithoutLimitFile) {
  node.cgroups.remove(
      node.file("memory", "kubepods", GetParam() == Layout::kV2 ? "memory.max" : "memory.limit_in_bytes"));
  EXPECT_EQ(left_mib(), std::nullopt);
}

// What cannot be read is not nothing.
TEST_P(PodsRooms, ErrorNamesUnreadableFile) {
  limit("much");
  const auto left = room.look("kubepods");
  ASSERT_FALSE(left);
  EXPECT_NE(left.error().message.find("kubepods"), std::string::npos) << left.error().message;
}

INSTANTIATE_TEST_SUITE_P(OfEachVersion, PodsRooms, ::testing::Values(Layout::kV1, Layout::kHybrid, Layout::kV2),
                         [](const auto& version) { return std::string(linux::to_string(version.param)); });

}  // namespace
}  // namespace tidemark::agent
