#include "policy/sell/least.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace tidemark::policy::sell {
namespace {

using namespace std::chrono_literals;
using base::WallTime;
using model::Resources;

constexpr WallTime kMidnight{std::chrono::hours(24 * 365 * 56)};
constexpr std::int64_t kMib = std::int64_t{1} << 20;

Resources amount(std::int64_t milli, std::int64_t mib) {
  return {model::CpuMilli{milli}, model::MemoryBytes{mib * kMib}};
}

// Twenty passes in an hour, and the hour after it.
void hour_of(LeastOffers& offers, WallTime from, std::optional<Resources> could, int looks = 20) {
  for (int i = 0; i < looks; ++i) offers = learn_least(offers, could, from + std::chrono::minutes(3 * i)).offers;
}

TEST(Least, LeastOfAnHourIsKnownOnceItEnds) {
  LeastOffers offers;
  hour_of(offers, kMidnight, amount(8000, 100));
  offers = learn_least(offers, amount(5000, 300), kMidnight + 59min).offers;
  EXPECT_EQ(least_at(offers, kMidnight), std::nullopt);
  const auto step = learn_least(offers, std::nullopt, kMidnight + 1h);
  EXPECT_TRUE(step.learned);
  EXPECT_EQ(least_at(step.offers, kMidnight + 24h), amount(5000, 100)) << "CPU and memory separately";
  EXPECT_EQ(least_at(step.offers, kMidnight + 1h), std::nullopt);
}

TEST(Least, BadDayCountsAtOnceAndIsForgottenInAWeekOrTwo) {
  LeastOffers offers;
  const auto day = [&](int number, Resources could) {
    hour_of(offers, kMidnight + 24h * number, could);
    offers = learn_least(offers, std::nullopt, kMidnight + 24h * number + 1h).offers;
    return *least_at(offers, kMidnight);
  };
  EXPECT_EQ(day(0, amount(8000, 800)), amount(8000, 800));
  EXPECT_EQ(day(1, amount(1000, 100)), amount(1000, 100));
  EXPECT_EQ(day(2, amount(8000, 800)), amount(2000, 200));
  Resources last;
  for (int i = 3; i < 17; ++i) last = day(i, amount(8000, 800));
  EXPECT_GT(last.cpu.value, 7000);
  EXPECT_LE(last.cpu.value, 8000);
}

TEST(Least, LearnsNothingFromTooFewPasses) {
  LeastOffers offers;
  hour_of(offers, kMidnight, amount(8000, 100), 9);
  hour_of(offers, kMidnight + 1h, std::nullopt);
  EXPECT_FALSE(learn_least(offers, std::nullopt, kMidnight + 2h).learned);
  EXPECT_FALSE(offers.any());
}

TEST(Least, SavedHoursRoundTripAndFillUnknownOnes) {
  std::mt19937 random(3);
  LeastOffers offers;
  WallTime now = kMidnight;
  for (int i = 0; i < 5000; ++i, now = now + std::chrono::minutes(random() % 7)) {
    offers = learn_least(offers, amount(random() % 100'000, random() % 400'000), now).offers;
  }
  const std::string bytes = encode_least(offers);
  EXPECT_LE(bytes.size(), kLeastBytesMax);
  EXPECT_FALSE(decode_least(std::string_view(bytes).substr(0, bytes.size() - 1)));
  const auto read = decode_least(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->hours, offers.hours);
  LeastOffers wide;
  for (std::size_t hour = 0; hour < wide.hours.size(); ++hour) {
    if (hour % 2 == 0) wide.hours[hour] = {std::numeric_limits<std::int32_t>::max(), 0};
    if (hour % 4 == 1) wide.hours[hour] = {0, std::numeric_limits<std::int32_t>::max()};
  }
  EXPECT_LE(encode_least(wide).size(), kLeastBytesMax);
  EXPECT_EQ(decode_least(encode_least(wide))->hours, wide.hours) << "the widest steps there are";
  LeastOffers fresh;
  fresh.hours[5] = {7, 7};
  EXPECT_EQ(with_kept(fresh, *read).hours[5], (LeastOffer{7, 7}));
  EXPECT_EQ(with_kept(fresh, *read).hours[6], offers.hours[6]);
}

TEST(Least, ExtremeNumbersAndTextsAreSafe) {
  LeastOffers offers;
  hour_of(offers, kMidnight, Resources{model::CpuMilli{-5}, model::MemoryBytes{std::int64_t{1} << 62}});
  offers = learn_least(offers, std::nullopt, kMidnight + 1h).offers;
  EXPECT_EQ(least_at(offers, kMidnight)->cpu.value, 0);
  EXPECT_GT(least_at(offers, kMidnight)->memory.value, 0);
  using namespace std::string_literals;
  for (const std::string& bytes : {""s, "\x01"s, "\x01\x02"s, "\x01\x01\x02"s, "\x01\x02\x02\x00"s, "\x80"s,
                                   "\xff\xff\xff\xff\x01"s, "\x01\xff\xff\xff\xff\xff\xff\x02"s}) {
    EXPECT_FALSE(decode_least(bytes)) << bytes.size();
  }
  EXPECT_TRUE(decode_least("\x01\x02\x02"));
  EXPECT_TRUE(decode_least("\0"s));
}

TEST(Least, ReadsTheEarlierFormat) {
  const auto read = decode_least_text("12800:40960,,,,,,,,,,,,,,,,,,,,,,,1:2");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->hours[0], (LeastOffer{12'800, 40'960}));
  EXPECT_FALSE(read->hours[1].known());
  EXPECT_EQ(read->hours[23], (LeastOffer{1, 2}));
  for (const std::string text : {"", "1:2", ",,,,,,,,,,,,,,,,,,,,,,,x", ",,,,,,,,,,,,,,,,,,,,,,,-1:2",
                                 ",,,,,,,,,,,,,,,,,,,,,,,1", ",,,,,,,,,,,,,,,,,,,,,,,99999999999:1"}) {
    EXPECT_FALSE(decode_least_text(text)) << text;
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
