// Which logs go, and which stay.
#include "runtime/pods/kept_logs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace tidemark::runtime {
namespace {

struct KeptLogsTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kept-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  void logs(const std::string& uid, const std::string& job = "") const {
    const std::string folder = base::cat(dir, "/default_name_", uid);
    std::filesystem::create_directories(folder + "/main");
    std::ofstream(folder + "/main/0.log") << "words\n";
    if (!job.empty()) ASSERT_TRUE(mark_logs_of_job(folder, job));
  }
  std::vector<std::string> sweep() const {
    const auto done = sweep_logs(dir, {[this](const std::string& uid) { return pods.contains(uid); },
                                       [this](const std::string& uid) { return jobs.contains(uid); }});
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::string> left;
    for (const auto& each : std::filesystem::directory_iterator(dir)) {
      const std::string name = each.path().filename();
      left.push_back(name.substr(name.rfind('_') + 1));
    }
    std::ranges::sort(left);
    return left;
  }

  std::string dir;
  std::set<std::string> pods, jobs;
};

using Uids = std::vector<std::string>;

TEST_F(KeptLogsTest, LogsAreRemovedWithPodOrJob) {
  logs("runs");
  logs("gone");
  logs("of-job", "job-1");
  logs("of-gone-job", "job-2");
  logs("runs-of-gone-job", "job-2");
  pods = {"runs", "runs-of-gone-job"};
  jobs = {"job-1"};
  EXPECT_EQ(sweep(), (Uids{"of-job", "runs", "runs-of-gone-job"}));
  jobs.clear();
  pods.clear();
  EXPECT_EQ(sweep(), Uids{});
}

TEST_F(KeptLogsTest, KeepsLogsOfLastPodsOfJob) {
  jobs = {"job"};
  for (std::size_t i = 0; i < kGonePodsKept + 2; ++i) {
    const std::string uid = base::cat("pod-", static_cast<char>('a' + i));
    logs(uid, "job");
    const auto marker = base::cat(dir, "/default_name_", uid, "/.job");
    std::filesystem::last_write_time(marker, std::filesystem::last_write_time(marker) + std::chrono::seconds(i));
  }
  const Uids left = sweep();
  ASSERT_EQ(left.size(), kGonePodsKept);
  EXPECT_EQ(left.front(), "pod-c") << "the two that began first went";
}

TEST_F(KeptLogsTest, LeavesForeignFilesAlone) {
  std::filesystem::create_directory(dir + "/lost+found");
  std::ofstream(dir + "/file_of_mine_or-so").close();
  EXPECT_EQ(sweep().size(), 2U);
  std::filesystem::remove_all(dir);
  EXPECT_TRUE(sweep_logs(dir, {})) << "no log exists yet";
  std::filesystem::create_directory(dir);
}

}  // namespace
}  // namespace tidemark::runtime
