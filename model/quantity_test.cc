#include "model/quantity.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text.h"

namespace tidemark::model {
namespace {

using Format = Quantity::Format;

std::vector<std::vector<std::string>> read_rows(const std::string& name) {
  std::ifstream file(base::testing::from_root("tests/golden/quantity/" + name));
  EXPECT_TRUE(file.good()) << name << " is missing";
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    auto& row = rows.emplace_back();
    for (const auto cell : base::split(line, '\t')) row.emplace_back(cell);
  }
  return rows;
}

Quantity must(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

int order(const Quantity& a, const Quantity& b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

TEST(QuantityGolden, ReadsComparesRoundsAndPrintsLikeKubernetes) {
  const auto rows = read_rows("vectors.tsv");
  ASSERT_GE(rows.size(), 6000U);
  Quantity previous;
  for (const auto& row : rows) {
    const auto parsed = Quantity::parse(row[0]);
    if (row[1] == "error") {
      EXPECT_FALSE(parsed.has_value()) << row[0];
      continue;
    }
    ASSERT_EQ(row.size(), 7U) << row[0];
    ASSERT_TRUE(parsed.has_value()) << row[0];
    EXPECT_EQ(parsed->to_string(), row[2]) << row[0];
    EXPECT_EQ(parsed->canonical(), row[3]) << row[0];
    EXPECT_EQ(base::cat(parsed->value()), row[4]) << row[0];
    EXPECT_EQ(base::cat(parsed->scaled_value(-3)), row[5]) << row[0];
    EXPECT_EQ(base::cat(order(*parsed, previous)), row[6]) << row[0] << " against " << previous.to_string();
    previous = *parsed;
  }
}

TEST(QuantityGolden, AddsSubtractsAndRoundsUpLikeKubernetes) {
  const auto rows = read_rows("sums.tsv");
  ASSERT_GE(rows.size(), 1500U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 7U);
    const Quantity a = must(row[0]);
    const Quantity b = must(row[1]);
    EXPECT_EQ((a + b).to_string(), row[2]) << row[0] << " + " << row[1];
    EXPECT_EQ((a - b).to_string(), row[3]) << row[0] << " - " << row[1];
    Quantity rounded = a;
    const bool exact = rounded.round_up(static_cast<int>(*base::parse_int(row[4])));
    EXPECT_EQ(exact ? "true" : "false", row[5]) << row[0] << " to 10^" << row[4];
    EXPECT_EQ(rounded.to_string(), row[6]) << row[0] << " to 10^" << row[4];
  }
}

// Amounts of every size: far below a nano unit, around the ends of int64, far beyond.
Quantity any_quantity(std::mt19937_64& random) {
  const auto format = static_cast<Format>(random() % 3);
  const auto small =
      Quantity::of_scaled(static_cast<std::int64_t>(random() >> (random() % 63)) * (random() % 2 == 0 ? 1 : -1),
                          static_cast<int>(random() % 16) - 9, format);
  return random() % 4 == 0 ? small + Quantity::of_scaled(static_cast<std::int64_t>(random()), 12, format) : small;
}

// The three forms that lose their suffix or are capped when printed; the header names them.
bool prints_back(const Quantity& q) {
  const Quantity limit = Quantity::of_scaled(1, 21);
  if (q.format() == Format::kDecimalSI) return q < limit && -q < limit;
  const Quantity cap = Quantity::of(std::numeric_limits<std::int64_t>::max());
  return q.format() != Format::kBinarySI || (q <= cap && -q <= cap);
}

TEST(QuantityProperty, WhatIsPrintedReadsBackAsTheSameAmount) {
  std::mt19937_64 random(1);
  int checked = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Quantity q = any_quantity(random);
    if (!prints_back(q)) continue;
    ++checked;
    const auto text = q.canonical();
    const Quantity again = must(text);
    EXPECT_EQ(again, q) << text;
    // Without a suffix the family is lost: a BinarySI "6280000" reads back as DecimalSI and then prints "6280k".
    if (again.format() == q.format()) EXPECT_EQ(again.canonical(), text);
  }
  EXPECT_GT(checked, 10'000);
}

TEST(QuantityProperty, OrderIsTotalAndAdditionKeepsIt) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5'000; ++i) {
    const Quantity a = any_quantity(random);
    const Quantity b = any_quantity(random);
    const Quantity c = any_quantity(random);
    EXPECT_EQ(order(a, b), -order(b, a));
    EXPECT_EQ(order(a, a), 0);
    if (a <= b && b <= c) EXPECT_LE(a, c);
    EXPECT_EQ(order(a + c, b + c), order(a, b)) << a.canonical() << " " << b.canonical() << " " << c.canonical();
    EXPECT_EQ((a + b) - b, a);
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ(a - b, -(b - a));
    EXPECT_EQ((a - a).sign(), 0);
  }
}

TEST(QuantityProperty, RoundingUpIsAwayFromZeroByLessThanOneStep) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5'000; ++i) {
    const Quantity q = any_quantity(random);
    const int scale = static_cast<int>(random() % 12) - 6;
    Quantity rounded = q;
    const bool exact = rounded.round_up(scale);
    EXPECT_EQ(exact, rounded == q);
    const Quantity error = q.sign() < 0 ? q - rounded : rounded - q;
    EXPECT_GE(error.sign(), 0);
    EXPECT_LT(error, Quantity::of_scaled(1, scale));
  }
}

TEST(QuantityProperty, AnyBytesAreReadOrRefusedAndNeverMore) {
  std::mt19937_64 random(4);
  constexpr std::string_view kAlphabet = "0123456789.+-eEinumkKMGTPxX \t\"\xff";
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text.push_back(kAlphabet[random() % kAlphabet.size()]);
    const auto quantity = Quantity::parse(text);
    if (!quantity) continue;
    EXPECT_EQ(text.find_first_not_of("0123456789.+-eEinumkKMGTP"), std::string::npos) << text;
    EXPECT_FALSE(quantity->to_string().empty());
    EXPECT_LE(quantity->scaled_value_saturated(0), std::numeric_limits<std::int64_t>::max());
  }
}

TEST(Quantity, TextsPastTheLimitsAreRefused) {
  EXPECT_TRUE(Quantity::parse(std::string(Quantity::kTextMax, '9')).has_value());
  EXPECT_FALSE(Quantity::parse(std::string(Quantity::kTextMax + 1, '9')).has_value());
  EXPECT_TRUE(Quantity::parse("1e1000").has_value());
  EXPECT_FALSE(Quantity::parse("1e1001").has_value());
  EXPECT_FALSE(Quantity::parse("1e-1001").has_value());
  const auto refused = Quantity::parse("12 apples");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(refused.error().message.find("12 apples"), std::string::npos) << refused.error().message;
}

TEST(Quantity, SaturatesWhereKubernetesWraps) {
  const auto max = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(must("100Ei").scaled_value(-3), -1000);  // Go's wrap-around, kept
  EXPECT_EQ(must("100Ei").scaled_value_saturated(-3), max);
  EXPECT_EQ(must("100E").value(), 0);
  EXPECT_EQ(must("100E").scaled_value_saturated(0), max);
  EXPECT_EQ(must("-100E").scaled_value_saturated(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(must("-0.0000000001").scaled_value_saturated(0), -1);
  EXPECT_EQ(Quantity::of(std::numeric_limits<std::int64_t>::min()).scaled_value_saturated(0),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Quantity, TheLowestInt64KeepsItsValue) {
  const Quantity lowest = Quantity::of(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((-lowest).canonical(), "9223372036854775808");
  EXPECT_EQ((Quantity::of(1) - lowest).canonical(), "9223372036854775809");
  EXPECT_EQ((lowest + lowest).canonical(), "-18446744073709551616");
}

TEST(Quantity, JsonTakesNumbersAndBlanksButNothingElse) {
  EXPECT_EQ(Quantity::from_json(Json(" 1Gi "))->canonical(), "1Gi");
  EXPECT_EQ(Quantity::from_json(Json(1500))->canonical(), "1500");
  EXPECT_EQ(Quantity::from_json(Json(1.5))->canonical(), "1500m");
  EXPECT_EQ(Quantity::from_json(Json())->canonical(), "0");
  EXPECT_FALSE(Quantity::from_json(Json(true)).has_value());
  EXPECT_FALSE(Quantity::from_json(Json::array()).has_value());
  EXPECT_EQ(Quantity::from_json_text("\"12k\"")->canonical(), "12k");
  EXPECT_EQ(Quantity::from_json_text("2.50")->canonical(), "2500m");
  EXPECT_EQ(Quantity::from_json_text("null")->canonical(), "0");
  EXPECT_FALSE(Quantity::from_json_text("true").has_value());
  EXPECT_FALSE(Quantity::from_json_text("\"").has_value());
}

}  // namespace
}  // namespace tidemark::model
