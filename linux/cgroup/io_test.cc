#include "linux/cgroup/io.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Io, LinesOfV2) {
  std::vector<DeviceIo> out;
  ASSERT_TRUE(parse_io_v2(
      "8:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.usage=9\n254:0 rbytes=10 wbytes=0 rios=1 wios=0\n",
      out));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].major, 8);
  EXPECT_EQ(out[0].minor, 16);
  EXPECT_EQ(out[0].read_bytes, 1);
  EXPECT_EQ(out[0].write_bytes, 2);
  EXPECT_EQ(out[0].read_count, 3);
  EXPECT_EQ(out[0].write_count, 4);
  EXPECT_EQ(out[0].discard_bytes, 5);
  EXPECT_EQ(out[1].read_bytes, 10);
  EXPECT_FALSE(out[1].discard_bytes);
}

TEST(Io, ADeviceWithoutNumbersIsLeftOut) {
  std::vector<DeviceIo> out;
  ASSERT_TRUE(parse_io_v2("7:0 7:1 8:0 rbytes=1 wbytes=2 rios=3 wios=4\n7:2\n", out));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].major, 8);
  ASSERT_TRUE(parse_io_v2("", out)) << "a group that did nothing";
  EXPECT_TRUE(out.empty());
}

TEST(Io, FilesOfV1) {
  std::vector<DeviceIo> out;
  ASSERT_TRUE(
      parse_io_bytes_v1("254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 1\n254:0 Async 2\n254:0 Discard 3\n254:0 Total "
                        "12288\nTotal 12288\n",
                        out));
  ASSERT_TRUE(parse_io_counts_v1("254:0 Read 1\n254:0 Write 2\n254:0 Total 3\n9:9 Read 1\nTotal 4\n", out));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].read_bytes, 4096);
  EXPECT_EQ(out[0].write_bytes, 8192);
  EXPECT_EQ(out[0].discard_bytes, 3);
  EXPECT_EQ(out[0].read_count, 1);
  EXPECT_EQ(out[0].write_count, 2);
}

TEST(Io, GarbageIsRefused) {
  std::vector<DeviceIo> out;
  for (const std::string_view text :
       {"x\n", "8:0 rbytes=x wbytes=1\n", "8:0 rbytes=1\n", "rbytes=1 wbytes=2\n", "8:x rbytes=1 wbytes=2\n",
        "99999999999:0 rbytes=1 wbytes=2\n", "8:0 rbytes=-1 wbytes=2\n"}) {
    EXPECT_FALSE(parse_io_v2(text, out)) << text;
  }
  for (const std::string_view text :
       {"x\n", "\n", "8:0\n", "8:0 Read\n", "8:0 Read x\n", "8:0 Read 1 2\n", "8:0 Read 1\n", "8:0 Discard 1\n"}) {
    EXPECT_FALSE(parse_io_bytes_v1(text, out)) << text;
  }
}

TEST(Io, OfGroups) {
  testing::Tree one, two;
  testing::make_v1(one);
  testing::make_v1_group(one, "a");
  one.write("blkio/a/blkio.throttle.io_service_bytes_recursive", "254:0 Read 5\n254:0 Write 6\nTotal 11\n");
  one.write("blkio/a/blkio.throttle.io_serviced_recursive", "254:0 Read 1\n254:0 Write 2\nTotal 3\n");
  testing::make_v2(two);
  testing::make_v2_group(two, "", "a");
  two.write("a/io.stat", "254:0 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n");
  Buffer buffer;
  for (testing::Tree* tree : {&one, &two}) {
    const auto hierarchies = Hierarchies::discover(tree->root(), "").value();
    const auto group = std::move(*Group::open(hierarchies, "a").value());
    std::vector<DeviceIo> out;
    const auto there = read_io(group, buffer, out);
    ASSERT_TRUE(there && *there);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].write_bytes, 6);
    EXPECT_EQ(out[0].write_count, 2);
    for (const char* where : {"a", "blkio/a"}) tree->remove(where);
    EXPECT_FALSE(read_io(group, buffer, out).value());
    EXPECT_TRUE(out.empty());
  }
}

TEST(Io, WithoutTheControllerItIsMissing) {
  testing::Tree tree;
  testing::make_v2(tree, "cpu\n");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "").value());
  Buffer buffer;
  std::vector<DeviceIo> out;
  EXPECT_EQ(read_io(group, buffer, out).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tidemark::linux
