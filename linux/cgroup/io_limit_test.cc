#include "linux/cgroup/io_limit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr DiskNumber kDisk{8, 16}, kOther{8, 0};
constexpr std::int64_t kMiB = 1 << 20;

struct IoLimits : ::testing::Test {
  std::string content(std::string_view file) {
    std::ifstream in(tree.path(file));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  testing::Tree tree;
  Buffer buffer{4096};
};

TEST_F(IoLimits, LinesOfTheKernel) {
  const std::string_view v2 =
      "8:0 rbps=max wbps=1048576 riops=max wiops=120\n8:16 rbps=2097152 wbps=max riops=max wiops=max\n";
  EXPECT_EQ(parse_io_max(v2, kDisk).value(), (IoLimit{2 * kMiB, std::nullopt}));
  EXPECT_EQ(parse_io_max(v2, kOther).value(), (IoLimit{std::nullopt, kMiB}));
  EXPECT_EQ(parse_io_max(v2, DiskNumber{8, 1}).value(), IoLimit()) << "no other one's line";
  EXPECT_EQ(parse_io_max("", kDisk).value(), IoLimit());
  EXPECT_EQ(parse_throttle_v1("8:0 5\n8:16 1048576\n", kDisk).value(), kMiB);
  EXPECT_EQ(parse_throttle_v1("8:0 5\n", kDisk).value(), std::nullopt);
  for (const std::string_view wrong : {"8:16 rbps=x", "8:16 rbps=-1", "8:16 rbps"}) {
    EXPECT_FALSE(parse_io_max(wrong, kDisk)) << wrong;
  }
  for (const std::string_view wrong : {"8:16 x", "8:16 -1", "8:16 1 2"})
    EXPECT_FALSE(parse_throttle_v1(wrong, kDisk)) << wrong;
}

TEST_F(IoLimits, AreWrittenAsEachVersionTakesThem) {
  tree.write("g/io.max", "8:0 rbps=max wbps=7 riops=max wiops=max\n");
  ASSERT_TRUE(write_io_limit(tree.path("g"), Version::kV2, kDisk, {2 * kMiB, std::nullopt}));
  EXPECT_TRUE(content("g/io.max").starts_with("8:16 rbps=2097152 wbps=max"));
  tree.write("g/blkio.throttle.read_bps_device", "");
  tree.write("g/blkio.throttle.write_bps_device", "");
  ASSERT_TRUE(write_io_limit(tree.path("g"), Version::kV1, kDisk, {std::nullopt, 3 * kMiB}));
  EXPECT_EQ(content("g/blkio.throttle.read_bps_device"), "8:16 0");
  EXPECT_EQ(content("g/blkio.throttle.write_bps_device"), "8:16 3145728");
  EXPECT_EQ(read_io_limit(tree.path("g"), Version::kV1, kDisk, buffer)->write_bytes_s, 3 * kMiB);
}

TEST_F(IoLimits, ReportsMissingFiles) {
  EXPECT_EQ(read_io_limit(tree.path("none"), Version::kV2, kDisk, buffer).error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(write_io_limit(tree.path("none"), Version::kV1, kDisk, {}).error().kind, ErrorKind::kUnsupported);
}

TEST_F(IoLimits, PartitionGivesWholeDisk) {
  tree.folder("data");
  struct ::stat found{};
  ASSERT_EQ(::stat(tree.path("data").c_str(), &found), 0);
  const DiskNumber own{::major(found.st_dev), ::minor(found.st_dev)};
  EXPECT_EQ(disk_of(tree.path("data"), tree.path("sys"), buffer).error().kind, ErrorKind::kUnsupported);
  tree.folder("sys/devices/sdx/sdx1");
  tree.write("sys/devices/sdx/dev", "8:16\n");
  tree.folder("sys/dev/block");
  std::filesystem::create_directory_symlink("../../devices/sdx/sdx1", tree.path("sys/dev/block/" + own.text()));
  EXPECT_EQ(disk_of(tree.path("data"), tree.path("sys"), buffer).value(), own);
  tree.write("sys/devices/sdx/sdx1/partition", "1\n");
  EXPECT_EQ(disk_of(tree.path("data"), tree.path("sys"), buffer).value(), kDisk);
  EXPECT_FALSE(disk_of(tree.path("nowhere"), tree.path("sys"), buffer));
}

}  // namespace
}  // namespace tidemark::linux
