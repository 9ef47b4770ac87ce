#include "hadoop/containers.h"

#include <gtest/gtest.h>

#include <string>

#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

TEST(ContainersTest, ReadsIdsWithAndWithoutEpoch) {
  EXPECT_EQ(parse_container_id("container_1700000000000_0001_02_000003").value(),
            (ContainerId{{1700000000000, 1}, 2, 3}));
  EXPECT_EQ(parse_container_id("container_e17_1410901177871_0001_01_000005").value(),
            (ContainerId{{1410901177871, 1}, 1, (std::int64_t{17} << 40) + 5}));
  for (const char* text : {"", "container", "container_1_1_1", "container_e_1_1_1_1", "container_x17_1_1_1_1",
                           "container_1_1_1_-1", "container_1_1_1_1_1", "pod_1_1_1_1", "container_1_99999999999_1_1"}) {
    EXPECT_FALSE(parse_container_id(text)) << text;
  }
}

TEST(ContainersTest, EncodesRequest) {
  // {1: {2: {1: {1: 2, 2: 9}, 2: 1}, 3: 5}}
  EXPECT_EQ(encode_get_container_report({{9, 2}, 1, 5}),
            std::string("\x0a\x0c\x12\x08\x0a\x04\x08\x02\x10\x09\x10\x01\x18\x05", 14));
}

std::string report(std::int64_t state) {
  std::string out;
  WireWriter(out).message(1, [&](WireWriter& one) {
    one.message(2, [](WireWriter& given) { given.number(1, 512).number(2, 1); })
        .message(3, [](WireWriter& node) { node.bytes(1, "worker").number(2, 45454); })
        .number(10, state);
  });
  return out;
}

TEST(ContainersTest, ReadsReport) {
  const auto running = decode_get_container_report(report(2)).value();
  EXPECT_EQ(running.given, (Resource{512, 1, {}}));
  EXPECT_EQ(running.node.text(), "worker:45454");
  EXPECT_FALSE(running.complete);
  EXPECT_TRUE(decode_get_container_report(report(3)).value().complete);
}

TEST(ContainersTest, RejectsEmptyReport) {
  EXPECT_EQ(decode_get_container_report("").error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(decode_get_container_report("\x0a\x02\x50\x02"));
  EXPECT_FALSE(decode_get_container_report("\x0a\x05\x01"));
}

}  // namespace
}  // namespace tidemark::hadoop
