#include "policy/settings/nodeslo/lines_held.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::policy::settings {
namespace {

using namespace std::chrono_literals;

const base::WallTime kSix = *base::parse_rfc3339("2026-11-22T06:00:00Z");

protect::NodeRules said(std::string_view threshold, std::string_view lines) {
  auto step =
      next_node_rules({}, base::cat(R"({"resourceUsedThresholdWithBE":{)", threshold,
                                    R"(},"extensions":{"Object":{"tidemark":{"schema":1,"lines":)", lines, "}}}}"));
  EXPECT_TRUE(step.problems.empty());
  return std::move(step.rules);
}

constexpr std::string_view kNight = R"("cpuSuppressThresholdPercent":85,"memoryEvictThresholdPercent":80)";
constexpr std::string_view kUntilSix =
    R"([{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":65,"cpuEvictThresholdPercent":60,"aNewLine":1}])";

TEST(LinesHeld, RaisedThresholdAppliesUntilItsEndThenTheLowerOne) {
  const protect::NodeRules night = said(kNight, kUntilSix);
  const LinesHeld before = lines_held(night, kSix + -1s);
  EXPECT_EQ(before.rules, night);
  EXPECT_TRUE(before.lowered.empty());
  const LinesHeld after = lines_held(night, kSix);
  EXPECT_EQ(after.rules.threshold.cpu_suppress_percent, 65);
  EXPECT_EQ(after.rules.threshold.memory_evict_percent, 80) << "nothing is told of it";
  EXPECT_EQ(after.rules.threshold.cpu_evict_percent, std::nullopt) << "it is unset";
  EXPECT_EQ(after.lowered, (std::vector<LoweredLine>{{"cpuSuppressThresholdPercent", 85, 65}}));
  EXPECT_EQ(after.since, kSix);
}

// The manager is back, and writes the same by its own.
TEST(LinesHeld, DoesNotLowerIfTheNodeSloMatches) {
  const protect::NodeRules day =
      said(R"("cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":80)", kUntilSix);
  EXPECT_TRUE(lines_held(day, kSix + 1h).lowered.empty());
  const protect::NodeRules lower = said(R"("cpuSuppressThresholdPercent":50)", kUntilSix);
  EXPECT_EQ(lines_held(lower, kSix + 1h).rules.threshold.cpu_suppress_percent, 50);
}

TEST(LinesHeld, AppliesSeveralEndsInOrder) {
  const protect::NodeRules night = said(kNight, R"([{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":75},
      {"from":"2026-11-22T08:00:00Z","cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":70}])");
  const auto at = [&](base::WallTime now) {
    const LinesHeld held = lines_held(night, now);
    return base::cat(ends_passed(night, now), ": ", held.rules.threshold.cpu_suppress_percent, "/",
                     held.rules.threshold.memory_evict_percent);
  };
  EXPECT_EQ(at(kSix + -1min), "0: 85/80");
  EXPECT_EQ(at(kSix + 1min), "1: 75/80");
  EXPECT_EQ(at(kSix + 2h), "2: 65/70");
}

TEST(LinesHeld, UnreadableEndLowersNothing) {
  const protect::NodeRules night = said(kNight, kUntilSix);
  const auto step = next_node_rules(night, R"({"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":85},
      "extensions":{"Object":{"tidemark":{"schema":1,"lines":[{"from":"soon"}]}}}})");
  ASSERT_EQ(step.problems.size(), 1U);
  EXPECT_EQ(step.problems[0], (RulesProblem{"extensions.Object.tidemark", "lines[0]: from: wanted a time"}));
  EXPECT_EQ(lines_held(step.rules, kSix).rules.threshold.cpu_suppress_percent, 65);
  EXPECT_TRUE(next_node_rules(night, R"({"extensions":{}})").rules.line_caps.empty()) << "a peer's manager says none";
}

}  // namespace
}  // namespace tidemark::policy::settings
