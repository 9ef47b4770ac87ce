#include "agent/protect/line_ends.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/clock.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

TEST(LineEnds, ARaisedLineEndsByItselfAndIsToldWhenAManagerWouldLongHaveWritten) {
  base::testing::Clock clock;
  base::Registry metrics;
  std::string log_lines;
  LineEnds lines(base::Log(clock, {.write = [&](std::string_view line) { log_lines += line; }}), metrics);
  const auto& ended = metrics.gauge("tidemark_agent_lines_ended", "");
  const auto suppress = [&] { return lines.rules().threshold.cpu_suppress_percent; };

  policy::NodeRules night;
  night.threshold.cpu_suppress_percent = 85;
  night.line_caps = {{clock.wall() + 1h, {{"cpuSuppressThresholdPercent", 65}}}};
  lines.use(night, clock.wall());
  EXPECT_EQ(suppress(), 85);
  clock.advance(1h - 1s);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_EQ(ended.value(), 0);

  clock.advance(1s);
  EXPECT_TRUE(lines.look(clock.wall())) << "its end";
  EXPECT_EQ(suppress(), 65);
  EXPECT_EQ(ended.value(), 1);
  EXPECT_EQ(lines.says(), "") << "a manager may be about to write it";
  EXPECT_FALSE(lines.look(clock.wall())) << "once";

  clock.advance(kManagerPatience);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_TRUE(lines.says().starts_with("cpuSuppressThresholdPercent 85 % -> 65 %, since ")) << lines.says();
  EXPECT_NE(log_lines.find("no manager has written so"), std::string::npos) << log_lines;

  // Somebody else writes something else into the NodeSLO: told already.
  const std::string told = log_lines;
  night.threshold.memory_evict_percent = 60;
  lines.use(night, clock.wall());
  lines.look(clock.wall());
  EXPECT_EQ(suppress(), 65);
  EXPECT_EQ(log_lines, told);

  // A manager is back, and writes what holds already.
  policy::NodeRules day = night;
  day.threshold.cpu_suppress_percent = 65;
  day.line_caps.clear();
  lines.use(day, clock.wall());
  EXPECT_EQ(suppress(), 65);
  EXPECT_EQ(ended.value(), 0);
  EXPECT_EQ(lines.says(), "");
}

// An agent that begins after the end, by what it kept of its NodeSLO.
TEST(LineEnds, WhatIsOverAtTheStartDoesNotHoldForAMoment) {
  base::testing::Clock clock;
  base::Registry metrics;
  LineEnds lines(base::Log(clock, {}), metrics);
  policy::NodeRules night;
  night.threshold.cpu_suppress_percent = 85;
  night.line_caps = {{clock.wall() + -1h, {{"cpuSuppressThresholdPercent", 65}}}};
  lines.use(night, clock.wall());
  EXPECT_EQ(lines.rules().threshold.cpu_suppress_percent, 65);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_NE(lines.says(), "");
}

}  // namespace
}  // namespace tidemark::agent
