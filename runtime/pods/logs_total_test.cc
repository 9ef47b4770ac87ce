#include "runtime/pods/logs_total.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "linux/testing/tree.h"

namespace tidemark::runtime {
namespace {

using Paths = std::vector<std::string>;

LogOnDisk file(std::string path, std::int64_t bytes, int age, bool ended) {
  return {std::move(path), bytes, -age, ended};
}

TEST(LogsTotalTest, RemovesOldestEndedFirst) {
  const std::vector<LogOnDisk> files{file("a/main/0.log", 10, 5, true), file("b/main/0.log", 10, 9, true),
                                     file("c/main/0.log.1", 10, 20, false), file("c/main/0.log", 10, 30, false)};
  EXPECT_EQ(logs_beyond(files, 40), Paths());
  EXPECT_EQ(logs_beyond(files, 39), Paths{"b/main/0.log"});
  EXPECT_EQ(logs_beyond(files, 20), (Paths{"b/main/0.log", "a/main/0.log"}));
  EXPECT_EQ(logs_beyond(files, 0), (Paths{"b/main/0.log", "a/main/0.log", "c/main/0.log.1"}))
      << "what is written to stays";
}

TEST(LogsTotalTest, ExtremeAmountsAreLimitedToAll) {
  EXPECT_EQ(logs_beyond({file("a/main/0.log", INT64_MAX, 1, true), file("b/main/0.log", INT64_MAX, 2, true)}, 1),
            (Paths{"b/main/0.log", "a/main/0.log"}));
  EXPECT_EQ(logs_beyond({}, 0), Paths());
}

TEST(LogsTotalTest, SumsFilesOfMachine) {
  linux::testing::Tree tree;
  tree.write("logs/default_ended_u1/.job", "j1\n");
  tree.write("logs/default_ended_u1/main/0.log", std::string(100, 'x'));
  tree.write("logs/default_runs_u2/main/0.log", std::string(100, 'x'));
  tree.write("logs/default_runs_u2/main/0.log.1", std::string(100, 'x'));
  const std::string dir = tree.root() + "/logs";
  const auto has_ended = [](const std::string& uid) { return uid == "u1"; };
  EXPECT_EQ(keep_logs_within(dir, 300, has_ended), 0U);
  EXPECT_EQ(keep_logs_within(dir, 299, has_ended), 1U);
  EXPECT_FALSE(std::filesystem::exists(dir + "/default_ended_u1/main/0.log"));
  EXPECT_TRUE(std::filesystem::exists(dir + "/default_ended_u1/.job"));
  EXPECT_EQ(keep_logs_within(dir, 0, has_ended), 1U);
  EXPECT_TRUE(std::filesystem::exists(dir + "/default_runs_u2/main/0.log"));
  EXPECT_EQ(keep_logs_within(tree.root() + "/none", 0, has_ended), 0U);
}

}  // namespace
}  // namespace tidemark::runtime
