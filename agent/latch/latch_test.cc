#include "agent/latch/latch.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "linux/testing/descriptor_limit.h"
#include "linux/testing/tree.h"
#include "linux/testing/without_root.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

class LatchTest : public ::testing::Test {
 protected:
  std::string path() const { return tree.root() + "/lib/tidemark/latch"; }
  linux::testing::Tree tree;
};

TEST_F(LatchTest, StaysUntilRemoved) {
  EXPECT_EQ(read_latch(path()), std::nullopt);
  const Latch latch{"root@web-1", "disk is \"full\"\nagain", base::WallTime{1'795'000'000s}, ""};
  ASSERT_TRUE(set_latch(path(), latch));
  EXPECT_EQ(read_latch(path()), latch);
  EXPECT_EQ(clear_latch(path()), true);
  EXPECT_EQ(read_latch(path()), std::nullopt);
  EXPECT_EQ(clear_latch(path()), false);
}

TEST_F(LatchTest, FullDiskTakesEmptyLatch) {
  std::filesystem::create_directories(tree.root() + "/lib/tidemark/.latch.new");  // where a new one is written first
  EXPECT_FALSE(set_latch(path(), {"root@web-1", "disk is full", {}, ""}));
  EXPECT_EQ(read_latch(path()), std::nullopt);
  ASSERT_TRUE(set_empty_latch(path()));
  ASSERT_TRUE(read_latch(path()));
  EXPECT_EQ(clear_latch(path()), true);
  EXPECT_FALSE(set_empty_latch(tree.root() + "/no/such/folder/latch"));
}

// A latch file that was made by `touch`, or by a newer version, means off.
TEST_F(LatchTest, UnreadableLatchCountsAsOff) {
  for (const char* text : {"", "off", R"({"schema":2,"by":"ann"})", R"([])", R"({"by":7})"}) {
    tree.write("lib/tidemark/latch", text);
    const auto latch = read_latch(path());
    ASSERT_TRUE(latch) << text;
    EXPECT_FALSE(latch->trouble.empty()) << text;
  }
  std::filesystem::remove(path());
  std::filesystem::create_directories(path());
  ASSERT_TRUE(read_latch(path()));
  EXPECT_FALSE(read_latch(path())->trouble.empty()) << "a folder";
}

// Without root, in a directory that only root may read: that user could not remove the latch there.
TEST_F(LatchTest, UnsearchableFolderIsAnError) {
  for (const bool drawn : {false, true}) {
    if (drawn) ASSERT_TRUE(set_latch(path(), {"root@web-1", "disk", {}, ""}));
    std::filesystem::create_directories(tree.root() + "/lib/tidemark");
    std::filesystem::permissions(tree.root() + "/lib", std::filesystem::perms::none);
    Result<std::optional<Latch>> seen;
    {
      const linux::testing::WithoutRoot nobody;
      seen = see_latch(path(), false);
      EXPECT_TRUE(see_latch(path(), true).value()) << "root is kept from looking by something else";
      EXPECT_TRUE(read_latch(path()));
    }
    std::filesystem::permissions(tree.root() + "/lib", std::filesystem::perms::owner_all);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, EACCES);
    EXPECT_EQ(see_latch(path(), false).value().has_value(), drawn);
  }
}

TEST_F(LatchTest, UnreadableLatchCountsOnlyIfPresent) {
  const auto seen_without_descriptor = [&] {
    const linux::testing::DescriptorLimit none(0);
    return see_latch(path(), false);
  };
  EXPECT_EQ(seen_without_descriptor().value(), std::nullopt);
  tree.write("lib/tidemark/latch", R"({"schema":1,"by":"ann"})");
  ASSERT_TRUE(seen_without_descriptor().value());
  EXPECT_FALSE(seen_without_descriptor().value()->trouble.empty());
  EXPECT_EQ(see_latch(path(), false).value()->by, "ann");
  std::filesystem::remove(path());
  std::filesystem::create_directories(path());
  EXPECT_TRUE(see_latch(path(), false).value()) << "a folder";
}

}  // namespace
}  // namespace tidemark::agent
