#include "runtime/pods/pod_logs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::runtime {
namespace {

using Names = std::vector<std::string>;

TEST(PodLogsKept, KeepsNewestUpToByteLimit) {
  const std::vector<LogSeen> files = {{"9.log", 10}, {"10.log.2", 10}, {"10.log", 4}, {"10.log.10", 10}, {"2.log", 1}};
  EXPECT_EQ(logs_to_drop(files, 100), Names());
  EXPECT_EQ(logs_to_drop(files, 24), (Names{"9.log", "2.log"})) << "numbers, not words";
  EXPECT_EQ(logs_to_drop(files, 23), (Names{"10.log.10", "9.log", "2.log"})) << "nothing that is older than what goes";
  EXPECT_EQ(logs_to_drop(files, 0), (Names{"10.log.2", "10.log.10", "9.log", "2.log"})) << "the newest stays";
  EXPECT_EQ(logs_to_drop({{"1.log", std::numeric_limits<std::int64_t>::max()}, {"0.log", 1}}, 5), Names{"0.log"});
}

TEST(PodLogsKept, KeepsForeignFiles) {
  EXPECT_EQ(logs_to_drop({{"1.log", 1}, {"notes", 9}, {"x.log", 9}, {"0.logs", 9}, {"0.log.x", 9}, {"0.log", 9}}, 1),
            Names{"0.log"});
}

TEST(PodLogsKept, SumsDirectory) {
  linux::testing::Tree tree;
  keep_last_logs(tree.path("not-there"), 0);
  for (const char* name : {"0.log", "0.log.1", "1.log"}) tree.write(base::cat("c/", name), "12345");
  keep_last_logs(tree.path("c"), 10);
  EXPECT_TRUE(std::filesystem::exists(tree.path("c/1.log")));
  EXPECT_TRUE(std::filesystem::exists(tree.path("c/0.log")));
  EXPECT_FALSE(std::filesystem::exists(tree.path("c/0.log.1")));
}

}  // namespace
}  // namespace tidemark::runtime
