// A node that is protected and whose online work surges between two decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "agent/enforcer/found_journal.h"
#include "agent/reaction/reactor.h"
#include "agent/testing/guarded_node.h"
#include "base/testing/allocations.h"
#include "policy/protect/reaction/reaction_pace.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::agent {
namespace {

using model::Strategy;
using std::chrono::milliseconds;

class Reacting : public testing::GuardedNode {
 protected:
  Reacting() {
    reactor = &watched;
    audited.reserve(1000);  // so that it is not the test that allocates
  }
  ~Reacting() override { guard.reset(); }

  // Decided, then a second in which online work uses that much, and a look at it.
  void second(std::int64_t milli) {
    loads[pods.at("web").path] = milli;
    seconds(1);
    online_ns += milli * 1'000'000;
    look();
  }
  void calm() {
    for (int i = 0; i < 4; ++i) second(200);
  }
  // For the time between two looks it uses that much.
  bool surge(std::int64_t milli) {
    constexpr base::Duration kLook = milliseconds(25);
    node.clock.advance(kLook);
    online_ns += milli * kLook.count() / 1000;
    return look();
  }
  bool look() {
    write_use();
    const bool taken = watched.look();
    if (taken) guard->decide();  // as the thread has it done
    return taken;
  }
  void write_use() {
    node.cpu("kubepods", online_ns + 9'000'000'000);
    node.cpu("kubepods/besteffort", 9'000'000'000);
  }
  bool counted(std::string_view line) const { return metrics.text().find(line) != std::string::npos; }
  std::string says() const {
    return guard->status().strategies.at(static_cast<std::size_t>(Strategy::kCpuSuppress)).says;
  }
  FoundFile in_journal() const {
    const auto read = read_found(run.root() + "/run", "b1");
    if (!read) return {};
    const auto at = std::ranges::find_if(read->files, [](const auto& each) {
      return each.second.group == "kubepods/besteffort" && each.second.file == linux::File::kCpuQuota;
    });
    return at == read->files.end() ? FoundFile() : at->second;
  }

  Reactor watched{node.clock};
  std::int64_t online_ns = 1'000'000'000;
};

// 4 cores × 80 % − 200: 3000 are left. A surge to 2200 leaves 1000.
TEST_F(Reacting, SuppressesBetweenDecisionsAndGrowsInSteps) {
  start();
  say_all(kQuota80);
  calm();
  ASSERT_EQ(quota(), 300'000);
  EXPECT_EQ(says(), "TM-SUPPRESS-002: 300000 us of 100 ms; reaction: ready");
  const auto ready = in_journal();
  EXPECT_EQ(ready.found, "-1");
  for (const char* each : {"200000", "100000", "50000", "2000"}) {
    EXPECT_EQ(std::ranges::count(ready.written, each), 1) << each << " is in the journal before it is needed";
  }
  ASSERT_TRUE(surge(8200)) << "in the window as much as 2200 for all of it";
  EXPECT_EQ(quota(), 100'000);
  EXPECT_TRUE(counted(R"(tidemark_agent_reactions_total{reason="written"} 1)"));
  EXPECT_TRUE(counted("tidemark_agent_reaction_seconds_count 1"));
  EXPECT_EQ(in_journal().found, "-1") << "and not what was written here";
  const auto& told = audited.back();
  EXPECT_EQ(base::cat(told.name, " ", told.part, " ", told.old_value, " ", told.new_value, " ", told.reason),
            R"(kubepods/besteffort cpu.cfs_quota_us "300000" "100000" TM-SUPPRESS-010)");
  second(2200);
  EXPECT_EQ(quota(), 100'000) << "the decision that knows of it has the same";
  second(200);
  EXPECT_EQ(quota(), 140'000) << "a tenth of 400,000 more";
  for (int i = 0; i < 6; ++i) second(200);
  EXPECT_EQ(quota(), 300'000);
  EXPECT_EQ(guard->status().left, 0) << "no other program wrote";
  EXPECT_FALSE(counted("TM-AGENT-009")) << "and nothing was repaired";
}

// The next decision may come at once, by what was measured before the surge.
TEST_F(Reacting, NothingGrowsRightAfterIt) {
  start();
  say_all(kQuota80);
  calm();
  ASSERT_TRUE(surge(8200));
  guard->decide();
  say_rules(kQuota80);
  EXPECT_EQ(quota(), 100'000);
  EXPECT_EQ(says(), "TM-SUPPRESS-004: 100000 us of 100 ms; reaction: ready");
  EXPECT_TRUE(surge(30'000)) << "it goes on rising";
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
}

// 4 cores × 65 % − 200: 2400 are left, on three processors.
TEST_F(Reacting, ReducesAndRestoresAllCpusets) {
  start();
  say_all(R"("enable":true,"cpuSuppressPolicy":"cpuset","cpuSuppressThresholdPercent":65)");
  calm();
  const std::string pod = pods.at("job").path, container = pods.at("job").containers[0].path;
  const auto all_have = [&](std::string_view cpus) {
    for (const std::string& group : {std::string("kubepods/besteffort"), pod, container}) {
      EXPECT_EQ(value(base::cat("cpuset/", group, "/cpuset.cpus")), cpus) << group;
    }
  };
  const auto effective = [&](const char* cpus) {  // as a kernel would follow
    node.cgroups.write("cpuset/kubepods/besteffort/cpuset.effective_cpus", cpus);
  };
  all_have("0-2");
  EXPECT_EQ(says(), "TM-SUPPRESS-002: 3 processors; reaction: ready");
  effective("0-2\n");
  node.clock.advance(milliseconds(25));
  online_ns += 205'000'000;
  write_use();
  ASSERT_TRUE(watched.look());
  all_have("0-1");
  effective("0-1\n");
  guard->decide();
  all_have("0-1");
  EXPECT_TRUE(counted(R"(tidemark_agent_reactions_total{reason="written"} 1)"));
  second(200);
  second(200);
  all_have("0-2");
  EXPECT_EQ(guard->status().left, 0);
  EXPECT_FALSE(counted("TM-AGENT-009"));
}

TEST_F(Reacting, DoesNotOverwriteOff) {
  start();
  say_all(kQuota80);
  calm();
  say_node(R"("tidemark.io/state":"off")");
  ASSERT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  EXPECT_FALSE(surge(9000));
  end("job");
  second(9000);
  second(9000);
  EXPECT_EQ(quota(), policy::protect::kNoLimit);
  EXPECT_FALSE(surge(9000));
  EXPECT_EQ(quota(), policy::protect::kNoLimit);
  EXPECT_FALSE(counted("tidemark_agent_reactions_total"));
}

TEST_F(Reacting, ObserveIsShown) {
  mode = model::Mode::kObserve;
  start();
  say_all(kQuota80);
  calm();
  ASSERT_TRUE(surge(8200));
  EXPECT_TRUE(counted(R"(tidemark_agent_reactions_total{reason="shown"} 1)"));
  EXPECT_FALSE(surge(8200)) << "the next one a second later at the soonest";
  EXPECT_EQ(quota(), policy::protect::kNoLimit);
  EXPECT_TRUE(rules.taken.empty());
}

// Told by pool, as a mode of its own; suppression itself goes on writing.
TEST_F(Reacting, ObservedReactionIsShownWhileSuppressionWrites) {
  const auto say = [&](std::string_view mode) {
    say_spec(base::cat(R"({"resourceUsedThresholdWithBE":{)", kQuota80,
                       R"(},"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"modes":{"reaction":")", mode,
                       R"("}}}}}})"));
  };
  start();
  say_node();
  say("observe");
  calm();
  ASSERT_EQ(quota(), 300'000);
  EXPECT_EQ(says(), "TM-SUPPRESS-002: 300000 us of 100 ms; reaction: ready, and only shown");
  ASSERT_TRUE(surge(8200));
  EXPECT_EQ(quota(), 300'000);
  EXPECT_TRUE(counted(R"(tidemark_agent_reactions_total{reason="shown"} 1)"));
  say("enforce");
  calm();
  ASSERT_TRUE(surge(8200));
  EXPECT_EQ(quota(), 100'000);
}

TEST_F(Reacting, ReportsMissingThreadAndIsNotArmed) {
  start();
  guard->no_thread();
  say_all(kQuota80);
  calm();
  EXPECT_EQ(says(), "TM-SUPPRESS-002: 300000 us of 100 ms; reaction: its thread could not be started");
  EXPECT_FALSE(surge(8200));
  EXPECT_EQ(quota(), 300'000);
}

// The agent died after the write of the reaction, and before it reported it.
TEST_F(Reacting, NextAgentRestoresReactionWrites) {
  start();
  say_all(kQuota80);
  calm();
  node.clock.advance(milliseconds(25));
  online_ns += 205'000'000;
  write_use();
  ASSERT_TRUE(watched.look());
  ASSERT_EQ(quota(), 100'000);
  guard.reset();
  start();
  say_node(R"("tidemark.io/state":"observe")");
  say_rules(kQuota80);
  seconds(2);
  EXPECT_EQ(quota(), policy::protect::kNoLimit);
  EXPECT_EQ(in_journal(), FoundFile());
}

TEST_F(Reacting, SafeStartStillTightens) {
  start();
  say_all(kQuota80);
  calm();
  for (int i = 0; i < 3; ++i) {
    start(false);
    say_all(kQuota80);
    calm();
  }
  ASSERT_EQ(permit_of(Strategy::kCpuSuppress), "tighten");
  ASSERT_TRUE(surge(8200));
  EXPECT_EQ(quota(), 100'000);
  calm();
  EXPECT_EQ(quota(), 100'000) << "and loosens nothing";
}

TEST_F(Reacting, DoesNotOverwriteOtherWriter) {
  start();
  say_all(kQuota80);
  calm();
  node.cgroups.write("cpu/kubepods/besteffort/cpu.cfs_quota_us", "123000\n");
  ASSERT_TRUE(surge(8200));
  EXPECT_TRUE(counted(R"(tidemark_agent_reactions_total{reason="not-ours"} 1)"));
  EXPECT_EQ(quota(), 163'000) << "the decision after it finds him: a step of growth from there";
  EXPECT_TRUE(counted("TM-AGENT-009"));
}

TEST_F(Reacting, RepeatedSurgeStopsReaction) {
  start();
  say_all(kQuota80);
  std::size_t reactions = 0;
  for (int i = 0; i < 40; ++i) {
    second(200);
    if (surge(8200)) ++reactions;
  }
  EXPECT_EQ(reactions, policy::protect::kReactionsMax);
  EXPECT_NE(says().find("too often"), std::string::npos) << says();
}

TEST_F(Reacting, UnchangedDecisionAllocatesNothing) {
  start();
  say_all(kQuota80);
  for (int i = 0; i < 12; ++i) second(200);
  guard->decide();
  EXPECT_EQ(base::testing::allocated_by([&] { guard->decide(); }), 0);
}

}  // namespace
}  // namespace tidemark::agent
