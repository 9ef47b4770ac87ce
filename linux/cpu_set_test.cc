#include "linux/cpu_set.h"

#include <gtest/gtest.h>

namespace tidemark::linux {
namespace {

CpuSet set(std::string_view list) {
  const auto parsed = CpuSet::parse(list);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(CpuSet{});
}

TEST(CpuSet, ReadsAndWritesTheKernelsLists) {
  EXPECT_EQ(set("0-3,8,10-11\n").text(), "0-3,8,10-11");
  EXPECT_EQ(set("0-3,8,10-11").count(), 7);
  EXPECT_EQ(set("5,4,3-4").text(), "3-5");
  EXPECT_EQ(set("63-64,4095").text(), "63-64,4095");
  EXPECT_TRUE(set("\n").empty()) << "a new cpuset of v1";
  EXPECT_EQ(set("").text(), "");
}

TEST(CpuSet, WalksItsMembers) {
  const CpuSet some = set("0,63,64,200");
  EXPECT_EQ(some.next(0), 0);
  EXPECT_EQ(some.next(1), 63);
  EXPECT_EQ(some.next(64), 64);
  EXPECT_EQ(some.next(65), 200);
  EXPECT_EQ(some.next(201), -1);
  EXPECT_FALSE(some.contains(-1));
  EXPECT_FALSE(some.contains(1'000'000));
}

TEST(CpuSet, SetArithmetic) {
  EXPECT_EQ((set("0-3") | set("8")).text(), "0-3,8");
  EXPECT_EQ((set("0-3") & set("2-9")).text(), "2-3");
  EXPECT_EQ((set("0-3") - set("1-2")).text(), "0,3");
  EXPECT_TRUE((set("1-2") - set("0-3")).empty());
}

TEST(CpuSet, RefusesInvalidList) {
  for (const std::string_view text :
       {"x", "1,", ",1", "3-1", "-1", "1-", "1--2", "4096", "0-99999999999", "1 2", "0-3:1/2", "\n\n"}) {
    const auto parsed = CpuSet::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace tidemark::linux
