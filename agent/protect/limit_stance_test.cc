#include "agent/protect/limit_stance.h"

#include <gtest/gtest.h>

namespace tidemark::agent {
namespace {

using copilot::LimitStance;
using policy::state::Permit;

policy::state::AgentPermits with(Permit limits, bool off = false) {
  policy::state::AgentPermits out;
  out.off = off;
  out.permits.fill(Permit::kEnforce);
  out.permits[static_cast<std::size_t>(model::Strategy::kBatchLimits)] = limits;
  return out;
}

TEST(LimitStanceOfTheAgent, IsPermitOfOwnLimits) {
  EXPECT_EQ(limit_stance(with(Permit::kKeep)), LimitStance::kKeep);
  EXPECT_EQ(limit_stance(with(Permit::kTighten)), LimitStance::kEnforce);
  EXPECT_EQ(limit_stance(with(Permit::kEnforce)), LimitStance::kEnforce);
  EXPECT_EQ(limit_stance(with(Permit::kPutBack)), LimitStance::kObserve);
}

TEST(LimitStanceOfTheAgent, OffOverridesSettings) {
  // Before it is known what runs here each permit of an off node is to keep: the copilot knows what it runs.
  for (const Permit each : {Permit::kKeep, Permit::kEnforce, Permit::kPutBack}) {
    EXPECT_EQ(limit_stance(with(each, true)), LimitStance::kOff);
  }
}

}  // namespace
}  // namespace tidemark::agent
