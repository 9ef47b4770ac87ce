#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/json.h"
#include "base/text.h"
#include "policy/sell/overcommit/amplification.h"
#include "policy/sell/overcommit/normalization.h"

namespace tidemark::policy::sell {
namespace {

TEST(RatioText, HasTwoDecimalsAndReadsBackAsTheSameDouble) {
  EXPECT_EQ(ratio_text(100), "1.00");
  EXPECT_EQ(ratio_text(105), "1.05");
  EXPECT_EQ(ratio_text(125), "1.25");
  EXPECT_EQ(ratio_text(500), "5.00");
  for (std::int64_t percent = kRatioPercentMin; percent <= kRatioPercentMax; ++percent) {
    // Batch is multiplied by the hundredths as a double; the peer reads the text back.
    EXPECT_EQ(parse_ratio(ratio_text(percent)), static_cast<double>(percent) / 100) << percent;
  }
}

TEST(RatioText, OnlyANumberAboveNothingIsARatio) {
  for (const char* text : {"", "x", "0", "-1", "nan", "inf", "1.5 ", "1,5", "1e999"}) {
    EXPECT_EQ(parse_ratio(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_ratio("0.5"), 0.5);
}

TEST(NormalizationSwitchLabel, AcceptsTheBooleansOfGo) {
  using Switch = NormalizationSwitch;
  EXPECT_EQ(parse_normalization_switch(std::nullopt), Switch::kAsSettingsSay);
  for (const char* text : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_EQ(parse_normalization_switch(text), Switch::kOn) << text;
  }
  for (const char* text : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_EQ(parse_normalization_switch(text), Switch::kOff) << text;
  }
  for (const char* text : {"", "yes", "tRUE", "on", "2"}) {
    EXPECT_EQ(parse_normalization_switch(text), Switch::kUnreadable) << text;
  }
}

TEST(NormalizationProperty, RatioIsInRangeOrAbsent) {
  std::mt19937_64 random(31);
  model::TopologyView topology;
  topology.cpu.emplace();
  for (int i = 0; i < 20'000; ++i) {
    NormalizationSettings settings;
    settings.enable = true;
    settings.default_ratio = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 8) - 54);
    const auto plan = normalization({&settings, NormalizationSwitch::kAsSettingsSay, &topology, "1.50"},
                                    model::Profile::kKoordinator);
    const double ratio = *settings.default_ratio;
    ASSERT_EQ(plan.ratio_percent.has_value(), ratio >= 1 && ratio <= 5) << ratio;
    if (!plan.ratio_percent) continue;
    EXPECT_GE(*plan.ratio_percent, kRatioPercentMin);
    EXPECT_LE(*plan.ratio_percent, kRatioPercentMax);
    EXPECT_LE(std::abs(static_cast<double>(*plan.ratio_percent) / 100 - ratio), 0.005 + 1e-12) << ratio;
  }
}

TEST(NormalizationSafe, KeepsTheNodesRatioOnlyIfValid) {
  for (const auto& [text, kept] :
       {std::pair("1.37", 137), {"5.00", 500}, {"1.00", 100}, {"5.01", 0}, {"0.9", 0}, {"rubbish", 0}}) {
    const auto plan = normalization({nullptr, NormalizationSwitch::kAsSettingsSay, nullptr, std::string_view(text)},
                                    model::Profile::kTidemark);
    EXPECT_EQ(plan.ratio_percent.value_or(0), kept) << text;
    EXPECT_FALSE(plan.annotate) << text;
  }
}

TEST(AmplificationProperty, TheTextIsJsonOfRatiosOfOneAndAbove) {
  std::mt19937_64 random(32);
  for (int i = 0; i < 5'000; ++i) {
    AmplificationSettings settings;
    settings.enable = random() % 4 != 0;
    for (auto n = random() % 4; n > 0; --n) {
      settings.ratios[n == 1 ? "cpu" : base::cat("r", n, "\"<")] = static_cast<double>(random() % 4'000) / 1'000;
    }
    const std::string ratio = ratio_text(static_cast<std::int64_t>(random() % 600));
    const auto plan =
        amplification({&settings, random() % 3 == 0 ? std::nullopt : std::optional<std::string_view>(ratio)},
                      model::Profile::kKoordinator);
    EXPECT_EQ(plan.action == AnnotationAction::kSet, !plan.text.empty());
    if (plan.text.empty()) continue;
    const auto json = Json::parse(plan.text);
    ASSERT_TRUE(json && json->is_object()) << plan.text;
    EXPECT_FALSE(json->as_object().empty());
    for (const auto& [resource, value] : json->as_object()) EXPECT_GE(value.as_double(), 1) << resource;
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
