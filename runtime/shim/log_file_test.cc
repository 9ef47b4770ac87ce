#include "runtime/shim/log_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "base/text.h"

namespace tidemark::runtime {
namespace {

const base::WallTime kNow = *base::parse_rfc3339("2026-11-23T20:15:30Z");

struct LogFileTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "log-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path() const { return folder + "/0.log"; }
  std::string text(int number) const {
    std::ifstream file(number == 0 ? path() : base::cat(path(), ".", number));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string folder;
};

TEST_F(LogFileTest, ContinuesExistingLog) {
  LogFile({path()}).write("one\n", kNow);
  LogFile({path()}).write("two\n", kNow);
  EXPECT_EQ(text(0), "one\ntwo\n");
}

TEST_F(LogFileTest, RotatesFullLog) {
  LogFile log({path(), 10, 3});
  for (int i = 0; i < 9; ++i) log.write(base::cat("line", i, "\n"), kNow);
  EXPECT_EQ(text(0), "line8\n");
  EXPECT_EQ(text(1), "line7\n");
  EXPECT_EQ(text(2), "line6\n");
  EXPECT_FALSE(std::filesystem::exists(path() + ".3"));
  log.write("a line that is longer than a file may be\n", kNow);
  EXPECT_EQ(text(0), "a line that is longer than a file may be\n");
  LogFile alone({path(), 10, 1});
  alone.write("12345\n", kNow);
  alone.write("67890\n", kNow);
  EXPECT_EQ(text(0), "67890\n");
}

TEST_F(LogFileTest, ReportsFullDiskLater) {
  LogFile log({folder + "/not-there/0.log"});
  log.write("one\ntwo\n", kNow);
  EXPECT_EQ(log.lost(), 2);
  std::filesystem::create_directory(folder + "/not-there");
  log.write("three\n", kNow);
  EXPECT_EQ(log.lost(), 0);
  std::ifstream file(folder + "/not-there/0.log");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "2026-11-23T20:15:30.000000000Z stderr F [tidemark: 2 lines of this log are missing here]\nthree\n");
}

TEST_F(LogFileTest, DoesNotGrowIfRotationFails) {
  std::filesystem::create_directories(path() + ".1/somebodys");
  LogFile log({path(), 10, 2});
  for (int i = 0; i < 9; ++i) log.write(base::cat("line", i, "\n"), kNow);
  EXPECT_EQ(text(0), "line8\n");
}

// Whatever is written, and however fast: `tidemark local stop` is written down on the same disk.
TEST_F(LogFileTest, LeavesLastDiskSpaceToOthers) {
  LogFileOptions options{path()};
  options.left_percent = 100;
  options.left_bytes_max = std::numeric_limits<std::int64_t>::max();
  LogFile log(options);
  log.write("one\ntwo\n", kNow);
  EXPECT_EQ(text(0), "");
  EXPECT_EQ(log.lost(), 2);
  LogFile({path()}).write("three\n", kNow);
  EXPECT_EQ(text(0), "three\n") << "there is more than that";
}

TEST_F(LogFileTest, DropsHalfLine) {
  LogFile log({path()});
  log.write("whole\n", kNow);
  ASSERT_NE(std::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  log.write("a line that does not fit\n", kNow);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(text(0), "whole\n");
  EXPECT_EQ(log.lost(), 1);
}

}  // namespace
}  // namespace tidemark::runtime
