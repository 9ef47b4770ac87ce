#include "agent/protect/limit_permit.h"

#include <gtest/gtest.h>

namespace tidemark::agent {
namespace {

using copilot::LimitPermit;
using policy::state::Permit;

policy::state::AgentPermits with(Permit limits, bool off = false) {
  policy::state::AgentPermits out;
  out.off = off;
  out.permits.fill(Permit::kEnforce);
  out.permits[static_cast<std::size_t>(model::Strategy::kBatchLimits)] = limits;
  return out;
}

TEST(LimitPermitOfTheAgent, IsPermitOfOwnLimits) {
  EXPECT_EQ(limit_permit(with(Permit::kKeep)), LimitPermit::kKeep);
  EXPECT_EQ(limit_permit(with(Permit::kTighten)), LimitPermit::kEnforce);
  EXPECT_EQ(limit_permit(with(Permit::kEnforce)), LimitPermit::kEnforce);
  EXPECT_EQ(limit_permit(with(Permit::kRestore)), LimitPermit::kRestore);
}

TEST(LimitPermitOfTheAgent, OffOverridesSettings) {
  // Before it is known what runs here each permit of an off node is to keep: the copilot knows what it runs.
  for (const Permit each : {Permit::kKeep, Permit::kEnforce, Permit::kRestore}) {
    EXPECT_EQ(limit_permit(with(each, true)), LimitPermit::kOff);
  }
}

}  // namespace
}  // namespace tidemark::agent
