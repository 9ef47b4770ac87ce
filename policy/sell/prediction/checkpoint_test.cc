#include "policy/sell/prediction/checkpoint.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <string>

#include "base/hash.h"

namespace tidemark::policy::sell {
namespace {

using base::WallTime;
using std::chrono::hours;

constexpr WallTime kBegin{hours(24 * 20'000)};
constexpr std::size_t kHead = 4 + 2 + 2 + 8 + 2;  // up to the key

ModelCheckpoint sample() {
  ModelCheckpoint out;
  out.key = "0e1c9f6e-0000-4000-8000-000000000010";
  out.written = kBegin + hours(1);
  std::mt19937_64 random(41);
  for (int i = 0; i < 1'000; ++i) {
    const WallTime at = kBegin + std::chrono::seconds(random() % 3'600);
    out.cpu.add(static_cast<double>(random() % 4'000) / 1'000, at);
    out.memory.add(static_cast<double>(random() % (std::uint64_t{1} << 34)), at);
  }
  return out;
}

std::string with_checksum(std::string bytes) {
  bytes.resize(bytes.size() - 8);
  const std::uint64_t sum = base::TextHash().add(bytes).value();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((sum >> (8 * i)) & 0xff);
  return bytes;
}

std::string with(std::string bytes, std::size_t at, std::string_view part) {
  bytes.replace(at, part.size(), part);
  return with_checksum(std::move(bytes));
}

std::string eight(double value) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((std::bit_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
  return out;
}

std::string checkpoint_refusal(std::string_view bytes) {
  const auto read = decode_model(bytes);
  return read ? "" : read.error().message;
}

TEST(ModelCheckpoint, IsReadBackToTheBit) {
  const ModelCheckpoint written = sample();
  const std::string bytes = encode_model(written);
  EXPECT_LE(bytes.size(), kModelCheckpointBytesMax);
  const auto read = decode_model(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, written);
  EXPECT_EQ(encode_model(*read), bytes);
}

TEST(ModelCheckpoint, TheLargestFitsAndTheEmptyOneToo) {
  ModelCheckpoint all = sample();
  for (std::size_t i = 0; i < kCpuShape.buckets; ++i) all.cpu.add(bucket_start(kCpuShape, i) + 1e-9, kBegin);
  for (std::size_t i = 0; i < kMemoryShape.buckets; ++i) all.memory.add(bucket_start(kMemoryShape, i) + 1, kBegin);
  EXPECT_GT(encode_model(all).size(), 8 * (kCpuShape.buckets + kMemoryShape.buckets));
  EXPECT_LE(encode_model(all).size(), kModelCheckpointBytesMax);
  EXPECT_EQ(decode_model(encode_model(all)).value(), all);
  ModelCheckpoint none;
  none.key = "a";
  EXPECT_EQ(decode_model(encode_model(none)).value(), none);
}

TEST(ModelCheckpoint, RejectsInvalidBytesWithAReason) {
  const std::string good = encode_model(sample());
  EXPECT_EQ(checkpoint_refusal(""), "not a model: it does not begin with TMPM");
  EXPECT_EQ(checkpoint_refusal("{}"), "not a model: it does not begin with TMPM");
  for (std::size_t n = 4; n < good.size(); n += 7) EXPECT_NE(checkpoint_refusal(good.substr(0, n)), "") << n;
  EXPECT_EQ(checkpoint_refusal(good + "x"), "a model whose checksum is wrong");
  std::string flipped = good;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  EXPECT_EQ(checkpoint_refusal(flipped), "a model whose checksum is wrong");
  EXPECT_EQ(checkpoint_refusal(std::string(kModelCheckpointBytesMax + 1, 'T')), "a model of 4097 bytes, at most 4096");
  EXPECT_EQ(checkpoint_refusal(with(good, kHead, "/")), "a model without a usable key");
  EXPECT_EQ(checkpoint_refusal(with_checksum(good + "x")), "a model with 1 bytes too many");
  const std::size_t cpu = kHead + 36;
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 8, eight(1))), "cpu: the total is not the sum of the weights");
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 8, eight(std::numeric_limits<double>::quiet_NaN()))),
            "cpu: the total is not the sum of the weights");
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 20, eight(-1))), "cpu: the weight of bucket 0 is invalid");
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 20, eight(std::numeric_limits<double>::infinity()))),
            "cpu: the weight of bucket 0 is invalid");
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 20, eight(0))), "cpu: written with empty buckets at an end");
  EXPECT_EQ(checkpoint_refusal(with(good, cpu + 18, "\xff\x01")), "cpu: buckets 0 and 511 more, of 158");
  ModelCheckpoint later = sample();
  later.cpu.move_time(hours(14));
  EXPECT_EQ(checkpoint_refusal(encode_model(later)), "cpu: its reference time does not match its write time");
  ModelCheckpoint earlier = sample();
  earlier.memory.move_time(-hours(24 * 102));
  EXPECT_EQ(checkpoint_refusal(encode_model(earlier)), "memory: its reference time does not match its write time");
}

// "A program reads N−1 and N": the first schema has none before it.
TEST(ModelCheckpoint, OtherSchemasAreNamed) {
  const std::string good = encode_model(sample());
  EXPECT_EQ(checkpoint_refusal(with(good, 4, std::string_view("\x02\x00", 2))), "a model of schema 2, wanted 1 to 1");
  EXPECT_EQ(checkpoint_refusal(with(good, 4, std::string_view("\x00\x00", 2))), "a model of schema 0, wanted 1 to 1");
  EXPECT_EQ(checkpoint_refusal(with(good, 6, std::string_view("\x09\x00", 2))),
            "a model of policy version 9, wanted 1 to 1");
  EXPECT_EQ(decode_model(with(good, 4, std::string_view("\x02\x00", 2))).error().kind, ErrorKind::kUnsupported);
}

TEST(ModelKey, IsAlsoTheNameOfAFile) {
  for (const auto* good : {"a", "0e1c9f6e-0000-4000-8000-000000000010", "__node-koord-prod__", "__node-__", "a.b"}) {
    EXPECT_TRUE(is_model_key(good)) << good;
  }
  for (const auto* bad : {"", ".", "..", ".a", "a/b", "a b", "a\n"}) EXPECT_FALSE(is_model_key(bad)) << bad;
  EXPECT_TRUE(is_model_key(std::string(64, 'a')));
  EXPECT_FALSE(is_model_key(std::string(65, 'a')));
}

// Any bytes at all, with a right checksum: read and written the same, or refused.
TEST(ModelCheckpoint, NoBytesDoHarm) {
  const std::string good = encode_model(sample());
  std::mt19937_64 random(43);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      bytes[random() % (bytes.size() - 8)] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(12 + random() % (bytes.size() - 12));
    bytes = with_checksum(std::move(bytes));
    auto model = decode_model(bytes);
    if (!model) continue;
    ++read;
    ASSERT_EQ(encode_model(*model), bytes);
    model->cpu.add(1, model->written);
    ASSERT_GT(model->cpu.percentile(0.95), 0);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tidemark::policy::sell
