#include "cli/local/tasks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/local/held_back.h"
#include "model/queued_again.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

const base::WallTime kNow = *base::parse_rfc3339("2026-11-23T12:00:00Z");

// The pod of a batch job, as the runtime leaves it; `more` stands behind spec.
PodSeen pod(std::string_view name, std::string_view job, std::string_view created, std::string_view node,
            std::string_view more, std::string_view meta = "") {
  const std::string owner =
      job.empty() ? ""
                  : base::cat(R"(,"ownerReferences":[{"kind":"Job","name":")", job, R"(","uid":"u-)", job, R"("}])");
  auto read = decode_pod_seen(base::cat(
      R"({"metadata":{"name":")", name, R"(","namespace":"default","uid":"uid-)", name,
      R"(","creationTimestamp":"2026-11-23T)", created, R"(Z","labels":{"koordinator.sh/qosClass":"BE"})", owner, meta,
      R"(},"spec":{"priority":5000,)", node.empty() ? "" : base::cat(R"("nodeName":")", node, R"(",)"),
      R"("containers":[{"name":"main","resources":{"requests":)",
      R"({"kubernetes.io/batch-cpu":"2000","kubernetes.io/batch-memory":"4294967296"}}}]})", more.empty() ? "" : ",",
      more, "}"));
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

JobSeen job(std::string_view name, std::string_view created, std::string_view status = "{}") {
  auto read = decode_job_seen(base::cat(
      R"({"metadata":{"name":")", name, R"(","namespace":"default","uid":"u-)", name,
      R"(","creationTimestamp":"2026-11-23T)", created,
      R"(Z"},"spec":{"backoffLimit":3,"template":{"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},"spec":{)",
      R"("priorityClassName":"koord-batch","containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"2000",)",
      R"("kubernetes.io/batch-memory":"4Gi"}}}]}}},"status":)", status, "}"));
  EXPECT_TRUE(read) << read.error().message;
  return *read;
}

constexpr std::string_view kRunning =
    R"("status":{"phase":"Running","containerStatuses":[{"name":"main","state":{"running":{"startedAt":"2026-11-23T11:00:00Z"}}}]})";
constexpr std::string_view kUnscheduled =
    R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"batch-cpu: 500 of 2000 left"}]})";

std::string shown(const LocalObjects& objects, bool all = true, const HeldBack& held = {}) {
  return render_tasks(local_tasks(objects, "default", held), all, kNow);
}

TEST(LocalTasksTest, AScreenfulOfEverything) {
  LocalObjects objects;
  auto web = decode_pod_seen(
      R"({"metadata":{"name":"web","namespace":"default","uid":"w","creationTimestamp":"2026-11-20T08:00:00Z",
    "labels":{"koordinator.sh/qosClass":"LS"}},"spec":{"nodeName":"n","priority":9000,"containers":[{"name":"main","resources":{
    "requests":{"cpu":"1500m","memory":"512Mi"}}}]},"status":{"phase":"Running","containerStatuses":[{"name":"main","restartCount":2,
    "state":{"running":{}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]}})");
  ASSERT_TRUE(web);
  objects.pods.push_back(*web);
  objects.usage[model::PodId("default", "web")] = {{250}, {std::int64_t{300} << 20}};

  objects.jobs = {
      job("fit", "11:00:00"),
      job("held", "11:10:00"),
      job("queued", "11:30:00"),
      job("again", "11:20:00"),
      job("bad", "10:00:00",
          R"({"failed":4,"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]})"),
      job("done", "09:00:00", R"({"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]})"),
      job("fresh", "11:59:00")};
  objects.pods.push_back(pod("fit-a", "fit", "11:00:00", "n", kRunning));
  objects.pods.push_back(pod("held-a", "held", "11:10:00", "n", kRunning));
  objects.pods.push_back(pod("queued-a", "queued", "11:30:00", "", kUnscheduled));
  objects.pods.push_back(pod("again-a", "again", "11:20:00", "n",
                             R"("status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True"}],
                                "containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":143}}}]})"));
  objects.pods.push_back(pod("again-b", "again", "11:40:00", "", kUnscheduled));
  objects.pods.push_back(pod(
      "bad-d", "bad", "10:30:00", "n",
      R"("status":{"phase":"Failed","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]})"));

  EXPECT_EQ(shown(objects, true, {{"uid-held-a", "held to a quota 40 % of the time"}}),
            R"(NAME    KIND    STATE          CPU       MEMORY       AGE    RUNS  WHY
web     online  Running        0.25/1.5  300Mi/512Mi  3d4h   3
done    batch   Succeeded      -/2       -/4Gi        3h0m   1
bad     batch   Failed exit 3  -/2       -/4Gi        2h0m   4
fit     batch   Running        -/2       -/4Gi        1h0m   1
held    batch   Limited        -/2       -/4Gi        50m0s  1     held to a quota 40 % of the time
again   batch   Requeued 2/2   -/2       -/4Gi        40m0s  1     batch-cpu: 500 of 2000 left
queued  batch   Waiting 1/2    -/2       -/4Gi        30m0s  0     batch-cpu: 500 of 2000 left
fresh   batch   Starting       -/2       -/4Gi        1m0s   0     its pod is not made yet
)");
  EXPECT_NE(shown(objects, false).find("2 more have ended: -a shows them\n"), std::string::npos);
  EXPECT_EQ(shown(objects, false).find("bad"), std::string::npos);
}

TEST(LocalTasksTest, ShowsWhoDeletedTask) {
  LocalObjects objects;
  objects.jobs = {job("a", "11:00:00")};
  objects.pods = {
      pod("a-1", "a", "11:00:00", "n",
          R"("status":{"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True","message":"memory"}],
                         "containerStatuses":[{"state":{"running":{}}}]})",
          R"(,"deletionTimestamp":"2026-11-23T11:59:00Z")")};
  auto tasks = local_tasks(objects, "default", {});
  EXPECT_EQ(state_text(tasks[0]), "Evicted");
  EXPECT_EQ(tasks[0].why, "memory");

  objects.pods = {pod("a-1", "", "11:00:00", "n", kRunning, R"(,"deletionTimestamp":"2026-11-23T11:59:00Z")")};
  objects.jobs.clear();
  EXPECT_EQ(state_text(local_tasks(objects, "default", {})[0]), "Stopping");
}

// An evicted pod is gone with its end: the job itself says that there was one.
TEST(LocalTasksTest, JobReportsEvictedPod) {
  const auto read = decode_job_seen(
      R"({"metadata":{"name":"a","namespace":"default","annotations":{"tidemark.io/queued-again":"3"}},"spec":{}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->queued_again, 3);
  for (const char* garbage : {"", "-1", "many", "9223372036854775807", "99999999999999999999", "1.5"}) {
    EXPECT_EQ(model::queued_again(garbage), 0) << garbage;
  }
  LocalObjects objects;
  objects.jobs = {job("a", "11:00:00")};
  objects.jobs[0].queued_again = 3;
  objects.pods = {pod("a-4", "a", "11:30:00", "", kUnscheduled)};
  auto tasks = local_tasks(objects, "default", {});
  EXPECT_EQ(state_text(tasks[0]), "Requeued 1/1");
  EXPECT_EQ(tasks[0].runs, 3);
  objects.pods = {pod("a-4", "a", "11:30:00", "n", kRunning)};
  tasks = local_tasks(objects, "default", {});
  EXPECT_EQ(state_text(tasks[0]), "Running");
  EXPECT_EQ(tasks[0].runs, 4);
}

TEST(LocalTasksTest, JobContinuesUntilItsConditionEndsIt) {
  LocalObjects objects;
  objects.jobs = {job("a", "11:00:00")};
  objects.pods = {pod(
      "a-1", "a", "11:00:00", "n",
      R"("status":{"phase":"Failed","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":9}}}]})")};
  EXPECT_EQ(state_text(local_tasks(objects, "default", {})[0]), "Restarting exit 9");
}

TEST(LocalTasksTest, ReportsCrashLoop) {
  LocalObjects objects;
  objects.pods = {pod("a", "", "11:00:00", "n",
                      R"("status":{"phase":"Running","containerStatuses":[{"name":"main","restartCount":4,
                         "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},"lastState":{"terminated":{"exitCode":2}}}]})")};
  const auto tasks = local_tasks(objects, "default", {});
  EXPECT_EQ(state_text(tasks[0]), "Restarting exit 2");
  EXPECT_EQ(tasks[0].why, "back-off 40s");
}

TEST(LocalTasksTest, QueueOrderIsPriorityThenAgeOverAllNamespaces) {
  LocalObjects objects;
  objects.pods = {pod("late", "", "11:30:00", "", kUnscheduled), pod("early", "", "11:00:00", "", kUnscheduled),
                  pod("prod", "", "11:59:00", "", kUnscheduled)};
  objects.pods[2].queued.priority = 9000;
  objects.pods[2].ns = objects.pods[2].queued.ns = "other";
  const auto tasks = local_tasks(objects, "default", {});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(state_text(tasks[0]), "Waiting 2/3");
  EXPECT_EQ(state_text(tasks[1]), "Waiting 3/3");
}

TEST(LocalTasksTest, OnlineAndOfflineWorkHaveSeparateQueues) {
  LocalObjects objects;
  const std::string_view waits =
      R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"position 2 of 9: cpu: 1 core wanted"}]})";
  auto web = decode_pod_seen(base::cat(
      R"({"metadata":{"name":"web","namespace":"default","uid":"w","creationTimestamp":"2026-11-23T11:40:00Z","labels":{)",
      R"("koordinator.sh/qosClass":"LS"}},"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]},)",
      waits, "}"));
  ASSERT_TRUE(web);
  objects.pods = {pod("a", "", "11:00:00", "", waits), pod("b", "", "11:30:00", "", waits), *web};
  const auto tasks = local_tasks(objects, "default", {});
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(state_text(tasks[0]), "Waiting 1/1");
  EXPECT_EQ(tasks[0].why, "cpu: 1 core wanted") << "the place as it was told is an old one";
  EXPECT_EQ(state_text(tasks[1]), "Waiting 1/2");
  EXPECT_EQ(state_text(tasks[2]), "Waiting 2/2");
}

TEST(LocalTasksTest, EmptyList) {
  EXPECT_EQ(shown({}), "nothing runs, waits or has ended\n");
  EXPECT_EQ(render_tasks_json({}, true).dump(), R"({"schema":1,"tasks":[]})");
}

TEST(LocalTasksTest, Json) {
  LocalObjects objects;
  objects.pods = {pod("a", "", "11:00:00", "", kUnscheduled)};
  EXPECT_EQ(
      render_tasks_json(local_tasks(objects, "", {}), true).dump(),
      R"({"schema":1,"tasks":[{"namespace":"default","name":"a","kind":"Pod","class":"batch","state":"Waiting","place":1,"queue":1,)"
      R"("cpuAskedMilli":2000,"memoryAskedBytes":4294967296,"created":"2026-11-23T11:00:00Z","runs":0,"pod":"a",)"
      R"("why":"batch-cpu: 500 of 2000 left"}]})");
}

TEST(LocalTasksTest, Amounts) {
  EXPECT_EQ(cores_text(0), "0");
  EXPECT_EQ(cores_text(1250), "1.25");
  EXPECT_EQ(cores_text(1999), "2");
  EXPECT_EQ(cores_text(50), "0.05");
  EXPECT_EQ(memory_text(0), "0");
  EXPECT_EQ(memory_text(1023), "1023");
  EXPECT_EQ(memory_text(1024), "1Ki");
  EXPECT_EQ(memory_text(std::int64_t{3} << 29), "1.5Gi");
  EXPECT_EQ(memory_text(std::int64_t{1500} << 20), "1.4Gi");
  EXPECT_EQ(memory_text(std::numeric_limits<std::int64_t>::max()), "8388607Ti");
  EXPECT_EQ(age_text(-5s), "0s");
  EXPECT_EQ(age_text(26h), "1d2h");
}

TEST(LocalTasksTest, ForeignTextStaysOnOneLine) {
  EXPECT_EQ(one_line("a\n\x1b[2Jb"), "a  [2Jb");
}

TEST(HeldBackTest, ReadsLimitedTasksFromRecord) {
  model::NodeRecord record;
  record.cpus = 8;
  record.offline_limit_milli = 2500;
  model::TaskRecord task;
  task.task = "u1";
  task.offline = true;
  task.throttled_permille = 400;
  record.tasks.push_back(task);
  task.task = "u2";
  task.throttled_permille = 49;
  task.cpu_pressure = 120;
  record.tasks.push_back(task);
  task.task = "u3";
  task.cpu_pressure = 0;
  record.tasks.push_back(task);
  task.task = "online";
  task.offline = false;
  task.throttled_permille = 900;
  record.tasks.push_back(task);
  EXPECT_EQ(held_back(record),
            (HeldBack{{"u1", "held to a quota 40 % of the time; offline work has 2.5 of 8 cores"},
                      {"u2", "waited for processors 12 % of the time; offline work has 2.5 of 8 cores"}}));
}

model::TaskRecord task(std::string name, bool offline, std::int64_t cpu_milli) {
  model::TaskRecord out;
  out.task = std::move(name);
  out.offline = offline;
  out.cpu_milli = cpu_milli;
  return out;
}

// As under the settings that a machine begins with: the quota is on the group above all of them.
TEST(HeldBackTest, RunningTasksAreLimitedIfOfflineWorkUsesItsQuota) {
  model::NodeRecord record;
  record.cpus = 8;
  record.offline_limit_milli = 2500;
  record.offline_milli = 2490;
  record.tasks = {task("runs", true, 2480), task("sleeps", true, 10), task("online", false, 3000)};
  EXPECT_EQ(held_back(record), (HeldBack{{"runs", "offline work uses all of the 2.5 of 8 cores that it has"}}));
  record.offline_milli = 2300;
  EXPECT_TRUE(held_back(record).empty());
  record.offline_milli = 2490;
  record.offline_limit_milli.reset();
  EXPECT_TRUE(held_back(record).empty()) << "nothing holds it";
}

// Under `cpuSuppressPolicy: idle`, on a kernel that tells no pressure.
TEST(HeldBackTest, FullMachineLimitsTasksWithoutQuota) {
  model::NodeRecord record;
  record.cpus = 8;
  record.cpu_milli = 7900;
  record.offline_milli = 2500;
  record.tasks = {task("runs", true, 2480), task("sleeps", true, 10)};
  EXPECT_EQ(held_back(record), (HeldBack{{"runs", "all 8 cores are in use, 5.4 of them not by offline work"}}));
  record.cpu_milli = 7000;
  EXPECT_TRUE(held_back(record).empty()) << "there is room";
  record.cpu_milli = record.offline_milli = 7900;
  EXPECT_TRUE(held_back(record).empty()) << "no other task wants them";
}

}  // namespace
}  // namespace tidemark::cli
