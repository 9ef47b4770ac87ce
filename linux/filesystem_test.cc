#include "linux/filesystem.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Filesystem, MatchesStatfs) {
  const testing::Tree tree;
  const auto space = filesystem_space(tree.root());
  ASSERT_TRUE(space && *space);
  const auto told = std::filesystem::space(tree.root());
  EXPECT_EQ(static_cast<std::uintmax_t>((*space)->bytes), told.capacity);
  EXPECT_GE((*space)->bytes_free, 0);
  EXPECT_LE((*space)->bytes_free, (*space)->bytes);
  EXPECT_LE((*space)->inodes_free, (*space)->inodes);
  struct stat found{};
  ASSERT_EQ(::stat(tree.root().c_str(), &found), 0);
  EXPECT_EQ((*space)->device, found.st_dev);
}

TEST(Filesystem, MissingPathIsUnset) {
  testing::Tree tree;
  tree.write("file", "");
  EXPECT_EQ(filesystem_space(tree.path("no/such")).value(), std::nullopt);
  EXPECT_EQ(filesystem_space(tree.path("file/beneath")).value(), std::nullopt);
  EXPECT_TRUE(filesystem_space(tree.path("file")).value()) << "a file lies on one as a folder does";
}

class FolderSpaces : public ::testing::Test {
 protected:
  FolderSpace space(const std::string& name = "a", const FolderLimits& limits = {20'000, std::chrono::hours(1)}) {
    const Fd fd(::open(tree.path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(fd);
    return folder_space(fd.get(), device(), limits);
  }
  std::uint64_t device() const { return filesystem_space(tree.root()).value()->device; }
  std::int64_t bytes_of(const std::string& name) const {
    struct stat found{};
    EXPECT_EQ(::lstat(tree.path(name).c_str(), &found), 0);
    return found.st_blocks * 512;
  }
  testing::Tree tree;
};

TEST_F(FolderSpaces, CountsEverythingBelow) {
  tree.write("a/one", std::string(100'000, 'x'));
  tree.write("a/b/c/two", std::string(50'000, 'x'));
  tree.write("beside", std::string(1'000'000, 'x'));
  std::int64_t bytes = 0;
  for (const char* each : {"a", "a/one", "a/b", "a/b/c", "a/b/c/two"}) bytes += bytes_of(each);
  EXPECT_GE(bytes, 150'000);
  EXPECT_EQ(space(), (FolderSpace{bytes, 5, true}));
}

TEST_F(FolderSpaces, NoLinkIsFollowedAndNoOtherDeviceEntered) {
  tree.write("beside/large", std::string(1'000'000, 'x'));
  tree.folder("a");
  std::filesystem::create_directory_symlink(tree.path("beside"), tree.path("a/link"));
  EXPECT_EQ(space().inodes, 2) << "the folder and the link";
  EXPECT_LT(space().bytes, 1'000'000);
  const Fd fd(::open(tree.path("a").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(folder_space(fd.get(), device() + 1, {}), FolderSpace()) << "it lies elsewhere";
  const Fd proc(::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(folder_space(proc.get(), device(), {}), FolderSpace());
}

// What is allocated counts, not how long a file says it is; and of what has a name elsewhere too, half.
TEST_F(FolderSpaces, BlocksCountEachOnce) {
  tree.write("a/sparse", "");
  ASSERT_EQ(::truncate(tree.path("a/sparse").c_str(), 1 << 30), 0);
  EXPECT_LT(space().bytes, 1 << 20);
  tree.write("a/two", std::string(400'000, 'x'));
  const std::int64_t alone = space().bytes;
  std::filesystem::create_hard_link(tree.path("a/two"), tree.path("elsewhere"));
  EXPECT_EQ(space().bytes, alone - bytes_of("a/two") / 2);
}

TEST_F(FolderSpaces, StopsAtLimitsAndReports) {
  for (int i = 0; i < 300; ++i) tree.write(base::cat("a/", i), "");
  EXPECT_EQ(space().inodes, 301);
  const FolderSpace few = space("a", {10, std::chrono::hours(1)});
  EXPECT_FALSE(few.whole);
  EXPECT_EQ(few.inodes, 11);
  const FolderSpace late = space("a", {20'000, base::Duration(0)});
  EXPECT_FALSE(late.whole);
  EXPECT_LT(late.inodes, 301);
  std::string deep = "deep";
  for (int i = 0; i < 100; ++i) deep += "/d";
  tree.folder(deep);
  EXPECT_FALSE(space("deep").whole);
}

}  // namespace
}  // namespace tidemark::linux
