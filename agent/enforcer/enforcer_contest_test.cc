// A second writer of the same files: repaired, left to that writer, and restored to the value that it wanted.
#include <gtest/gtest.h>

#include <vector>

#include "agent/testing/enforced_groups.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using linux::File;
using model::Reason;
using testing::Where;

class EnforcerContest : public testing::EnforcedGroups {};
INSTANTIATE_TEST_SUITE_P(Enforcer, EnforcerContest, ::testing::Values(Where::kV1, Where::kV2, Where::kMachine),
                         testing::name_of);

TEST_P(EnforcerContest, ContestedFileIsRepairedThenLeftToOtherWriter) {
  start();
  const auto wanted = std::vector{quota_of("be", 120'000)};
  carry_out(wanted);
  for (int times = 1; times <= 2; ++times) {
    foreign("be", File::kCpuQuota, "50000");
    clock.advance(kLookInterval);
    EXPECT_TRUE(told(carry_out(wanted), Reason::kAgentRepaired)) << times;
    EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  }
  foreign("be", File::kCpuQuota, "50000");
  clock.advance(kLookInterval);
  EXPECT_TRUE(told(carry_out(wanted), Reason::kAgentStandsBack));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
  for (int i = 0; i < 30; ++i) {
    clock.advance(kLookInterval);
    EXPECT_EQ(carry_out(wanted).left, 1);
  }
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
  EXPECT_EQ(enforcer->state_of(wanted[0]), LimitState::kLeft);
  clock.advance(10min);
  carry_out(wanted);
  EXPECT_EQ(enforcer->state_of(wanted[0]), LimitState::kInForce);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000")) << "he was silent for ten minutes";
}

// As the kubelet has systemd do it with its own groups, when it sets their shares each minute.
TEST_P(EnforcerContest, OccasionalResetIsNoContest) {
  start();
  const auto wanted = std::vector{quota_of("be", 120'000)};
  carry_out(wanted);
  for (int minute = 0; minute < 20; ++minute) {
    foreign("be", File::kCpuQuota, v2() ? "max" : "-1");
    clock.advance(1min);
    const Enforced& enforced = carry_out(wanted);
    ASSERT_TRUE(told(enforced, Reason::kAgentRepaired)) << minute;
    ASSERT_EQ(enforced.left, 0) << minute;
    ASSERT_EQ(value("be", File::kCpuQuota), quota("120000")) << minute;
  }
  // Another value counts as a second writer, although the resets before it did not.
  for (int minute = 0; minute < 3; ++minute) {
    foreign("be", File::kCpuQuota, "50000");
    clock.advance(1min);
    carry_out(wanted);
  }
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
}

// As a kubelet has it done with each pod that it makes, and it may make many.
TEST_P(EnforcerContest, FrequentSystemdResetIsNoContest) {
  make("be.slice");
  start();
  const auto wanted = std::vector{quota_of("be.slice", 120'000)};
  carry_out(wanted);
  for (int times = 0; times < 100; ++times) {
    foreign("be.slice", File::kCpuQuota, v2() ? "max" : "-1");
    clock.advance(kLookInterval);
    ASSERT_EQ(carry_out(wanted).left, 0) << times;
    ASSERT_EQ(value("be.slice", File::kCpuQuota), quota("120000")) << times;
  }
  for (int times = 0; times < 3; ++times) {  // a property that an operator set counts
    foreign("be.slice", File::kCpuQuota, "50000");
    clock.advance(kLookInterval);
    carry_out(wanted);
  }
  EXPECT_EQ(value("be.slice", File::kCpuQuota), quota("50000"));
}

TEST_P(EnforcerContest, ReportedChangeIsCheckedAtOnce) {
  start();
  const auto wanted = std::vector{quota_of("be", 120'000)};
  carry_out(wanted);
  foreign("be", File::kCpuQuota, v2() ? "max" : "-1");
  clock.advance(1s);
  enforcer->saw(path("be"), File::kCpuQuota, 120'000);
  EXPECT_TRUE(carry_out(wanted).deeds.empty());
  enforcer->saw(path("be"), File::kCpuQuota, -1);
  carry_out(wanted);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
}

// An order `off` limits offline work even in a file that is left to a second writer.
TEST_P(EnforcerContest, OrderTightensFileLeftToOtherWriter) {
  start();
  leave_quota_to_another("50000");
  const auto least = std::vector{quota_of("be", 2'000)};
  EXPECT_EQ(carry_out_off(least).left, 0);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("2000")) << "at once, not at the next look";
  foreign("be", File::kCpuQuota, "70000");
  carry_out_off(least);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("70000")) << "once a second at most";
  clock.advance(kNarrowAgain);
  carry_out_off(least);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("2000"));
  foreign("be", File::kCpuQuota, "1000");
  for (int second = 0; second < 20; ++second) {
    clock.advance(1s);
    EXPECT_EQ(carry_out_off(least).left, 1);
  }
  EXPECT_EQ(value("be", File::kCpuQuota), quota("1000")) << "narrower is no matter";
}

TEST_P(EnforcerContest, AfterOrderFileIsOursUntilOtherWriterReturns) {
  start();
  leave_quota_to_another("50000");
  const auto wanted = std::vector{quota_of("be", 120'000)};
  carry_out_off({quota_of("be", 2'000)});
  EXPECT_EQ(carry_out(wanted).left, 0);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000")) << "no group is kept at the least";
  foreign("be", File::kCpuQuota, "60000");
  clock.advance(kLookInterval);
  EXPECT_EQ(carry_out(wanted).left, 1);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("60000"));
}

TEST_P(EnforcerContest, AfterOrderRestoresOtherWritersValue) {
  start();
  leave_quota_to_another("50000");
  carry_out_off({quota_of("be", 2'000)});
  start();
  carry_out_off({quota_of("be", 2'000)});
  ASSERT_EQ(value("be", File::kCpuQuota), quota("2000"));
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
  EXPECT_TRUE(journal->files().empty());
}

TEST_P(EnforcerContest, RestoresLastValueOfOtherWriter) {
  start();
  carry_out({quota_of("be", 120'000)});
  foreign("be", File::kCpuQuota, "50000");
  clock.advance(kLookInterval);
  carry_out({quota_of("be", 120'000)});
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
}

TEST_P(EnforcerContest, DoesNotRestoreFileChangedByOtherWriter) {
  start();
  carry_out({quota_of("be", 120'000)});
  foreign("be", File::kCpuQuota, "50000");
  EXPECT_TRUE(told(carry_out({}), Reason::kAgentNotOurs));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("50000"));
  EXPECT_TRUE(journal->files().empty());
}

}  // namespace
}  // namespace tidemark::agent
