#include "agent/protect/line_ends.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

TEST(LineEnds, RaisedThresholdEndsAndIsReportedLater) {
  base::testing::Clock clock;
  base::Registry metrics;
  std::string log_lines;
  LineEnds lines(base::Log(clock, {.write = [&](std::string_view line) { log_lines += line; }}), metrics, 0s);
  const auto& ended = metrics.gauge("tidemark_agent_lines_ended", "");
  const auto suppress = [&] { return lines.rules().threshold.cpu_suppress_percent; };

  policy::protect::NodeRules night;
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

  clock.advance(policy::settings::kManagerPatience);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_TRUE(lines.says().starts_with("cpuSuppressThresholdPercent 85 % -> 65 %, since ")) << lines.says();
  EXPECT_NE(log_lines.find("the NodeSLO still has them"), std::string::npos) << log_lines;

  // Another change of the NodeSLO does not repeat the log line.
  const std::string told = log_lines;
  night.threshold.memory_evict_percent = 60;
  lines.use(night, clock.wall());
  lines.look(clock.wall());
  EXPECT_EQ(suppress(), 65);
  EXPECT_EQ(log_lines, told);

  // A manager is back, and writes what holds already.
  policy::protect::NodeRules day = night;
  day.threshold.cpu_suppress_percent = 65;
  day.line_caps.clear();
  lines.use(day, clock.wall());
  EXPECT_EQ(suppress(), 65);
  EXPECT_EQ(ended.value(), 0);
  EXPECT_EQ(lines.says(), "");
}

// An agent that begins after the end, by what it kept of its NodeSLO.
TEST(LineEnds, EndedThresholdNeverAppliesAfterStart) {
  base::testing::Clock clock;
  base::Registry metrics;
  LineEnds lines(base::Log(clock, {}), metrics, 0s);
  policy::protect::NodeRules night;
  night.threshold.cpu_suppress_percent = 85;
  night.line_caps = {{clock.wall() + -1h, {{"cpuSuppressThresholdPercent", 65}}}};
  lines.use(night, clock.wall());
  EXPECT_EQ(lines.rules().threshold.cpu_suppress_percent, 65);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_NE(lines.says(), "");
}

TEST(LineEnds, NodesLowerThresholdsOneAfterTheOther) {
  std::set<base::Duration> moments;
  for (int i = 0; i < 1000; ++i) {
    const base::Duration moment = own_moment(base::cat("node-", i), 10min);
    EXPECT_GE(moment, 0s);
    EXPECT_LT(moment, 10min);
    moments.insert(moment);
  }
  EXPECT_GT(moments.size(), 300U) << "of six hundred seconds";
  EXPECT_EQ(own_moment("node-1", 10min), own_moment("node-1", 10min));
  EXPECT_EQ(own_moment("node-1", 0s), 0s);

  base::testing::Clock clock;
  base::Registry metrics;
  LineEnds lines(base::Log(clock, {}), metrics, 2min);
  policy::protect::NodeRules night;
  night.threshold.cpu_suppress_percent = 85;
  night.line_caps = {{clock.wall() + 1h, {{"cpuSuppressThresholdPercent", 65}}}};
  lines.use(night, clock.wall());
  clock.advance(1h + 2min - 1s);
  EXPECT_FALSE(lines.look(clock.wall()));
  EXPECT_EQ(lines.rules().threshold.cpu_suppress_percent, 85);
  clock.advance(1s);
  EXPECT_TRUE(lines.look(clock.wall()));
  EXPECT_EQ(lines.rules().threshold.cpu_suppress_percent, 65);
}

}  // namespace
}  // namespace tidemark::agent
