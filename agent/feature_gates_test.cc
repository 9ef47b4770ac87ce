#include "agent/feature_gates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidemark::agent {
namespace {

using model::Strategy;
using policy::evict::EvictFeature;
using Words = std::vector<std::string>;

// Contract 7.1: suppression, limits and priorities are on, evictions off.
TEST(AgentFeatureGates, DefaultsAreKoordinators) {
  const FeatureGates gates;
  EXPECT_EQ(gates.evictions(), policy::evict::EvictSwitches());
  for (const Strategy each : model::kStrategies) {
    EXPECT_EQ(gates.lets(each), each != Strategy::kOomOrder) << to_string(each) << ": the peer has no such order";
  }
}

TEST(AgentFeatureGates, SwitchEvictionsOnAndStrategiesOff) {
  const auto gates = parse_feature_gates(Words{"BEMemoryEvict=true", "CPUEvict=T", "BECPUSuppress=false"});
  ASSERT_TRUE(gates) << gates.error().message;
  EXPECT_TRUE(gates->evictions().has(EvictFeature::kBeMemory));
  EXPECT_TRUE(gates->evictions().has(EvictFeature::kCpu));
  EXPECT_FALSE(gates->evictions().has(EvictFeature::kBeCpu));
  EXPECT_FALSE(gates->lets(Strategy::kCpuSuppress));
  EXPECT_TRUE(gates->lets(Strategy::kBatchLimits));
}

TEST(AgentFeatureGates, ReportsUnknownGates) {
  EXPECT_EQ(parse_feature_gates(Words{"CgroupReconcile=true", "BECPUEvit=true"})->without_effect(),
            (Words{"no feature gate BECPUEvit is known here; did you mean BECPUEvict?",
                   "what the feature gate CgroupReconcile switches is not here"}));
}

}  // namespace
}  // namespace tidemark::agent
