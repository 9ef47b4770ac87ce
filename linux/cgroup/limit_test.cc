#include "linux/cgroup/limit.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

// Contract 7.2: 1+((s−2)×9999)/262142, clamp 1..10000; shares valid 2..262144.
TEST(Limit, SharesAndWeight) {
  EXPECT_EQ(weight_of_shares(2), 1);
  EXPECT_EQ(weight_of_shares(1024), 39);
  EXPECT_EQ(weight_of_shares(262'144), 10'000);
  EXPECT_EQ(weight_of_shares(0), 1);
  EXPECT_EQ(weight_of_shares(1'000'000), 10'000);
  EXPECT_EQ(shares_of_weight(1), 2);
  EXPECT_EQ(shares_of_weight(10'000), 262'144);
  EXPECT_EQ(shares_of_weight(0), 2) << "an idle group of v2 reads as weight 0";
}

TEST(Limit, WeightsSurviveTheWayThereAndBack) {
  for (std::int64_t weight = kWeightMin; weight <= kWeightMax; ++weight) {
    const std::int64_t back = weight_of_shares(shares_of_weight(weight));
    EXPECT_LE(weight - back, 1) << weight;
    EXPECT_GE(weight - back, 0) << weight;
  }
  std::int64_t last = 0;
  for (std::int64_t shares = kSharesMin; shares <= kSharesMax; ++shares) {
    ASSERT_GE(weight_of_shares(shares), last) << "monotone at " << shares;
    last = weight_of_shares(shares);
  }
}

TEST(Limit, NoneIsOneValueInAllForms) {
  EXPECT_EQ(parse_value(File::kCpuQuota, Version::kV1, "-1\n").value(), kUnlimited);
  EXPECT_EQ(parse_value(File::kCpuQuota, Version::kV2, "max 100000\n").value(), kUnlimited);
  EXPECT_EQ(parse_value(File::kMemoryLimit, Version::kV1, "9223372036854771712\n").value(), kUnlimited);
  EXPECT_EQ(parse_value(File::kMemoryLimit, Version::kV2, "max\n").value(), kUnlimited);
  EXPECT_EQ(parse_value(File::kPidsLimit, Version::kV1, "max\n").value(), kUnlimited);
}

TEST(Limit, ValuesInTheUnitOfV1) {
  EXPECT_EQ(parse_value(File::kCpuQuota, Version::kV2, "50000 100000\n").value(), 50'000);
  EXPECT_EQ(parse_value(File::kCpuPeriod, Version::kV2, "max 100000\n").value(), 100'000);
  EXPECT_EQ(parse_value(File::kCpuPeriod, Version::kV1, "100000\n").value(), 100'000);
  EXPECT_EQ(parse_value(File::kCpuShares, Version::kV1, "1024\n").value(), 1024);
  EXPECT_EQ(parse_value(File::kCpuShares, Version::kV2, "10000\n").value(), 262'144);
  EXPECT_EQ(parse_value(File::kCpuBvt, Version::kV1, "-1\n").value(), -1);
  EXPECT_EQ(parse_value(File::kCpuQosLevel, Version::kV1, "-1\n").value(), -1);
  EXPECT_EQ(parse_value(File::kCpuQosLevel, Version::kV2, "-2\n").value(), -2) << "of a kernel with five levels";
  EXPECT_EQ(parse_value(File::kMemoryLimit, Version::kV1, "4096\n").value(), 4096);
}

TEST(Limit, RefusesInvalidValue) {
  const auto refuses = [](File file, Version version, std::string_view text) {
    const auto value = parse_value(file, version, text);
    ASSERT_FALSE(value) << text << " read as " << *value;
    EXPECT_EQ(value.error().kind, ErrorKind::kInvalid);
  };
  for (const std::string_view text : {"", "\n", "x\n", "-2\n", "1 2\n", "1e3\n", "99999999999999999999\n"}) {
    refuses(File::kMemoryLimit, Version::kV1, text);
    refuses(File::kMemoryLimit, Version::kV2, text);
    refuses(File::kCpuQuota, Version::kV1, text);
  }
  for (const std::string_view text : {"", "max\n", "100000\n", "1 0\n", "1 x\n", "x 1\n", "1 2 3\n"}) {
    refuses(File::kCpuQuota, Version::kV2, text);
    refuses(File::kCpuPeriod, Version::kV2, text);
  }
  refuses(File::kCpuBvt, Version::kV1, "3\n");
  for (const std::string_view text : {"", "-3\n", "3\n", "max\n", "0 0\n"}) {
    refuses(File::kCpuQosLevel, Version::kV1, text);
    refuses(File::kCpuQosLevel, Version::kV2, text);
  }
  refuses(File::kCpuShares, Version::kV1, "-1\n");
}

TEST(Limit, TextToWrite) {
  EXPECT_EQ(value_text(File::kCpuShares, Version::kV1, 1024).value(), "1024");
  EXPECT_EQ(value_text(File::kCpuShares, Version::kV2, 1024).value(), "39");
  EXPECT_EQ(value_text(File::kCpuQuota, Version::kV1, kUnlimited).value(), "-1");
  EXPECT_EQ(value_text(File::kCpuQuota, Version::kV2, kUnlimited).value(), "max");
  EXPECT_EQ(value_text(File::kCpuQuota, Version::kV2, 50'000).value(), "50000");
  EXPECT_EQ(value_text(File::kMemoryLimit, Version::kV1, kUnlimited).value(), "-1");
  EXPECT_EQ(value_text(File::kPidsLimit, Version::kV1, kUnlimited).value(), "max");
  EXPECT_EQ(value_text(File::kCpuBvt, Version::kV1, -1).value(), "-1");
  EXPECT_EQ(value_text(File::kCpuQosLevel, Version::kV1, -1).value(), "-1");
  EXPECT_EQ(value_text(File::kCpuQosLevel, Version::kV2, -1).value(), "-1") << "a level, where others say max";
  for (const auto& refused :
       {value_text(File::kCpuShares, Version::kV1, 1), value_text(File::kCpuShares, Version::kV2, 300'000),
        value_text(File::kCpuQuota, Version::kV1, -2), value_text(File::kCpuBvt, Version::kV1, 3),
        value_text(File::kCpuQosLevel, Version::kV1, 3), value_text(File::kCpuQosLevel, Version::kV2, -3),
        value_text(File::kCpuPeriod, Version::kV2, 100'000)}) {
    EXPECT_FALSE(refused);
  }
}

TEST(Limit, ReadsThroughAGroupAndNamesTheFile) {
  testing::Tree tree;
  testing::make_v2(tree);
  testing::make_v2_group(tree, "", "a");
  tree.write("a/cpu.max", "150000 100000\n");
  tree.write("a/memory.max", "lots\n");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  Buffer buffer;
  EXPECT_EQ(read_value(group, File::kCpuQuota, buffer).value(), 150'000);
  EXPECT_EQ(read_value(group, File::kCpuPeriod, buffer).value(), 100'000);
  const auto limit = read_value(group, File::kMemoryLimit, buffer);
  ASSERT_FALSE(limit);
  EXPECT_NE(limit.error().message.find("a/memory.max: a number, -1 or max is wanted, found \"lots"), std::string::npos)
      << limit.error().message;
  tree.remove("a");
  EXPECT_FALSE(read_value(group, File::kCpuQuota, buffer).value());
}

}  // namespace
}  // namespace tidemark::linux
