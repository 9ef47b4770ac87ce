#include "journal/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "journal/append.h"

namespace tidemark::journal {
namespace {

constexpr std::size_t kBytesMax = 100;

class WholeFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "whole-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/here";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::optional<std::string> text(std::size_t bytes_max = kBytesMax) const {
    const auto read = read_whole(path, bytes_max);
    EXPECT_TRUE(read) << read.error().message;
    return read.value_or(std::nullopt);
  }
  mode_t mode() const {
    struct stat found{};
    EXPECT_EQ(::stat(path.c_str(), &found), 0);
    return found.st_mode & 07777;
  }
  auto entries() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }

  std::string folder, path;
};

TEST_F(WholeFileTest, OnlyNewestContentRemains) {
  EXPECT_EQ(text(), std::nullopt);
  ASSERT_TRUE(write_whole(path, "a longer text"));
  ASSERT_TRUE(write_whole(path, "short", {.sync = true}));
  EXPECT_EQ(text(), "short");
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(remove_whole(path).value(), true);
  EXPECT_EQ(remove_whole(path, true).value(), false);
  EXPECT_EQ(entries(), 0);
}

TEST_F(WholeFileTest, ModeIgnoresOldFileAndUmask) {
  const mode_t before = ::umask(0077);
  std::ofstream(folder + "/.here.new") << "of one that died";
  ASSERT_TRUE(write_whole(path, "x", {.mode = 0644}));
  ::umask(before);
  EXPECT_EQ(mode(), 0644U);
  ASSERT_TRUE(write_whole(path, "y"));
  EXPECT_EQ(mode(), 0600U);
  EXPECT_EQ(text(), "y");
}

TEST_F(WholeFileTest, ReturnedFileIsAppendable) {
  const auto file = write_whole(path, "one\n");
  ASSERT_TRUE(file);
  ASSERT_TRUE(append_whole(file->get(), "two\n", 4, path));
  EXPECT_EQ(text(), "one\ntwo\n");
}

TEST_F(WholeFileTest, ReservesAndFreesSpace) {
  const auto blocks = [](const std::string& file) {
    struct stat found{};
    EXPECT_EQ(::stat(file.c_str(), &found), 0);
    return found.st_blocks;
  };
  constexpr std::size_t kRoom = 64 * 1024;
  ASSERT_TRUE(reserve_whole(path, kRoom));
  EXPECT_EQ(text(), std::nullopt) << "it is not there yet";
  const auto kept = blocks(folder + "/.here.new");
  if (kept == 0) GTEST_SKIP() << "this filesystem keeps no room";
  struct stat before{}, after{};
  ASSERT_EQ(::stat((folder + "/.here.new").c_str(), &before), 0);
  ASSERT_TRUE(write_whole(path, "x"));
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "it is written into the room, not beside it";
  EXPECT_EQ(text(), "x");
  EXPECT_LT(blocks(path), kept);
  EXPECT_EQ(entries(), 1);
}

TEST_F(WholeFileTest, TruncatesLeftoverOfDeadWriter) {
  std::ofstream(folder + "/.here.new") << "the longer text of one that died";
  ASSERT_TRUE(write_whole(path, "short"));
  EXPECT_EQ(text(), "short");
  EXPECT_EQ(entries(), 1);
}

// A folder has the name: the file is whole, and cannot be put there.
TEST_F(WholeFileTest, FailedWriteLeavesNothing) {
  std::filesystem::create_directories(path + "/not-empty");
  const auto written = write_whole(path, "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find(path), std::string::npos) << written.error().message;
  EXPECT_EQ(entries(), 1);
}

TEST_F(WholeFileTest, ErrorNamesMissingFolder) {
  path = folder + "/none/here";
  const auto written = write_whole(path, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ENOENT);
  EXPECT_NE(written.error().message.find(folder + "/none/"), std::string::npos) << written.error().message;
  EXPECT_EQ(text(), std::nullopt);
  ASSERT_TRUE(make_folder(folder + "/none"));
  ASSERT_TRUE(make_folder(folder + "/none"));
  ASSERT_TRUE(write_whole(path, "x"));
  EXPECT_EQ(text(), "x");
  EXPECT_FALSE(make_folder(path)) << "a file";
}

TEST_F(WholeFileTest, ReadIsBounded) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kBytesMax, kBytesMax + 1, 1000 * kBytesMax}) {
    ASSERT_TRUE(write_whole(path, std::string(size, 'x')));
    EXPECT_EQ(text(size).value().size(), size);
    const auto read = read_whole(path, kBytesMax);
    EXPECT_EQ(read.has_value(), size <= kBytesMax) << size;
    if (!read) EXPECT_NE(read.error().message.find(path), std::string::npos) << read.error().message;
  }
}

TEST_F(WholeFileTest, NonFileIsAnErrorWithoutBlocking) {
  ASSERT_EQ(::symlink("elsewhere", path.c_str()), 0);
  EXPECT_FALSE(read_whole(path, kBytesMax)) << "a link";
  ASSERT_TRUE(write_whole(path, "x"));
  EXPECT_EQ(text(), "x") << "the link is replaced, not followed";
  EXPECT_FALSE(read_whole(folder, kBytesMax)) << "a folder";
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_whole(folder + "/pipe", kBytesMax).value(), "") << "nothing writes to it";
}

}  // namespace
}  // namespace tidemark::journal
