// What an order to end begins, and when it lets go: who is held without being listed, and what was only observed
// before.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/testing/guarded_node.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {
namespace {

class ProtectOff : public testing::GuardedNode {};

constexpr std::string_view kQuota80 =
    R"("enable":true,"cpuSuppressPolicy":"cfsQuota","cpuSuppressThresholdPercent":80)";

// A copilot that is silent, or not there yet: its containers are listed no more, and run.
TEST_F(ProtectOff, OffHoldsWhoIsNotListedAndRuns) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"off")");
  const std::string container = "kubepods/besteffort/hadoop-yarn/container_1";
  make_group("kubepods/besteffort/hadoop-yarn");
  make_group(container);
  runs_in(container, "4711\n");
  end("job");
  seconds(200);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  start();
  say_all(kQuota80);
  say_node(R"("tidemark.io/state":"off")");
  seconds(2);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "nor does an agent that begins anew loosen it";
  runs_in(container, "0\n");
  seconds(4);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "in a pid namespace that this agent does not see";
  runs_in(container, "");
  seconds(4);
  EXPECT_EQ(quota(), -1);
}

// Nothing is killed by off: a pod that uses more memory than its limit would be, where no limit was in force.
TEST_F(ProtectOff, OffHoldsProcessorsWhereAllWasOnlyObserved) {
  mode = policy::Mode::kObserve;
  start();
  say_all(kQuota80);
  seconds(2);
  const std::string limit = base::cat("memory/", pods.at("job").path, "/memory.limit_in_bytes");
  const std::string before = value(limit);
  ASSERT_NE(before, base::cat(64 << 20));
  ASSERT_EQ(quota(), -1);
  say_node(R"("tidemark.io/state":"off")");
  seconds(2);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  EXPECT_EQ(value(limit), before);
  say_node();
  seconds(2);
  EXPECT_EQ(quota(), -1);
}

}  // namespace
}  // namespace tidemark::agent
