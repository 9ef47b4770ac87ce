#include "agent/evict/evict_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/clock.h"

namespace tidemark::agent {
namespace {

TEST(EvictLines, LateThresholdIsLoweredAndReportedOnce) {
  base::testing::Clock clock;
  std::string lines;
  const base::Log log(clock, {.write = [&](std::string_view line) { lines += line; }});
  EvictLines evict(log);
  policy::protect::NodeRules said;
  said.threshold.enable = true;
  said.threshold.memory_evict_percent = 95;
  policy::evict::KubeletFound kubelet;
  kubelet.hard.memory_available = policy::evict::EvictionThreshold{0, 10'000};
  const auto line = [&](const policy::evict::KubeletFound* by) {
    return evict.hold(said, by, model::MemoryBytes{1 << 30}, {}).threshold.memory_evict_percent;
  };
  EXPECT_EQ(line(nullptr), 95) << "it never said";
  EXPECT_EQ(line(&kubelet), 85);
  EXPECT_EQ(evict.says(), "memory 95 % -> 85 %, since the kubelet evicts from 90 % on");
  const std::string told = lines;
  EXPECT_NE(told.find("TM-EVICT-024"), std::string::npos) << told;
  EXPECT_EQ(line(&kubelet), 85);
  EXPECT_EQ(lines, told);
  said.threshold.memory_evict_percent = 80;
  EXPECT_EQ(line(&kubelet), 80);
  EXPECT_EQ(evict.says(), "");
}

}  // namespace
}  // namespace tidemark::agent
