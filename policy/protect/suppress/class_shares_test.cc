#include "policy/protect/suppress/class_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;
using Amounts = std::vector<CpuMilli>;

TEST(ShareRoom, FromTheMostTimelyDown) {
  const std::vector<ClassDemand> classes{{2, {4000}}, {1, {3000}}, {3, {9000}}};
  using Parts = std::vector<ClassPart>;
  EXPECT_EQ(share_room(classes, {10'000}), (Parts{{{10'000}, {4000}}, {{6000}, {3000}}, {{3000}, {3000}}}));
  // What is more than wanted is the least timely one's.
  EXPECT_EQ(share_room(classes, {30'000}), (Parts{{{30'000}, {4000}}, {{26'000}, {3000}}, {{23'000}, {23'000}}}));
  EXPECT_EQ(share_room(classes, {5000}), (Parts{{{5000}, {4000}}, {{1000}, {1000}}, {{0}, {300}}}));
  EXPECT_EQ(share_room(classes, {-7}), (Parts{{{0}, {200}}, {{0}, {100}}, {{0}, {300}}}));
  EXPECT_TRUE(share_room({}, {5000}).empty());
}

std::vector<ClassDemand> any_classes(std::mt19937_64& random) {
  std::vector<ClassDemand> out(random() % 6);
  for (ClassDemand& each : out) {
    each.tasks = static_cast<std::int64_t>(random() % 20);
    each.wants = {random() % 20 == 0 ? std::numeric_limits<std::int64_t>::max()
                                     : static_cast<std::int64_t>(random() % 30'000)};
  }
  return out;
}

TEST(ShareRoom, NothingIsHeldBackAndTheHigherClassGoesFirst) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const auto classes = any_classes(random);
    const CpuMilli room{static_cast<std::int64_t>(random() % 60'000)};
    const auto parts = share_room(classes, room);
    ASSERT_EQ(parts.size(), classes.size());
    CpuMilli sum;
    for (const auto& each : parts) sum += each.share;
    if (!classes.empty()) {
      ASSERT_GE(sum, room);
    }
    const auto more = share_room(classes, room + CpuMilli{static_cast<std::int64_t>(random() % 5000)});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const CpuMilli least{classes[i].tasks * kTaskShareMin.value};
      ASSERT_GE(parts[i].share, least);
      ASSERT_GE(more[i].share, parts[i].share) << "more room lowers no share";
      for (std::size_t above = 0; above < i; ++above) {
        const bool cut = parts[above].share < classes[above].wants;
        ASSERT_FALSE(cut && parts[i].share > least)
            << "a higher class is cut while a lower one has more than its least";
      }
    }
  }
}

TEST(SplitShare, AsEvenlyAsTheWantsAllow) {
  EXPECT_EQ(split_share(Amounts{{5000}, {2500}}, {2000}), (Amounts{{1000}, {1000}}));
  EXPECT_EQ(split_share(Amounts{{5000}, {500}, {5000}}, {3500}), (Amounts{{1500}, {500}, {1500}}));
  EXPECT_EQ(split_share(Amounts{{5000}, {500}}, {9000}), (Amounts{{5000}, {500}}));
  EXPECT_EQ(split_share(Amounts{{5000}, {5000}, {5000}}, {1000}), (Amounts{{334}, {334}, {334}})) << "rounded up";
  EXPECT_EQ(split_share(Amounts{{-5}, {10}}, {5}), (Amounts{{0}, {5}}));
  EXPECT_TRUE(split_share({}, {1000}).empty());
}

TEST(SplitShare, GivesNoClassMoreThanItWantsAndDistributesAll) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20'000; ++round) {
    Amounts wants(random() % 8);
    CpuMilli all;
    for (CpuMilli& each : wants) all += each = {static_cast<std::int64_t>(random() % 10'000)};
    const CpuMilli share{static_cast<std::int64_t>(random() % 40'000)};
    const Amounts parts = split_share(wants, share);
    CpuMilli sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ASSERT_LE(parts[i], wants[i]);
      ASSERT_GE(parts[i].value, 0);
      sum += parts[i];
      for (std::size_t j = 0; j < parts.size(); ++j) {
        ASSERT_FALSE(parts[i] < wants[i] && parts[j] > parts[i]) << "one that wants more has less than another";
      }
    }
    ASSERT_GE(sum, std::min(all, share));
    ASSERT_LE(sum.value, std::min(all, share).value + static_cast<std::int64_t>(wants.size()));
  }
}

TEST(Satisfaction, OfAClassThatWantsMore) {
  EXPECT_EQ(satisfaction_permille({{2000}, {8000}, std::nullopt, true}), 250);
  EXPECT_EQ(satisfaction_permille({{2000}, {8000}, std::nullopt, false}), std::nullopt) << "it wants no more";
  EXPECT_EQ(satisfaction_permille({{1900}, {8000}, CpuMilli{2000}, false}), 237) << "95 % is at the limit";
  EXPECT_EQ(satisfaction_permille({{1899}, {8000}, CpuMilli{2000}, false}), std::nullopt);
  EXPECT_EQ(satisfaction_permille({{9000}, {8000}, std::nullopt, true}), 1000) << "it has more than it asked for";
  EXPECT_EQ(satisfaction_permille({{2000}, {0}, std::nullopt, true}), std::nullopt) << "it asked for nothing";
  EXPECT_EQ(satisfaction_permille({{-1}, {8000}, CpuMilli{0}, false}), 0);
}

}  // namespace
}  // namespace tidemark::policy::protect
