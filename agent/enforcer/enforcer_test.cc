// What stands in the files afterwards, on folders that keep a kernel's rules and on the kernel of this machine.
#include "agent/enforcer/enforcer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/testing/enforced_groups.h"
#include "base/random.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using linux::File;
using model::Reason;
using model::Strategy;
using policy::protect::KnobWrite;
using testing::all;
using testing::Where;

// Dies at the n-th write, as a process that is killed does: nothing after it happens.
struct Killed {};
class KilledWriter final : public linux::GroupWriter {
 public:
  KilledWriter(linux::GroupWriter& writer, int after) : writer_(writer), left_(after) {}
  Result<std::optional<std::size_t>> put(const linux::Group& group, File file, std::string_view text) override {
    if (left_-- == 0) throw Killed();
    return writer_.put(group, file, text);
  }

 private:
  linux::GroupWriter& writer_;
  int left_;
};

class CountingWriter final : public linux::GroupWriter {
 public:
  explicit CountingWriter(linux::GroupWriter& writer) : writer_(writer) {}
  Result<std::optional<std::size_t>> put(const linux::Group& group, File file, std::string_view text) override {
    ++puts;
    return writer_.put(group, file, text);
  }
  int puts = 0;

 private:
  linux::GroupWriter& writer_;
};

// No file of this process grows beyond it, as on a filesystem that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) : ignored_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{static_cast<rlim_t>(bytes), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, ignored_);
  }

 private:
  rlimit before_{};
  void (*ignored_)(int);
};

class EnforcerOn : public testing::EnforcedGroups {};
INSTANTIATE_TEST_SUITE_P(Enforcer, EnforcerOn, ::testing::Values(Where::kV1, Where::kV2, Where::kMachine),
                         testing::name_of);

TEST_P(EnforcerOn, WritesWantedValuesAndRestoresThem) {
  start();
  const Enforced& enforced = carry_out({quota_of("be", 120'000)});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  EXPECT_EQ(enforced.in_force, 1);
  ASSERT_EQ(enforced.deeds.size(), 1U);
  EXPECT_EQ(enforced.deeds[0].before, quota("-1"));
  carry_out({quota_of("be", 60'000)});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("60000"));
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
  EXPECT_TRUE(journal->files().empty());
  EXPECT_EQ(enforced.in_force, 0);
}

TEST_P(EnforcerOn, WritesNothingWithoutChange) {
  start();
  carry_out({quota_of("be", 120'000), cpus_of("be", {0})});
  for (int i = 0; i < 60; ++i) {
    clock.advance(1s);
    EXPECT_TRUE(carry_out({quota_of("be", 120'000), cpus_of("be", {0})}).deeds.empty());
  }
}

TEST_P(EnforcerOn, ObserveRestoresAndWritesNothing) {
  start();
  carry_out({quota_of("be", 120'000)}, all(Permit::kRestore));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
  EXPECT_TRUE(journal->files().empty());
  carry_out({quota_of("be", 120'000)});
  carry_out({quota_of("be", 120'000)}, all(Permit::kRestore));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
}

TEST_P(EnforcerOn, EachStrategyHasItsOwnPermit) {
  start();
  Permits permits = all(Permit::kEnforce);
  permits[static_cast<std::size_t>(Strategy::kBatchLimits)] = Permit::kRestore;
  carry_out({quota_of("be", 120'000), shares_of("be/p1", 512)}, permits);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? "100" : "1024");
}

// DESIGN 5: after three crashes it keeps limits and loosens nothing.
TEST_P(EnforcerOn, TightenLoosensNothing) {
  start();
  carry_out({quota_of("be", 120'000)});
  carry_out({quota_of("be", 150'000)}, all(Permit::kTighten));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000")) << "looser";
  EXPECT_EQ(enforcer->state_of(quota_of("be", 150'000)), LimitState::kNotWritten);
  carry_out({quota_of("be", 60'000)}, all(Permit::kTighten));
  EXPECT_EQ(enforcer->state_of(quota_of("be", 60'000)), LimitState::kInForce);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("60000")) << "tighter";
  carry_out({}, all(Permit::kTighten));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("60000")) << "not wanted any more";
  carry_out({quota_of("be", 60'000), shares_of("be/p1", 512)}, all(Permit::kTighten));
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? base::cat(linux::weight_of_shares(512)) : "512")
      << "a group that was never touched";
  carry_out({quota_of("be", 60'000), shares_of("be/p1", 600)}, all(Permit::kTighten));
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? base::cat(linux::weight_of_shares(512)) : "512");
}

TEST_P(EnforcerOn, KeepChangesNothing) {
  start();
  carry_out({quota_of("be", 120'000)});
  start();
  carry_out({}, all(Permit::kKeep));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  carry_out({quota_of("be", 90'000)}, all(Permit::kKeep));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1")) << "the process before this one found it so";
}

TEST_P(EnforcerOn, RestartRestoresOnlyOurValues) {
  start();
  carry_out({quota_of("be", 120'000), quota_of("be/p1", 110'000)});
  foreign("be/p1", File::kCpuQuota, "70000");
  start();
  const Enforced& enforced = carry_out({});
  EXPECT_TRUE(told(enforced, Reason::kAgentNotOurs));
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
  EXPECT_EQ(value("be/p1", File::kCpuQuota), quota("70000"));
}

TEST_P(EnforcerOn, UnreadableFileAtStartIsReportedAndRestoredLater) {
  start();
  carry_out({quota_of("be", 120'000), idle_of("be/p1")});
  start_without_descriptors();
  const Enforced& enforced = carry_out({});
  EXPECT_EQ(enforced.in_force, 3) << "as far as is known";
  ASSERT_EQ(enforced.deeds.size(), 3U) << "each is told";
  EXPECT_NE(enforced.deeds[0].error->message.find("Too many open files"), std::string::npos)
      << enforced.deeds[0].error->message;
  EXPECT_EQ(journal->files().size(), 3U);
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
  EXPECT_EQ(value("be/p1", File::kCpuIdle), "0");
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? "100" : "1024");
  EXPECT_TRUE(journal->files().empty());
}

TEST_P(EnforcerOn, UnreadableFileDoesNotCountAsForeign) {
  start();
  carry_out({quota_of("be", 120'000)});
  start_without_descriptors();
  carry_out({quota_of("be", 60'000)});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000")) << "it is unknown yet what is ours";
  carry_out({quota_of("be", 60'000)});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("60000"));
  carry_out({});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("-1"));
}

TEST_P(EnforcerOn, RefusedValueIsReportedOnceAndRetried) {
  if (v2()) return;  // it takes a quota above that of the group above
  start();
  foreign("be", File::kCpuQuota, "50000");
  const Enforced& enforced = carry_out({quota_of("be/p1", 120'000)});
  EXPECT_EQ(enforced.refused, 1);
  EXPECT_EQ(enforcer->state_of(quota_of("be/p1", 120'000)), LimitState::kRefused);
  EXPECT_TRUE(told(enforced, Reason::kKnobRefused));
  clock.advance(kRefusedPause);
  EXPECT_TRUE(carry_out({quota_of("be/p1", 120'000)}).deeds.empty());
  foreign("be", File::kCpuQuota, "-1");
  clock.advance(2 * kRefusedPause);
  carry_out({quota_of("be/p1", 120'000)});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), "120000");
}

// Each try is a line of the journal and a call of a kernel that is short of memory.
TEST_P(EnforcerOn, RetriesRefusedValueWithBackoff) {
  if (v2()) return;  // it takes a quota above that of the group above
  foreign("be", File::kCpuQuota, "50000");
  CountingWriter counting(kernel());
  journal.emplace(FoundJournal::open(run.root(), "b1").value());
  enforcer = std::make_unique<Enforcer>(*hierarchies, counting, *journal, clock);
  const auto tries_within = [&](int seconds) {
    const int before = counting.puts;
    for (int i = 0; i < seconds; ++i) {
      carry_out({quota_of("be/p1", 120'000)});
      clock.advance(1s);
    }
    return counting.puts - before;
  };
  const int one_try = tries_within(1);
  ASSERT_GT(one_try, 0);
  EXPECT_EQ(tries_within(30), 4 * one_try) << "after 1, 2, 4 and 8 seconds; the next would be the 31st";
  EXPECT_LE(tries_within(600), 21 * one_try) << "each half minute";
  // Another value is tried at once.
  carry_out({quota_of("be/p1", 40'000)});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), "40000");
  carry_out({});
  enforcer.reset();  // before its writer
}

// Of a file the journal keeps the newest values alone.
TEST_P(EnforcerOn, NextAgentKnowsStandingValueAfterManyRefusals) {
  if (v2()) return;  // it takes a quota above that of the group above
  foreign("be", File::kCpuQuota, "50000");
  start();
  carry_out({quota_of("be/p1", 40'000)});
  for (std::size_t times = 0; times <= kFoundValuesKept; ++times) {
    carry_out({quota_of("be/p1", 100'000 + 1'000 * static_cast<std::int64_t>(times))});
    ASSERT_EQ(value("be/p1", File::kCpuQuota), "40000");
  }
  start();
  EXPECT_FALSE(told(carry_out({}), Reason::kAgentNotOurs));
  EXPECT_EQ(value("be/p1", File::kCpuQuota), "-1");
}

// A full tmpfs, for a second: a narrower value must not wait for the next look.
TEST_P(EnforcerOn, RetriesAfterJournalFailure) {
  start();
  carry_out({quota_of("be", 120'000)});
  clock.advance(1s);
  {
    const FileSizeLimit full(std::filesystem::file_size(run.root() + "/found.journal"));
    EXPECT_TRUE(carry_out({quota_of("be", 2'000)}).journal);
  }
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
  clock.advance(1s);
  EXPECT_FALSE(carry_out({quota_of("be", 2'000)}).journal);
  EXPECT_EQ(value("be", File::kCpuQuota), quota("2000"));
}

TEST_P(EnforcerOn, WritesPostponedValueOncePermitted) {
  start();
  carry_out({quota_of("be", 60'000)});
  clock.advance(1s);
  carry_out({quota_of("be", 120'000)}, all(Permit::kTighten));
  clock.advance(1s);
  carry_out({quota_of("be", 120'000)});
  EXPECT_EQ(value("be", File::kCpuQuota), quota("120000"));
}

// If the agent is killed before any write of any plan, the next agent restores all original values.
TEST_P(EnforcerOn, NextAgentRestoresAfterCrashAtAnyWrite) {
  start();
  const auto state = [&] {
    std::vector<std::string> out;
    for (const char* group : {"be", "be/p1"}) {
      for (const File file : {File::kCpuQuota, File::kCpusetCpus, File::kCpuIdle, File::kCpuShares}) {
        out.push_back(base::cat(group, " ", linux::names_of(file).v1, " ", value(group, file)));
      }
    }
    return out;
  };
  const auto before = state();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random random(seed);
    KilledWriter dying(kernel(), static_cast<int>(random.below(20)));
    journal.reset();
    enforcer.reset();
    journal.emplace(FoundJournal::open(run.root(), "b1").value());
    try {
      Enforcer victim(*hierarchies, dying, *journal, clock);
      for (int pass = 0; pass < 20; ++pass) {
        std::vector<KnobWrite> wanted;
        const std::int64_t quota = 20'000 + static_cast<std::int64_t>(random.below(10)) * 10'000;
        if (random.below(4) > 0) wanted.push_back(quota_of("be", quota));
        if (random.below(4) > 0) wanted.push_back(quota_of("be/p1", quota / 2));
        if (random.below(3) > 0) wanted.push_back(cpus_of("be", {0}));
        if (random.below(3) > 0) wanted.push_back(cpus_of("be/p1", {0}));
        wanted.push_back(random.below(2) > 0 ? idle_of("be/p1") : shares_of("be/p1", 100 + quota / 1000));
        clock.advance(1s);
        victim.carry_out(wanted, all(Permit::kEnforce));
      }
    } catch (const Killed&) {
    }
    start();
    carry_out({});
    clock.advance(kRefusedPause);
    carry_out({});
    ASSERT_EQ(state(), before) << "seed " << seed;
    ASSERT_TRUE(journal->files().empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tidemark::agent
