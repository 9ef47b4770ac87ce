// What the kubelet, the eviction API and the scheduler leave in a pod, and what is read of it.
#include "manager/evictions/pod_end.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "manager/evictions/eviction_tally.h"

namespace tidemark::manager {
namespace {

using base::cat;

PodEnd read_pod_end(std::string_view status, std::string_view meta = "", std::string_view spec = "") {
  kube::Interner interner;
  auto end = decode_pod_end(
      cat(R"({"metadata":{"namespace":"jobs","name":"p","resourceVersion":"1")", meta,
          R"(},"spec":{"nodeName":"n1","containers":[{"name":"c"}])", spec, R"(},"status":{)", status, "}}"),
      interner);
  EXPECT_TRUE(end.has_value()) << end.error().message;
  return end ? std::move(*end) : PodEnd();
}

std::string disrupted(std::string_view reason, std::string_view phase = "Running") {
  return cat(R"("phase":")", phase, R"(","conditions":[{"type":"Ready","status":"False",
      "lastTransitionTime":"2026-11-21T20:00:07Z"},{"type":"DisruptionTarget","status":"True","reason":")",
             reason, R"(","lastTransitionTime":"2026-11-21T20:00:05Z"}])");
}

TEST(PodEnd, ReadsTheCauseFromTheStatus) {
  EXPECT_EQ(read_pod_end(R"("phase":"Running")").by, EndedBy::kNothing);
  EXPECT_EQ(read_pod_end(R"("phase":"Succeeded")").by, EndedBy::kItself);
  EXPECT_EQ(read_pod_end(R"("phase":"Failed","reason":"DeadlineExceeded")").by, EndedBy::kItself);
  EXPECT_EQ(read_pod_end(R"("phase":"Failed","reason":"Evicted")").by, EndedBy::kKubelet);
  EXPECT_EQ(read_pod_end(R"("phase":"Failed","reason":"Preempting")").by, EndedBy::kKubelet);
  EXPECT_EQ(read_pod_end(disrupted("EvictionByEvictionAPI")).by, EndedBy::kEvictionApi);
  EXPECT_EQ(read_pod_end(disrupted("EvictionByEvictionAPI", "Failed")).by, EndedBy::kEvictionApi);
  EXPECT_EQ(read_pod_end(disrupted("PreemptionByScheduler")).by, EndedBy::kScheduler);
  EXPECT_EQ(read_pod_end(disrupted("DeletionByTaintManager")).by, EndedBy::kNode);
  EXPECT_EQ(read_pod_end(disrupted("DeletionByPodGC", "Failed")).by, EndedBy::kNode);
  EXPECT_EQ(read_pod_end(disrupted("somebody's own")).by, EndedBy::kNode);
}

TEST(PodEnd, CauseMayFollowTheStartOfTermination) {
  EXPECT_EQ(read_pod_end(disrupted("TerminationByKubelet")).by, EndedBy::kNothing);
  EXPECT_EQ(read_pod_end(cat(disrupted("TerminationByKubelet", "Failed"), R"(,"reason":"Evicted")")).by,
            EndedBy::kKubelet);
  // The node shuts down: that is no eviction.
  EXPECT_EQ(read_pod_end(cat(disrupted("TerminationByKubelet", "Failed"), R"(,"reason":"Terminated")")).by,
            EndedBy::kNode);
}

TEST(PodEnd, OomKillIsNotAPlainEnd) {
  const auto ended = [](std::string_view list, std::string_view state) {
    return cat(R"(")", list, R"(":[{"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},)",
               R"({"name":"b","lastState":{},"state":{)", state, "}}]");
  };
  const std::string killed = R"("terminated":{"exitCode":137,"reason":"OOMKilled","startedAt":null})";
  const std::string failed = R"("phase":"Failed",)";
  EXPECT_EQ(read_pod_end(failed + ended("containerStatuses", killed)).by, EndedBy::kKernel);
  EXPECT_EQ(read_pod_end(failed + ended("initContainerStatuses", killed)).by, EndedBy::kKernel);
  EXPECT_EQ(read_pod_end(failed + ended("containerStatuses", R"("terminated":{"exitCode":137,"reason":"Error"})")).by,
            EndedBy::kItself);
  EXPECT_EQ(read_pod_end(R"("phase":"Running",)" + ended("containerStatuses", R"("running":{})")).by,
            EndedBy::kNothing);
  // One that goes on, and one that was evicted before.
  EXPECT_EQ(read_pod_end(R"("phase":"Running",)" + ended("containerStatuses", killed)).by, EndedBy::kNothing);
  EXPECT_EQ(read_pod_end(R"("reason":"Evicted",)" + failed + ended("containerStatuses", killed)).by, EndedBy::kKubelet);
  EXPECT_FALSE(
      read_pod_end(failed + ended("containerStatuses", killed), R"(,"labels":{"koordinator.sh/qosClass":"BE"})")
          .makes_back_off());
}

TEST(PodEnd, IgnoresConditionsThatAreNotTrue) {
  EXPECT_EQ(read_pod_end(R"("phase":"Running","conditions":[{"type":"DisruptionTarget","status":"False",
      "reason":"EvictionByEvictionAPI"}])")
                .by,
            EndedBy::kNothing);
}

TEST(PodEnd, EndTimeIsTheLastConditionTransition) {
  const auto end = read_pod_end(disrupted("EvictionByEvictionAPI"));
  ASSERT_TRUE(end.when.has_value());
  EXPECT_EQ(base::format_rfc3339(*end.when), "2026-11-21T20:00:07Z");
  EXPECT_EQ(read_pod_end(R"("phase":"Failed")").when, std::nullopt);
}

TEST(PodEnd, JobIsLabelElseOwnerElsePod) {
  EXPECT_EQ(read_pod_end("", R"(,"labels":{"tidemark.io/job":"nightly"})").job_name(), "jobs/nightly");
  EXPECT_EQ(
      read_pod_end("", R"(,"ownerReferences":[{"kind":"Job","name":"etl-7","controller":true,"uid":"u"}])").job_name(),
      "jobs/Job/etl-7");
  EXPECT_EQ(read_pod_end("").job_name(), "jobs/Pod/p");
}

TEST(PodEnd, PriorityOrRequestsMakeAPodOffline) {
  EXPECT_TRUE(read_pod_end("", R"(,"labels":{"koordinator.sh/priority-class":"koord-batch"})").offline);
  EXPECT_TRUE(read_pod_end("", R"(,"labels":{"koordinator.sh/qosClass":"BE"})").offline);
  EXPECT_FALSE(read_pod_end("", R"(,"labels":{"koordinator.sh/qosClass":"LS"})").offline);
  EXPECT_EQ(read_pod_end("", R"(,"labels":{"tidemark.io/class":"spark"})").work_class.view(), "spark");
}

TEST(PodEnd, RefusesInputThatIsNotAPod) {
  kube::Interner interner;
  EXPECT_FALSE(decode_pod_end("{", interner).has_value());
  EXPECT_FALSE(decode_pod_end(R"({"status":{"conditions":{}}})", interner).has_value());
}

TEST(EvictionTally, CountsByPoolWithinTheWindow) {
  const base::WallTime now{std::chrono::hours(500'000)};
  const auto pool = [](std::string_view node) { return node == "gone" ? std::string() : std::string("pool"); };
  EvictionTally tally;
  const auto evict = [&](std::string_view node, int count, base::WallTime when) {
    for (int i = 0; i < count; ++i) tally.evicted(node, when);
  };
  using std::chrono::minutes;
  evict("a", 3, now + -minutes(2));
  evict("a", 5, now + -minutes(20));
  evict("gone", 9, now);
  evict("", 9, now);
  evict("b", 6, now);
  using List = std::vector<policy::settings::PoolEvictions>;
  EXPECT_EQ(tally.count(now, minutes(5), pool), (List{{"pool", 9}}));
  EXPECT_EQ(tally.count(now, minutes(30), pool), (List{{"pool", 14}}));
  EXPECT_EQ(tally.count(now + minutes(4), minutes(5), pool), (List{{"pool", 6}}));
  EXPECT_EQ(tally.count(now + minutes(120), minutes(60), pool), List());
}

}  // namespace
}  // namespace tidemark::manager
