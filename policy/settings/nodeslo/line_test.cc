#include "policy/settings/nodeslo/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::policy::settings {
namespace {

using model::Reason;

model::LinePlan line(std::int64_t base, std::int64_t hold, model::LinePhase phase = model::LinePhase::kOpen) {
  model::LineTerms terms;
  terms.base = base;
  terms.hold = hold;
  terms.sell = hold;
  terms.phase = phase;
  return {terms, terms, std::nullopt};
}

base::JsonObject strategy(std::string_view text) {
  return Json::parse(text)->as_object();
}

// "field configured>moved id".
std::string told(std::string_view text, SloShift shift) {
  std::string out;
  for (const auto& each : moved_lines(strategy(text), shift)) {
    out += base::cat(out.empty() ? "" : "; ", each.field, " ", each.configured, ">", each.moved, " ",
                     model::reason_id(each.reason));
  }
  return out;
}

TEST(SloLine, TheShiftIsHoldLessBase) {
  EXPECT_EQ(slo_shift(line(60, 80)), (SloShift{20, 20}));
  EXPECT_EQ(slo_shift(line(60, 40, model::LinePhase::kFrozen)), (SloShift{-20, -20}));
  EXPECT_EQ(slo_shift(line(60, 60, model::LinePhase::kBase)), (SloShift{0, 0}));
  EXPECT_EQ(slo_shift(line(150, 80)), (SloShift{-20, -20})) << "a base above 100 counts as 100";
}

TEST(SloLine, ARampGoesInStepsTheLowerOneEach) {
  EXPECT_EQ(slo_shift(line(60, 64, model::LinePhase::kRampingUp)).cpu, 0);
  EXPECT_EQ(slo_shift(line(60, 69, model::LinePhase::kRampingDown)).cpu, 5);
  EXPECT_EQ(slo_shift(line(60, 70, model::LinePhase::kRampingUp)).cpu, 10);
  EXPECT_EQ(slo_shift(line(60, 59, model::LinePhase::kRampingDown)).cpu, -5);
  EXPECT_EQ(slo_shift(line(60, 55, model::LinePhase::kRampingUp)).cpu, -5);
  EXPECT_EQ(slo_shift(line(60, 78, model::LinePhase::kOpen)).cpu, 18) << "where it stands it is exact";
}

TEST(SloLine, MovesOnlyConfiguredThresholds) {
  EXPECT_EQ(
      told(
          R"({"cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":70,"cpuEvictBEUsageThresholdPercent":90})",
          {20, -10}),
      "cpuSuppressThresholdPercent 65>85 TM-SLO-003; memoryEvictThresholdPercent 70>60 TM-SLO-003");
  EXPECT_EQ(told("{}", {20, 20}), "");
  EXPECT_EQ(told(R"({"cpuSuppressThresholdPercent":65})", {0, 20}), "cpuSuppressThresholdPercent 65>65 TM-SLO-005");
}

TEST(SloLine, BoundsHoldAndTheLowerEndGoesAsFarAsItsThreshold) {
  EXPECT_EQ(told(R"({"cpuSuppressThresholdPercent":90})", {20, 0}), "cpuSuppressThresholdPercent 90>100 TM-SLO-004");
  EXPECT_EQ(told(R"({"memoryEvictThresholdPercent":85,"memoryEvictLowerPercent":80})", {0, 20}),
            "memoryEvictThresholdPercent 85>95 TM-SLO-004; memoryEvictLowerPercent 80>90 TM-SLO-004");
  EXPECT_EQ(told(R"({"memoryEvictThresholdPercent":98,"memoryEvictLowerPercent":96})", {0, 5}),
            "memoryEvictThresholdPercent 98>98 TM-SLO-004; memoryEvictLowerPercent 96>96 TM-SLO-004")
      << "above the bound by the operator's own word: it stays";
  EXPECT_EQ(told(R"({"cpuEvictThresholdPercent":30,"cpuEvictLowerPercent":20})", {-40, 0}),
            "cpuEvictThresholdPercent 30>1 TM-SLO-004; cpuEvictLowerPercent 20>0 TM-SLO-004");
  EXPECT_EQ(told(R"({"cpuSuppressThresholdPercent":120})", {-40, 0}), "cpuSuppressThresholdPercent 120>120 TM-SLO-005")
      << "the API server refuses it, as it stands";
}

TEST(SloLine, EveryLineStaysInRangeAboveItsLowerEndAndMonotoneInTheShift) {
  for (std::int64_t threshold = 0; threshold <= 100; threshold += 5) {
    for (std::int64_t lower = 0; lower < threshold; lower += 7) {
      std::int64_t before = -1;
      for (std::int64_t shift = -100; shift <= 100; shift += 5) {
        const auto lines = moved_lines(strategy(base::cat(R"({"memoryEvictThresholdPercent":)", threshold,
                                                          R"(,"memoryEvictLowerPercent":)", lower, "}")),
                                       {0, shift});
        ASSERT_EQ(lines.size(), 2u);
        EXPECT_GE(lines[0].moved, before);
        EXPECT_GE(lines[0].moved, std::min(threshold, kSloLineMin));
        EXPECT_LE(lines[0].moved, 100);
        EXPECT_GE(lines[1].moved, 0);
        EXPECT_LT(lines[1].moved, lines[0].moved) << threshold << " " << lower << " " << shift;
        before = lines[0].moved;
      }
    }
  }
}

TEST(SloLine, SpecHasTheMovedThresholdOnlyWithACalendar) {
  const auto part = [](std::optional<SloShift> shift) {
    return slo_for(SloConfig(), {}, std::nullopt, shift).parts[0];
  };
  EXPECT_EQ(part(std::nullopt).note, std::nullopt);
  EXPECT_EQ(part(SloShift{}).text, part(std::nullopt).text);
  EXPECT_EQ(part(SloShift{}).note, Reason::kSloLineBase);
  const auto night = part(SloShift{20, 40});
  EXPECT_EQ(night.note, Reason::kSloLineAtBound);
  EXPECT_EQ(night.text, R"({"enable":false,"cpuSuppressThresholdPercent":85,"cpuSuppressPolicy":"cpuset",)"
                        R"("memoryEvictThresholdPercent":95,"cpuEvictPolicy":"evictByRealLimit"})");
}

}  // namespace
}  // namespace tidemark::policy::settings
