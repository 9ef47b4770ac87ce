#include "agent/record/last_action.h"

#include <gtest/gtest.h>

namespace tidemark::agent {
namespace {

TEST(LastAction, IsTheLastActionWithEffect) {
  const base::MonotonicTime begin{std::chrono::hours(1)};
  LastAction last;
  EXPECT_EQ(last.text(begin), "none since its start");
  model::AuditLine line;
  line.verb = "write";
  line.name = "kubepods/besteffort";
  line.part = "cpu.cfs_quota_us";
  line.new_value = "\"2000\"";
  line.reason = "TM-SUPPRESS-003";
  last.take(line, begin);
  line.outcome = model::AuditOutcome::kRefused;
  line.new_value = "\"3000\"";
  last.take(line, begin + std::chrono::seconds(5));
  EXPECT_EQ(last.text(begin + std::chrono::seconds(12)),
            "write kubepods/besteffort cpu.cfs_quota_us \"2000\" [TM-SUPPRESS-003], 12 s before");
  model::AuditLine kill;
  kill.verb = "kill";
  kill.ns = "default";
  kill.name = "job";
  kill.outcome = model::AuditOutcome::kUnknown;
  last.take(kill, begin + std::chrono::seconds(20));
  EXPECT_EQ(last.text(begin + std::chrono::seconds(20)), "kill default/job, 0 s before") << "it may have happened";
}

}  // namespace
}  // namespace tidemark::agent
