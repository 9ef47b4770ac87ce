#include "yarn_copilot/last_words.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using testing::kOther;
using testing::kTask;
using testing::World;

constexpr std::string_view kApplication = "application_1700000000000_0001";

std::string log_of(std::string_view container) {
  return base::cat(kApplication, "/", container, "/stderr");
}

TEST(LastWords, ContainEventReasonAndCaller) {
  const base::WallTime now = *base::parse_rfc3339("2026-01-02T03:04:05Z");
  const std::string known = last_words("was killed", {std::string(kTask), "TM-YARN-017", "yarn-copilot"}, now);
  EXPECT_TRUE(known.starts_with("2026-01-02T03:04:05Z tidemark: this container was killed: TM-YARN-017, ")) << known;
  EXPECT_TRUE(known.ends_with(" (by yarn-copilot)\n")) << known;
  EXPECT_EQ(last_words("was asked to end", {std::string(kTask), "the machine is needed", "uid 0 pid 7"}, now),
            "2026-01-02T03:04:05Z tidemark: this container was asked to end: the machine is needed (by uid 0 pid 7)\n");
  EXPECT_EQ(last_words("was killed", {std::string(kTask), "", "uid 0 pid 7"}, now),
            "2026-01-02T03:04:05Z tidemark: this container was killed (by uid 0 pid 7)\n");
}

struct LastWordsTest : World {
  std::string text(std::string_view file) {
    std::ifstream in(logs.path(file));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  Result<void> leave(std::string_view container) { return write_last_words({logs.root()}, container, "words\n"); }

  linux::testing::Tree logs;
};

TEST_F(LastWordsTest, GoToTheEndOfItsOwnLogInAnyDirectory) {
  linux::testing::Tree empty;
  logs.write(log_of(kTask), "before\n");
  logs.write(log_of(kOther), "");
  EXPECT_TRUE(write_last_words({empty.root(), empty.path("none"), logs.root()}, kTask, "words\n"));
  EXPECT_EQ(text(log_of(kTask)), "before\nwords\n");
  EXPECT_EQ(text(log_of(kOther)), "");
  EXPECT_EQ(write_last_words({empty.root()}, kTask, "words\n").error().kind, ErrorKind::kNotFound);
}

// The user can put anything there.
TEST_F(LastWordsTest, WriteToNothingButTheLog) {
  linux::testing::Tree elsewhere;
  elsewhere.write("stderr", "kept");
  elsewhere.write("victim", "kept");
  logs.folder(base::cat(kApplication, "/", kTask));
  EXPECT_EQ(leave(kTask).error().kind, ErrorKind::kNotFound);
  std::filesystem::create_symlink(elsewhere.path("victim"), logs.path(log_of(kTask)));
  EXPECT_FALSE(leave(kTask));
  logs.remove(log_of(kTask));
  std::filesystem::create_hard_link(elsewhere.path("victim"), logs.path(log_of(kTask)));
  EXPECT_FALSE(leave(kTask));
  logs.remove(log_of(kTask));
  ASSERT_EQ(::mkfifo(logs.path(log_of(kTask)).c_str(), 0600), 0);
  EXPECT_FALSE(leave(kTask)) << "does not wait for a reader of the pipe";
  std::filesystem::create_directory_symlink(elsewhere.root(), logs.path(base::cat(kApplication, "/", kOther)));
  EXPECT_FALSE(leave(kOther));
  EXPECT_FALSE(leave("../../x"));
  for (const char* file : {"stderr", "victim"}) {
    std::ifstream in(elsewhere.path(file));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "kept") << file;
  }
}

TEST_F(LastWordsTest, AreWrittenForAStopToo) {
  options.log_dirs = {logs.root()};
  logs.write(log_of(kTask), "");
  add_process(10, kTask);
  start();
  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":3600,"reason":"TM-EVICT-001")")).status, 202);
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return !text(log_of(kTask)).empty(); }));
  EXPECT_TRUE(text(log_of(kTask)).contains("this container was asked to end: TM-EVICT-001, ")) << text(log_of(kTask));
}

}  // namespace
}  // namespace tidemark::yarn_copilot
