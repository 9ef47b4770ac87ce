#include "hadoop/wire.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_view_literals;

std::string written(auto&& write) {
  std::string out;
  WireWriter writer(out);
  write(writer);
  return out;
}

// Bytes from the documentation of the encoding, not from ours.
TEST(WireTest, EncodesNumbersAndTextsLikeProtocolBuffers) {
  EXPECT_EQ(written([](WireWriter& w) { w.number(1, 150); }), "\x08\x96\x01"sv);
  EXPECT_EQ(written([](WireWriter& w) { w.bytes(2, "testing"); }), "\x12\x07testing"sv);
  EXPECT_EQ(written([](WireWriter& w) { w.number(1, -2); }), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
  EXPECT_EQ(written([](WireWriter& w) { w.zigzag(3, -3); }), "\x18\x05"sv);
  EXPECT_EQ(written([](WireWriter& w) { w.message(3, [](WireWriter& in) { in.number(1, 150); }); }),
            "\x1a\x03\x08\x96\x01"sv);
}

TEST(WireTest, RoundTrips) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  base::Random random(7);
  std::vector<std::int64_t> numbers = {0, 1, -1, 127, 128, kLowest, kHighest};
  for (int i = 0; i < 1000; ++i) numbers.push_back(static_cast<std::int64_t>(random.next() >> random.below(64)));
  for (const std::int64_t each : numbers) {
    const std::string bytes = written([&](WireWriter& w) { w.number(536870911, each).zigzag(2, each); });
    WireReader reader(bytes);
    auto field = reader.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->number, 536870911U);
    EXPECT_EQ(field->integer(), each);
    field = reader.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->zigzag(), each);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.finish("it"));
  }
}

TEST(WireTest, SkipsFixedSizeFields) {
  WireReader reader("\x09\x01\x02\x03\x04\x05\x06\x07\x08\x15\x01\x00\x00\x00\x18\x07"sv);
  EXPECT_EQ(reader.next()->value, 0x0807060504030201U);
  EXPECT_EQ(reader.next()->value, 1U);
  EXPECT_EQ(reader.next()->integer(), 7);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.finish("it"));
}

TEST(WireTest, TreatsAFieldOfAnotherTypeAsUnknown) {
  WireReader reader("\x08\x96\x01\x12\x01x"sv);
  EXPECT_EQ(reader.next()->text(), "");
  EXPECT_EQ(reader.next()->integer(), 0);
}

TEST(WireTest, RejectsTruncatedBytes) {
  for (const std::string_view bad : {
           "\x08"sv, "\x08\x96"sv, "\x12\x07test"sv, "\x09\x01"sv, "\x15\x01\x02\x03"sv,
           "\x0b\x0c"sv,                                          // a group
           "\x00\x01"sv,                                          // field 0
           "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,      // 65 bits
           "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"sv,  // eleven bytes
           "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
           "abc"sv,  // a length past everything
       }) {
    WireReader reader(bad);
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.next());
    const auto end = reader.finish("NodeReportProto");
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().message, "NodeReportProto: bytes that no field can begin or end with");
  }
}

TEST(WireTest, TakesDelimitedMessagesFromTheFront) {
  std::string bytes;
  append_delimited(bytes, "one");
  append_delimited(bytes, std::string(300, 'x'));
  bytes += '\x05';
  std::string_view rest = bytes;
  EXPECT_EQ(*take_delimited(rest, "first"), "one");
  EXPECT_EQ(take_delimited(rest, "second")->size(), 300U);
  EXPECT_EQ(take_delimited(rest, "third").error().message, "third: says that it is 5 bytes long, and 0 are there");
  EXPECT_EQ(take_delimited(rest, "fourth").error().message, "fourth: its length is missing");
}

}  // namespace
}  // namespace tidemark::hadoop
