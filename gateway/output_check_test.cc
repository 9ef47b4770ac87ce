#include "gateway/output_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class OutputCheckTest : public ::testing::Test, public testing::World {
 protected:
  fs::path output = fs::path(folder) / "out";

  void write(const fs::path& file, base::Duration ago = 0s) {
    fs::create_directories((output / file).parent_path());
    std::ofstream(output / file) << "row";
    fs::last_write_time(output / file, fs::file_time_type::clock::now() - ago);
  }
  bool begun() {
    SparkJob job;
    job.conf[std::string(kOutputsConf)] = base::cat("file://", output.string());
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return !run(OutputCheck(loop, {}).begun(job, base::WallTime{std::chrono::duration_cast<base::Duration>(now)}))
                ->empty();
  }
};

TEST_F(OutputCheckTest, FilesThatSparkHidesUntilItsCommitDoNotCount) {
  for (const char* file : {"_temporary/0/task_1/part-0", ".spark-staging-1/p=1/part-0", "_SUCCESS"}) write(file);
  EXPECT_FALSE(begun());
}

TEST_F(OutputCheckTest, OldFilesDoNotCount) {
  write("part-0", 1h);
  EXPECT_FALSE(begun());
  write("part-1", kClockMargin - 1min);
  EXPECT_TRUE(begun()) << "the clock of the file system may be behind";
}

TEST_F(OutputCheckTest, FilesOfPartitionsCount) {
  write("_day=1/hour=2/part-0", 1h);
  EXPECT_FALSE(begun());
  write("_day=1/hour=3/part-0");
  EXPECT_TRUE(begun());
}

TEST_F(OutputCheckTest, FolderThatTheGatewayDoesNotSeeCounts) {
  EXPECT_TRUE(begun());
}

}  // namespace
}  // namespace tidemark::gateway
