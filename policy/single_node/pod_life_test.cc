// Pods as users know them: what begins when, what is begun again, and how they end.
#include "policy/single_node/pod_life.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace tidemark::policy::single_node {
namespace {

using namespace std::chrono_literals;
using model::PodPhase;

// A node that executes each plan, second by second.
struct PodLifeTest : ::testing::Test {
  void container(std::string name, LifeRole role = LifeRole::kMain, bool readiness = false, bool startup = false) {
    containers.push_back({std::move(name), role, startup, readiness});
    runs.emplace_back();
  }
  ContainerRun& of(std::string_view name) {
    const auto found = std::ranges::find(containers, name, &LifeContainer::name);
    return runs.at(static_cast<std::size_t>(found - containers.begin()));
  }
  void ended(std::string_view name, std::int32_t code) {
    ContainerRun& run = of(name);
    run.quick_ends = now - run.began < kRestartForgiven ? run.quick_ends + 1 : 1;
    run.state = RunState::kEnded;
    run.ended = now;
    run.exit_code = code;
  }
  PodLifeStep step() { return pod_life({policy, containers, runs, ends, why_ends, 5s}, now); }

  // One step, with its acts carried out: "begin a, ask b; Running ready".
  std::string look() {
    const PodLifeStep step = this->step();
    std::vector<std::string> acts;
    for (const LifeAct& act : step.acts) {
      ContainerRun& run = runs[act.container];
      const std::string& name = containers[act.container].name;
      switch (act.what) {
        case LifeAct::What::kBegin: {
          const auto quick = run.quick_ends;
          const auto starts = run.starts;
          run = {};
          run.state = RunState::kRunning;
          run.quick_ends = quick;
          run.starts = starts + 1;
          run.began = now;
          acts.push_back("begin " + name);
          break;
        }
        case LifeAct::What::kAsk:
          run.asked_to_end = now;
          acts.push_back("ask " + name);
          break;
        case LifeAct::What::kKill:
          ended(name, kKilledExitCode);
          acts.push_back("kill " + name);
          break;
      }
    }
    const PodLifeStep after = this->step();
    static const std::map<PodPhase, std::string> kPhases = {{PodPhase::kPending, "Pending"},
                                                            {PodPhase::kRunning, "Running"},
                                                            {PodPhase::kSucceeded, "Succeeded"},
                                                            {PodPhase::kFailed, "Failed"}};
    return base::cat(base::join(acts, ", "), acts.empty() ? "" : "; ", kPhases.at(after.phase),
                     after.ready ? " ready" : "", after.over ? " over" : "");
  }
  std::string waits(std::string_view name) {
    const auto found = std::ranges::find(containers, name, &LifeContainer::name);
    return std::string(step().containers.at(static_cast<std::size_t>(found - containers.begin())).waits_for);
  }

  RestartPolicy policy = RestartPolicy::kAlways;
  std::vector<LifeContainer> containers;
  std::vector<ContainerRun> runs;
  bool ends = false;
  std::string why_ends;
  base::MonotonicTime now{1h};
};

TEST_F(PodLifeTest, AJobRunsOnceAndHasSucceeded) {
  policy = RestartPolicy::kNever;
  container("work");
  EXPECT_EQ(look(), "begin work; Running ready");
  EXPECT_EQ(look(), "Running ready");
  ended("work", 0);
  EXPECT_EQ(look(), "Succeeded over");
}

TEST_F(PodLifeTest, RestartsAFailedJobByItsPolicy) {
  container("work");
  for (const auto& [asked, code, wanted] :
       {std::tuple(RestartPolicy::kNever, 1, "Failed over"), std::tuple(RestartPolicy::kOnFailure, 0, "Succeeded over"),
        std::tuple(RestartPolicy::kOnFailure, 1, "Running"), std::tuple(RestartPolicy::kAlways, 0, "Running")}) {
    policy = asked;
    runs[0] = {};
    look();
    ended("work", code);
    EXPECT_EQ(look(), wanted) << static_cast<int>(asked) << " " << code;
  }
}

TEST_F(PodLifeTest, RestartsBecomeRareAndAreForgiven) {
  container("web");
  look();
  std::vector<std::string> pauses;
  for (int i = 0; i < 7; ++i) {
    now = now + 1s;
    ended("web", 1);
    EXPECT_EQ(waits("web"), "CrashLoopBackOff");
    const auto left = step().again_after;
    ASSERT_TRUE(left);
    pauses.push_back(base::format_go_duration(*left));
    now = now + (*left + -1s);
    EXPECT_EQ(look(), "Running") << "not before its time";
    now = now + 1s;
    EXPECT_EQ(look(), "begin web; Running ready");
  }
  EXPECT_EQ(base::join(pauses, " "), "10s 20s 40s 1m20s 2m40s 5m0s 5m0s");
  now = now + kRestartForgiven;
  ended("web", 1);
  EXPECT_EQ(*step().again_after, kRestartPause);
}

TEST_F(PodLifeTest, RetriesCreationUnderAnyPolicy) {
  policy = RestartPolicy::kNever;
  container("work");
  of("work").not_made = now;
  EXPECT_EQ(look(), "Pending");
  EXPECT_EQ(waits("work"), "CreateContainerError");
  EXPECT_EQ(step().again_after, kMakePause);
  now = now + kMakePause;
  EXPECT_EQ(look(), "begin work; Running ready");

  policy = RestartPolicy::kAlways;  // one that ran before waits for the longer of both
  ended("work", 1);
  now = now + kRestartPause;
  of("work").not_made = now + -1s;
  EXPECT_EQ(look(), "Running");
  EXPECT_EQ(step().again_after, kMakePause - 1s);
  ends = true;
  EXPECT_EQ(look(), "Failed over") << "and is not waited for";
}

TEST_F(PodLifeTest, InitContainersRunOneAfterTheOther) {
  container("first", LifeRole::kInit);
  container("second", LifeRole::kInit);
  container("web");
  EXPECT_EQ(look(), "begin first; Pending");
  EXPECT_EQ(waits("web"), "PodInitializing");
  ended("first", 0);
  EXPECT_EQ(look(), "begin second; Pending");
  ended("second", 1);
  EXPECT_EQ(look(), "Pending");
  now = now + 10s;
  EXPECT_EQ(look(), "begin second; Pending");
  ended("second", 0);
  EXPECT_EQ(look(), "begin web; Running ready");
  policy = RestartPolicy::kNever;
  ended("second", 1);  // what is known of it is old by now
  EXPECT_EQ(look(), "Running ready");
}

TEST_F(PodLifeTest, FinalInitContainerFailureFailsThePod) {
  policy = RestartPolicy::kNever;
  container("first", LifeRole::kInit);
  container("web");
  look();
  ended("first", 1);
  EXPECT_EQ(look(), "Failed over");
}

TEST_F(PodLifeTest, ASidecarRunsBesideTheOthersAndEndsAfterThem) {
  policy = RestartPolicy::kNever;
  container("proxy", LifeRole::kSidecar, false, true);
  container("logs", LifeRole::kSidecar);
  container("work");
  EXPECT_EQ(look(), "begin proxy; Pending");
  EXPECT_EQ(look(), "Pending") << "its startup probe has not passed";
  of("proxy").startup_passed = true;
  EXPECT_EQ(look(), "begin logs; Pending");
  EXPECT_EQ(look(), "begin work; Running ready");
  ended("logs", 3);
  EXPECT_EQ(look(), "Running");
  now = now + 10s;
  EXPECT_EQ(look(), "begin logs; Running ready") << "whatever the pod's policy";
  ended("work", 0);
  EXPECT_EQ(look(), "ask logs; Running");
  ended("logs", 143);
  EXPECT_EQ(look(), "ask proxy; Running");
  now = now + 5s;
  EXPECT_EQ(look(), "kill proxy; Succeeded over");
}

TEST_F(PodLifeTest, StopsThenKillsAfterTheGrace) {
  container("polite");
  container("deaf");
  look();
  ends = true;
  EXPECT_EQ(look(), "ask polite, ask deaf; Running");
  now = now + 1s;
  ended("polite", 0);
  EXPECT_EQ(look(), "Running");
  EXPECT_EQ(*step().again_after, 4s);
  now = now + 4s;
  EXPECT_EQ(look(), "kill deaf; Failed over");
}

TEST_F(PodLifeTest, UnstartedPodStopsAtOnce) {
  container("work");
  ends = true;
  EXPECT_EQ(look(), "Failed over");
}

TEST_F(PodLifeTest, EvictedPodIsFailed) {
  policy = RestartPolicy::kNever;
  container("work");
  look();
  ends = true;
  why_ends = "Evicted";
  look();
  ended("work", 0);
  EXPECT_EQ(look(), "Failed over");
}

TEST_F(PodLifeTest, ProbesDecideReadinessAndRestart) {
  container("web", LifeRole::kMain, true);
  EXPECT_EQ(look(), "begin web; Running");
  of("web").readiness_passed = true;
  EXPECT_EQ(look(), "Running ready");
  of("web").unwell = true;
  EXPECT_EQ(look(), "ask web; Running ready");
  now = now + 5s;
  EXPECT_EQ(look(), "kill web; Running");
  now = now + 10s;
  EXPECT_EQ(look(), "begin web; Running");
}

TEST_F(PodLifeTest, RetriesAContainerThatCannotStart) {
  container("web");
  look();
  ended("web", 0);
  of("web").cannot_begin = "no such file";
  EXPECT_EQ(waits("web"), "RunContainerError");
  policy = RestartPolicy::kOnFailure;
  now = now + 10s;
  EXPECT_EQ(look(), "begin web; Running ready");
}

// Whatever happens: nothing begins twice or while it runs, a pod that ends is over within its grace, and what is over
// stays over.
TEST_F(PodLifeTest, InvariantsHoldForRandomLives) {
  base::Random random(11);
  for (int round = 0; round < 3000; ++round) {
    containers.clear();
    runs.clear();
    ends = false;
    policy = static_cast<RestartPolicy>(random.below(3));
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      container(base::cat("i", i), random.below(2) == 0 ? LifeRole::kInit : LifeRole::kSidecar, random.below(2) == 0,
                random.below(3) == 0);
    }
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) container(base::cat("c", i), LifeRole::kMain);
    std::optional<base::MonotonicTime> asked;
    bool over = false;
    for (int second = 0; second < 400; ++second) {
      now = now + 1s;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].state == RunState::kRunning && random.below(10) == 0) {
          ended(containers[i].name, random.below(2) == 0 ? 0 : 1);
        }
        runs[i].startup_passed = runs[i].startup_passed || random.below(5) == 0;
        runs[i].readiness_passed = random.below(2) == 0;
      }
      if (!ends && random.below(200) == 0) {
        ends = true;
        asked = now;
      }
      const PodLifeStep before = step();
      for (const LifeAct& act : before.acts) {
        const bool running = runs[act.container].state == RunState::kRunning;
        ASSERT_EQ(running, act.what != LifeAct::What::kBegin);
        ASSERT_FALSE(act.what == LifeAct::What::kBegin && ends);
      }
      if (over) ASSERT_TRUE(before.over && before.acts.empty());
      look();
      over = step().over;
      // The containers, and after them one sidecar at a time.
      if (asked) ASSERT_TRUE(over || now - *asked <= 5s * static_cast<int>(2 + runs.size()));
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::single_node
