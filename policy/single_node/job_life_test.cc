#include "policy/single_node/job_life.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace tidemark::policy::single_node {
namespace {

using namespace std::chrono_literals;
using model::PodPhase;

// A simulation of one job: the server's state, a node that ends pods, and a controller that may lag or crash between
// any two writes.
struct World {
  JobSpec spec;
  JobState state;
  std::vector<JobPod> pods;
  base::WallTime now{std::chrono::hours(1)};  // moves with time
  base::Duration set_by{0};                   // offset after setting the wall clock
  base::WallTime started_at, over_at;
  std::map<std::string, base::WallTime> ended_at;  // of pods, by uid
  int made = 0;
  std::int64_t most_active = 0;
  std::set<std::string> not_waited_for;  // deleted, and counted before they ended
  bool job_gone = false;
  std::optional<base::Duration> again;

  // `writes`: it crashes after this many; -1: never.
  void controller(int writes = -1) {
    for (JobPod& pod : pods) {
      if (const auto at = ended_at.find(pod.uid); at != ended_at.end()) pod.ended_ago = now - at->second;
    }
    const JobTimes times{now + set_by, state.started ? now - started_at : base::Duration(0),
                         state.ended ? now - over_at : base::Duration(0)};
    const JobStep step = job_life(spec, state, pods, 0, times);
    again = step.again_after;
    const auto may = [&] { return writes < 0 || writes-- > 0; };
    if (step.state != state) {
      if (!may()) return;
      if (step.state.started != state.started) started_at = now;
      if (step.state.ended != state.ended) over_at = now;
      state = step.state;
    }
    for (const std::size_t i : step.release) {
      if (!may()) return;
      pods[i].kept = false;
      if (pods[i].deleted && !pods[i].over()) not_waited_for.insert(pods[i].uid);
    }
    for (const std::size_t i : step.let_go) {
      if (!may()) return;
      pods[i].kept = false;
      if (!may()) return;
      pods[i].deleted = true;
    }
    for (const std::size_t i : step.remove) {
      if (!may()) return;
      pods[i].deleted = true;
    }
    for (const auto& index : step.create) {
      if (!may()) return;
      JobPod pod;
      pod.name = base::cat("p", made);
      pod.uid = base::cat("u", 100'000 + made++);
      pod.index = index;
      pods.push_back(pod);
    }
    if (step.remove_job && may()) job_gone = true;
    std::erase_if(pods, [](const JobPod& pod) { return pod.deleted && !pod.kept && pod.over(); });
    most_active = std::max(most_active, static_cast<std::int64_t>(std::ranges::count_if(
                                            pods, [](const JobPod& pod) { return !pod.over() && !pod.deleted; })));
  }
  void settle() {
    for (int i = 0; i < 10; ++i) controller();
  }
  JobPod& running() {
    const auto found = std::ranges::find_if(pods, [](const JobPod& pod) { return !pod.over() && !pod.deleted; });
    EXPECT_NE(found, pods.end());
    return *found;
  }
  std::int64_t active() const {
    return std::ranges::count_if(pods, [](const JobPod& pod) { return !pod.over() && !pod.deleted; });
  }
  void end(JobPod& pod, std::int64_t code, std::vector<std::string> conditions = {}) {
    pod.phase = code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
    pod.exits = {{"main", code}};
    pod.conditions = std::move(conditions);
    ended_at[pod.uid] = now;
  }
};

TEST(JobLife, SuccessCompletesTheJob) {
  World world;
  world.spec.completions = 1;
  world.settle();
  ASSERT_EQ(world.pods.size(), 1U);
  EXPECT_EQ(world.state.active, 1);
  EXPECT_EQ(world.state.started, world.now);
  world.now = world.now + 5s;
  world.end(world.running(), 0);
  world.controller();
  EXPECT_FALSE(world.state.over) << "its end is written down before its finalizer goes, and counted after that";
  EXPECT_EQ(world.state.uncounted_succeeded.size(), 1U);
  world.settle();
  EXPECT_TRUE(world.state.over);
  EXPECT_EQ(world.state.decided, JobEnd::kComplete);
  EXPECT_EQ(world.state.succeeded, 1);
  EXPECT_EQ(world.state.failed, 0);
  EXPECT_EQ(world.pods.size(), 1U) << "ended pods stay readable";
}

TEST(JobLife, FailuresBackOffUntilTheLimit) {
  World world;
  world.spec.completions = 1;
  world.spec.backoff_limit = 2;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 2; ++i) {
    world.settle();
    world.end(world.running(), 1);
    world.settle();
    EXPECT_EQ(world.active(), 0);
    ASSERT_TRUE(world.again);
    waits.push_back(std::chrono::duration_cast<std::chrono::seconds>(*world.again).count());
    world.now = world.now + *world.again;
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{10, 20}));
  world.settle();
  world.end(world.running(), 1);
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kBackoff);
  EXPECT_TRUE(world.state.over);
  EXPECT_EQ(world.state.failed, 3);
}

TEST(JobLife, IgnoredEvictionIsNotCountedAndReplacedAtOnce) {
  World world;
  world.spec.completions = 1;
  world.spec.backoff_limit = 0;
  world.spec.rules = {{JobRule::Action::kIgnore, "", true, {}, {"DisruptionTarget"}}};
  for (int i = 0; i < 5; ++i) {
    world.settle();
    JobPod& pod = world.running();
    pod.deleted = true;
    pod.conditions = {"DisruptionTarget"};
    world.settle();
    EXPECT_EQ(world.active(), 0) << "the next one waits for its end";
    world.end(pod, 143, {"DisruptionTarget"});
  }
  world.settle();
  EXPECT_EQ(world.active(), 1);
  EXPECT_EQ(world.state.failed, 0);
  world.end(world.running(), 0);
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kComplete);
}

TEST(JobLife, UnboundDeletedPodIsNotAwaited) {
  World world;
  world.spec.completions = 1;
  world.spec.rules = {{JobRule::Action::kIgnore, "", true, {}, {"DisruptionTarget"}}};
  world.settle();
  world.running().bound = false;
  world.pods[0].deleted = true;
  world.settle();
  EXPECT_FALSE(world.pods[0].kept);
}

TEST(JobLife, RuleMayFailTheJobAtOnce) {
  World world;
  world.spec.completions = 3;
  world.spec.parallelism = 3;
  world.spec.rules = {{JobRule::Action::kFailJob, "main", true, {42}, {}}};
  world.settle();
  world.end(world.running(), 42);
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kPolicy);
  EXPECT_FALSE(world.state.over) << "two are still ending";
  for (JobPod& pod : world.pods) {
    if (pod.deleted) world.end(pod, 143);
  }
  world.settle();
  EXPECT_TRUE(world.state.over);
}

TEST(JobLife, DeadlineFailsTheJob) {
  World world;
  world.spec.completions = 1;
  world.spec.deadline = 60s;
  world.settle();
  EXPECT_EQ(world.again, 60s);
  world.now = world.now + 60s;
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kDeadline);
  EXPECT_EQ(world.active(), 0);
}

TEST(JobLife, SuspendEndsPodsAndRestartsTheDeadline) {
  World world;
  world.spec.completions = 1;
  world.spec.deadline = 60s;
  world.settle();
  world.now = world.now + 50s;
  world.spec.suspend = true;
  world.settle();
  EXPECT_EQ(world.active(), 0);
  EXPECT_TRUE(world.state.suspended);
  EXPECT_FALSE(world.state.started);
  world.end(world.pods[0], 143);
  world.settle();
  EXPECT_EQ(world.state.failed, 0) << "a suspended pod has not failed";
  world.now = world.now + 50s;
  world.spec.suspend = false;
  world.settle();
  EXPECT_EQ(world.active(), 1);
  EXPECT_EQ(world.state.started, world.now);
}

TEST(JobLife, WithdrawnPodIsNoFailure) {
  World world;
  world.spec.completions = 3;
  world.spec.parallelism = 3;
  world.spec.backoff_limit = 0;
  world.settle();
  world.spec.parallelism = 1;
  world.settle();
  EXPECT_EQ(world.active(), 1);
  for (JobPod& pod : world.pods) {
    if (pod.deleted) world.end(pod, 143);
  }
  world.settle();
  EXPECT_EQ(world.state.failed, 0);
  world.spec.suspend = true;
  world.settle();
  world.spec.suspend = false;  // while the last one is still being deleted
  world.settle();
  for (JobPod& pod : world.pods) {
    if (pod.deleted) world.end(pod, 143);
  }
  world.settle();
  EXPECT_EQ(world.state.failed, 0);
  EXPECT_EQ(world.state.decided, JobEnd::kNone);
  EXPECT_EQ(world.active(), 1) << "nor does the next one wait for it";
}

TEST(JobLife, DeletesHalfWithdrawnPod) {
  World world;
  world.spec.completions = 2;
  world.spec.parallelism = 2;
  world.settle();
  world.spec.parallelism = 1;
  world.controller(1);  // it crashes before it deletes the released pod
  ASSERT_EQ(std::ranges::count_if(world.pods, [](const JobPod& pod) { return !pod.kept && !pod.deleted; }), 1);
  world.spec.parallelism = 2;
  world.settle();
  EXPECT_EQ(std::ranges::count_if(world.pods, [](const JobPod& pod) { return pod.deleted; }), 1);
  EXPECT_EQ(world.active(), 2);
}

TEST(JobLife, DeletedJobLeavesItsPodsToTheDeleter) {
  World world;
  world.spec.completions = 3;
  world.spec.parallelism = 2;
  world.settle();
  world.spec.deleted = true;
  world.settle();
  EXPECT_EQ(world.active(), 2);
  world.end(world.running(), 0);
  world.settle();
  EXPECT_EQ(world.pods.size(), 2U) << "no new one";
  EXPECT_EQ(world.state.succeeded, 1);
}

TEST(JobLife, RestartsInsideCountAgainstTheLimit) {
  World world;
  world.spec.completions = 1;
  world.spec.backoff_limit = 3;
  world.spec.restarts_inside = true;
  world.settle();
  world.pods[0].restarts = 2;
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kNone);
  world.pods[0].restarts = 3;
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kBackoff);
  EXPECT_EQ(world.active(), 0);
}

TEST(JobLife, PodsEndedByAFailedJobHaveFailed) {
  World world;
  world.spec.completions = 3;
  world.spec.parallelism = 3;
  world.spec.deadline = 60s;
  world.settle();
  world.now = world.now + 60s;
  world.settle();
  EXPECT_EQ(world.active(), 0);
  for (JobPod& pod : world.pods) world.end(pod, 143);
  world.settle();
  EXPECT_TRUE(world.state.over);
  EXPECT_EQ(world.state.failed, 3);
}

TEST(JobLife, ReplacesOnlyAfterTheEndIfSoConfigured) {
  World world;
  world.spec.completions = 1;
  world.spec.replaces_when_ended = true;
  world.settle();
  world.pods[0].deleted = true;
  world.settle();
  EXPECT_EQ(world.pods.size(), 1U);
  EXPECT_EQ(world.state.failed, 0);
  world.end(world.pods[0], 0);  // it used its grace
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kComplete);
  EXPECT_EQ(world.state.succeeded, 1);
}

TEST(JobLife, DeletesSecondPodOfAnIndex) {
  World world;
  world.spec.completions = 2;
  world.spec.parallelism = 2;
  world.spec.indexed = true;
  world.settle();
  world.pods[1].index = 0;  // created twice: the first answer was lost
  world.settle();
  std::multiset<std::int64_t> running;
  for (const JobPod& pod : world.pods) {
    if (!pod.deleted) running.insert(pod.index.value());
  }
  EXPECT_EQ(running, (std::multiset<std::int64_t>{0, 1}));
}

TEST(JobLife, DeletesPodCreatedAfterTheEnd) {
  World world;
  world.spec.completions = 1;
  world.settle();
  world.end(world.running(), 0);
  world.settle();
  ASSERT_TRUE(world.state.over);
  JobPod late;
  late.name = late.uid = "late";
  world.pods.push_back(late);
  world.settle();
  EXPECT_TRUE(world.pods.back().deleted);
  EXPECT_FALSE(world.pods.back().kept);
  EXPECT_EQ(world.state.succeeded, 1);
}

TEST(JobLife, EachIndexSucceedsOnce) {
  World world;
  world.spec.completions = 5;
  world.spec.parallelism = 2;
  world.spec.indexed = true;
  std::multiset<std::int64_t> ended;
  while (!world.state.over) {
    world.settle();
    if (world.state.over) break;
    JobPod& pod = world.running();
    ended.insert(pod.index.value());
    world.end(pod, 0);
  }
  EXPECT_EQ(ended, (std::multiset<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(index_text(world.state.completed), "0-4");
  EXPECT_LE(world.most_active, 2);
}

TEST(JobLife, WithoutCompletionsFirstSuccessEndsCreation) {
  World world;
  world.spec.parallelism = 3;
  world.settle();
  EXPECT_EQ(world.active(), 3);
  world.end(world.running(), 0);
  world.settle();
  EXPECT_EQ(world.active(), 2);
  EXPECT_FALSE(world.state.over);
  world.end(world.running(), 0);
  world.end(world.running(), 0);
  world.settle();
  EXPECT_EQ(world.state.decided, JobEnd::kComplete);
  EXPECT_EQ(world.state.succeeded, 3);
}

TEST(JobLife, DeletesJobAfterItsTtl) {
  World world;
  world.spec.completions = 1;
  world.spec.ttl = 30s;
  world.settle();
  world.end(world.running(), 0);
  world.settle();
  EXPECT_FALSE(world.job_gone);
  EXPECT_EQ(world.again, 30s);
  world.now = world.now + 30s;
  world.settle();
  EXPECT_TRUE(world.job_gone);
}

TEST(JobLife, SettingTheClockNeitherEndsNorDelaysAJob) {
  for (const base::Duration jump : {base::Duration(48h), -base::Duration(48h)}) {
    World world;
    world.spec.completions = 1;
    world.spec.deadline = 60s;
    world.spec.ttl = 30s;
    world.settle();
    world.set_by = jump;
    world.end(world.running(), 1);
    world.settle();
    EXPECT_EQ(world.again, 10s) << "after a failure";
    world.now = world.now + 10s;
    world.set_by = -jump;
    world.settle();
    EXPECT_EQ(world.active(), 1);
    EXPECT_EQ(world.again, 50s) << "of its deadline";
    world.end(world.running(), 0);
    world.settle();
    EXPECT_EQ(world.state.decided, JobEnd::kComplete);
    world.set_by = jump;
    world.settle();
    EXPECT_FALSE(world.job_gone);
    EXPECT_EQ(world.again, 30s);
  }
}

// Many jobs, random ends of pods, and a controller that crashes between any two writes: the sums are the real ends.
TEST(JobLife, EveryEndCountsOnceDespiteCrashes) {
  std::mt19937 random(20261123);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    World world;
    world.spec.completions = 1 + below(6);
    world.spec.parallelism = 1 + below(4);
    world.spec.backoff_limit = below(5);
    world.spec.indexed = below(2) == 0;
    if (below(2) == 0) world.spec.rules = {{JobRule::Action::kIgnore, "", true, {}, {"DisruptionTarget"}}};
    std::set<std::string> succeeded, failed;
    for (int turn = 0; turn < 2000 && !world.state.over; ++turn) {
      // The user changes the settings now and then.
      const bool paused = below(40) == 0;
      if (paused) world.spec.suspend = !world.spec.suspend;
      if (turn > 1000) world.spec.suspend = false;
      const bool fewer = below(40) == 0 && world.spec.parallelism > 1;
      if (fewer) --world.spec.parallelism;
      const std::int64_t ran = world.active();
      world.controller(below(3) == 0 ? below(4) : -1);
      EXPECT_LE(world.active(), std::max(ran, world.spec.parallelism));
      if (world.again && below(4) == 0) world.now = world.now + *world.again;
      for (JobPod& pod : world.pods) {
        if (pod.over() || below(6) != 0) continue;
        const bool evicted = below(5) == 0;
        if (evicted && !world.spec.rules.empty()) {
          world.end(pod, 143, {"DisruptionTarget"});
          continue;
        }
        const bool good = !pod.deleted && below(3) != 0;
        world.end(pod, good ? 0 : 1);
        if (pod.kept) (good ? succeeded : failed).insert(pod.uid);
      }
    }
    ASSERT_TRUE(world.state.over) << round;
    if (world.state.decided == JobEnd::kComplete) {
      EXPECT_GE(world.state.succeeded, *world.spec.completions) << round;
      EXPECT_LE(world.state.failed, world.spec.backoff_limit) << round;
    } else {
      EXPECT_EQ(world.state.decided, JobEnd::kBackoff);
      EXPECT_GT(world.state.failed, world.spec.backoff_limit);
    }
    // Exactly: every pod that ended with its finalizer counts, whatever crashed in between. Once a job is complete,
    // later failures do not count.
    failed.insert(world.not_waited_for.begin(), world.not_waited_for.end());
    const auto really_failed = static_cast<std::int64_t>(failed.size());
    if (world.state.decided == JobEnd::kBackoff) EXPECT_EQ(world.state.failed, really_failed) << round;
    EXPECT_LE(world.state.failed, really_failed) << round;
    if (world.spec.indexed) {
      EXPECT_EQ(world.state.succeeded, static_cast<std::int64_t>(world.state.completed.size())) << round;
    } else {
      EXPECT_EQ(world.state.succeeded, static_cast<std::int64_t>(succeeded.size())) << round;
    }
    EXPECT_LE(world.state.succeeded + world.state.failed, world.made);
  }
}

TEST(JobLife, IndexesAsText) {
  EXPECT_EQ(index_text(std::vector<std::int64_t>{}), "");
  EXPECT_EQ(index_text(std::vector<std::int64_t>{0, 2, 3, 4, 7, 8}), "0,2-4,7,8");
  EXPECT_EQ(parse_indexes("0,2-4,7,8"), (std::vector<std::int64_t>{0, 2, 3, 4, 7, 8}));
  EXPECT_EQ(parse_indexes("x,-1,5-3,1-99999999999,6"), (std::vector<std::int64_t>{6}));
}

}  // namespace
}  // namespace tidemark::policy::single_node
