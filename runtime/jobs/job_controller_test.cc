// Jobs on an API server in memory; the test is the node, and ends pods as it likes.
#include "runtime/jobs/job_controller.h"

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "model/queued_again.h"
#include "net/testing/loop.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

struct JobControllerTest : ::testing::Test {
  void SetUp() override {
    auto opened = kube::memory::Server::open(loop, log, {}, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    api = std::move(*opened);
    transport = std::make_unique<kube::memory::LocalTransport>(loop, api->handler(), "tester");
    its_transport = std::make_unique<kube::memory::LocalTransport>(loop, its_handler(), "controller");
    kube::ClientConfig config;
    config.queries_per_second = 10'000;
    config.burst = 10'000;
    client = std::make_unique<kube::Client>(loop, *transport, [] { return std::string(); }, config, base::Random(1));
    its_client =
        std::make_unique<kube::Client>(loop, *its_transport, [] { return std::string(); }, config, base::Random(2));
    begin();
  }
  // Its last write gets no answer; whether the server had it is as `last_is_done` says.
  net::HttpHandler its_handler() {
    return [this, inner = api->handler()](net::HttpExchange& exchange) -> net::Task<void> {
      const bool is_write = exchange.head().method != "GET";
      if (exchange.head().method == "PATCH" && ahead_of_it) co_await ahead_of_it(exchange.head().target);
      if (!is_write || writes_left < 0 || writes_left-- > 0) {
        co_await inner(exchange);
        co_return;
      }
      if (last_is_done) co_await inner(exchange);
      writes_left = 0;
      dead = true;
      co_await loop.sleep(1000h);
    };
  }
  void TearDown() override {
    scope.reset();
    jobs.reset();
  }
  void begin() {
    scope.reset();
    jobs.reset();
    jobs = std::make_unique<JobController>(
        loop, *its_client, log, metrics.emplace_back(), base::Random(seed++), [] {}, bytes_max);
    scope.emplace(loop);
    scope->spawn(jobs->run());
  }
  void pass(base::Duration time) { net::testing::run_for(loop, clock, time); }
  template <class T>
  T wait(net::Task<T> task) {
    std::optional<T> value;
    net::Scope here(loop);
    here.spawn([](net::Task<T> what, std::optional<T>& into) -> net::Task<void> { into.emplace(co_await what); }(
                                                                 std::move(task), value));
    EXPECT_TRUE(net::testing::run_until(loop, clock, [&] { return value.has_value(); }, 1min));
    return std::move(*value);
  }
  static kube::WriteOptions in_default() {
    kube::WriteOptions out;
    out.ns = "default";
    return out;
  }
  void make(std::string_view spec, std::string_view name = "work") {
    create(spec, name);
    pass(2s);
  }
  void create(std::string_view spec, std::string_view name) {
    const auto tree = base::parse_yaml(base::cat("metadata: {name: ", name, "}\nspec:\n", spec,
                                                 "  template: {spec: {restartPolicy: Never, containers: [{name: main, "
                                                 "image: i, command: [x]}]}}\n"));
    ASSERT_TRUE(tree) << tree.error().message;
    const auto made = wait(client->create(kube::kJobs, tree->dump(), in_default(), "", 10s));
    ASSERT_TRUE(made) << made.error().message;
  }
  void create_ended(std::string_view spec, std::string_view name, base::WallTime ended) {
    create(spec, name);
    auto options = in_default();
    options.subresource = "status";
    const std::string at = base::format_rfc3339(ended);
    const std::string body =
        base::cat(R"({"status":{"succeeded":1,"startTime":")", at, R"(","completionTime":")", at,
                  R"(","conditions":[{"type":"Complete","status":"True","lastTransitionTime":")", at, R"("}]}})");
    const auto done = wait(client->patch(kube::kJobs, name, kube::PatchType::kMerge, body, options, 10s));
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<Json> list(const kube::Resource& resource) {
    std::vector<Json> out;
    kube::ListOptions where;
    where.ns = "default";
    const auto done = wait(client->list(
        resource, std::move(where),
        [&](std::string_view page) -> Result<void> {
          const auto parsed = Json::parse(page);
          if (!parsed || parsed->member("items") == nullptr) return {};
          for (const Json& each : parsed->member("items")->as_array()) out.push_back(each);
          return {};
        },
        [&] { out.clear(); }, 10s));
    EXPECT_TRUE(done);
    return out;
  }
  std::vector<Json> pods(std::string_view phase = "") {
    std::vector<Json> out;
    for (Json& each : list(kube::kPods)) {
      if (phase.empty() || each.text_at("status", "phase") == phase) out.push_back(std::move(each));
    }
    return out;
  }
  void end(const Json& pod, int code) {
    const std::string body =
        base::cat(R"({"status":{"phase":")", code == 0 ? "Succeeded" : "Failed",
                  R"(","containerStatuses":[{"name":"main","image":"i","imageID":"","ready":false,"restartCount":0,)",
                  R"("state":{"terminated":{"exitCode":)", code, R"(,"finishedAt":")",
                  base::format_rfc3339(clock.wall()), R"("}}}]}})");
    auto options = in_default();
    options.subresource = "status";
    const auto done =
        wait(client->patch(kube::kPods, pod.text_at("metadata", "name"), kube::PatchType::kMerge, body, options, 10s));
    ASSERT_TRUE(done) << done.error().message;
    pass(2s);
  }
  Json job() {
    const auto got = wait(client->get(kube::kJobs, "default", "work", 10s));
    return got ? Json::parse(*got).value_or(Json()) : Json();
  }
  std::string condition(std::string_view type) {
    const Json now = job();
    const Json* all = now.at("status", "conditions");
    if (all == nullptr || !all->is_array()) return "";
    for (const Json& each : all->as_array()) {
      if (each.text_at("type") == type && each.text_at("status") == "True") return std::string(each.text_at("reason"));
    }
    return "";
  }
  std::string queued_again() {
    return std::string(job().text_at("metadata", "annotations", model::kQueuedAgainAnnotation));
  }
  std::int64_t amount(std::string_view key) {
    const Json now = job();
    const Json* found = now.at("status", key);
    return found == nullptr ? 0 : found->get_int().value_or(0);
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> api;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::memory::LocalTransport> its_transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::Client> its_client;
  int writes_left = -1;  // until it dies; -1: it lives
  bool last_is_done = false;
  std::function<net::Task<void>(std::string target)> ahead_of_it;  // of each of its patches
  bool dead = false;
  std::list<base::Registry> metrics;
  std::uint64_t seed = 7;
  std::size_t bytes_max = kJobsBytesMax;
  std::unique_ptr<JobController> jobs;
  std::optional<net::Scope> scope;
};

TEST_F(JobControllerTest, CreatesPodsAndCountsTheirEnds) {
  make("  completions: 3\n  parallelism: 2\n");
  ASSERT_EQ(pods().size(), 2U);
  const Json pod = pods()[0];
  EXPECT_EQ(pod.text_at("metadata", "labels", "job-name"), "work");
  EXPECT_EQ(pod.at("metadata", "ownerReferences")->as_array()[0].text_at("uid"), job().text_at("metadata", "uid"));
  EXPECT_TRUE(pod.text_at("metadata", "name").starts_with("work-"));
  EXPECT_EQ(amount("active"), 2);
  end(pods()[0], 0);
  ASSERT_EQ(pods("Pending").size(), 2U);
  end(pods("Pending")[0], 0);
  end(pods("Pending")[0], 0);
  EXPECT_EQ(condition("Complete"), "CompletionsReached") << lines;
  EXPECT_EQ(amount("succeeded"), 3);
  EXPECT_EQ(amount("active"), 0);
  EXPECT_EQ(pods().size(), 3U);
  for (const Json& each : pods()) EXPECT_EQ(each.at("metadata", "finalizers"), nullptr);
}

TEST_F(JobControllerTest, RetriesFailureUpToLimit) {
  make("  backoffLimit: 1\n");
  end(pods()[0], 1);
  EXPECT_EQ(pods().size(), 1U) << "the next one waits";
  pass(10s);
  ASSERT_EQ(pods("Pending").size(), 1U);
  end(pods("Pending")[0], 1);
  EXPECT_EQ(condition("Failed"), "BackoffLimitExceeded") << lines;
  EXPECT_EQ(amount("failed"), 2);
}

TEST_F(JobControllerTest, ReplacesEvictedPodWithoutCountingIt) {
  make(
      "  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, "
      "status: 'True'}]}]}\n");
  const std::string first(pods()[0].text_at("metadata", "name"));
  ASSERT_TRUE(wait(client->patch(kube::kPods, first, kube::PatchType::kMerge, R"({"metadata":{"labels":{"a":"b"}}})",
                                 in_default(), 10s)));
  kube::WriteOptions binding = in_default();
  binding.subresource = "binding";
  ASSERT_TRUE(
      wait(client->create(kube::kPods, R"({"target":{"kind":"Node","name":"n"},"metadata":{"name":")" + first + "\"}}",
                          binding, first, 10s)));
  auto status = in_default();
  status.subresource = "status";
  ASSERT_TRUE(
      wait(client->patch(kube::kPods, first, kube::PatchType::kStrategicMerge,
                         R"({"status":{"conditions":[{"type":"DisruptionTarget","status":"True"}]}})", status, 10s)));
  ASSERT_TRUE(wait(client->remove(kube::kPods, first, "", in_default(), 10s)));
  pass(2s);
  EXPECT_EQ(pods().size(), 1U) << "its end is waited for";
  end(pods()[0], 143);
  auto now = in_default();
  now.grace_period_s = 0;
  [[maybe_unused]] const auto gone = wait(client->remove(kube::kPods, first, "", now, 10s));
  pass(2s);
  ASSERT_EQ(pods().size(), 1U) << lines;
  EXPECT_NE(pods()[0].text_at("metadata", "name"), first);
  EXPECT_EQ(amount("failed"), 0);
  EXPECT_EQ(condition("Failed"), "");
  EXPECT_EQ(queued_again(), "1");
}

// Two at once, by a controller that dies at any write: each is in the number once.
TEST_F(JobControllerTest, RecordsRequeueCountOnce) {
  for (const bool done : {false, true}) {
    for (int lives = 0; lives < 6; ++lives) {
      make(
          "  parallelism: 2\n  completions: 2\n  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, "
          "onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}\n");
      last_is_done = done;
      writes_left = lives;
      for (const Json& each : pods("Pending")) {
        auto status = in_default();
        status.subresource = "status";
        ASSERT_TRUE(wait(
            client->patch(kube::kPods, each.text_at("metadata", "name"), kube::PatchType::kStrategicMerge,
                          R"({"status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True"}]}})",
                          status, 10s)));
      }
      pass(10s);
      writes_left = -1;
      dead = false;
      begin();
      pass(30s);
      EXPECT_EQ(queued_again(), "2") << lives << done << lines;
      EXPECT_EQ(pods("Pending").size(), 2U) << lives << done;
      EXPECT_EQ(condition("Failed"), "");
      kube::WriteOptions background = in_default();
      background.propagation = "Background";
      ASSERT_TRUE(wait(client->remove(kube::kJobs, "work", "", background, 10s)));
      pass(60s);
    }
  }
}

TEST_F(JobControllerTest, NextControllerContinues) {
  make("  completions: 4\n  parallelism: 2\n");
  for (int i = 0; i < 4; ++i) {
    scope.reset();  // it dies
    const auto waiting = pods("Pending");
    ASSERT_FALSE(waiting.empty()) << i;
    end(waiting[0], 0);
    begin();
    pass(5s);
    EXPECT_LE(pods("Pending").size(), 2U);
  }
  EXPECT_EQ(condition("Complete"), "CompletionsReached") << lines;
  EXPECT_EQ(amount("succeeded"), 4);
  EXPECT_EQ(pods().size(), 4U);
}

// A job of four successes and two failures, by a controller that dies at its first write, its second, … and by the next
// one that does not live longer: the counts are those of what ended, and no more run than may.
TEST_F(JobControllerTest, CountsEndedPodsAfterCrashAtAnyWrite) {
  for (const bool done : {false, true}) {
    for (int lives = 1; lives < 12; ++lives) {
      last_is_done = done;
      int failures = 2, successes = 0;
      writes_left = lives;
      make("  completions: 4\n  parallelism: 2\n");
      for (int i = 0; i < 200 && condition("Complete").empty(); ++i) {
        if (dead) {
          dead = false;
          begin();
          // From now on each life is long enough for one write more, at least.
          writes_left = lives + i;
        }
        pass(3s);
        const auto waiting = pods("Pending");
        // Where an answer was lost one more is there until the next life sees it.
        EXPECT_LE(waiting.size(), done ? 3U : 2U);
        if (waiting.empty() || i % 3 != 0) {
          pass(20s);
          continue;
        }
        if (failures > 0 && i % 2 == 1) {
          --failures;
          end(waiting[0], 1);
        } else {
          ++successes;
          end(waiting[0], 0);
        }
      }
      EXPECT_EQ(condition("Complete"), "CompletionsReached") << lives << lines;
      EXPECT_EQ(amount("succeeded"), successes) << lives;
      EXPECT_EQ(amount("failed"), 2 - failures) << lives;
      writes_left = -1;
      if (dead) begin();
      dead = false;
      kube::WriteOptions background = in_default();
      background.propagation = "Background";
      ASSERT_TRUE(wait(client->remove(kube::kJobs, "work", "", background, 10s)));
      pass(60s);
      ASSERT_TRUE(pods().empty()) << lives;
    }
  }
}

TEST_F(JobControllerTest, ReclaimedPodIsNotAFailure) {
  make("  completions: 3\n  parallelism: 3\n  backoffLimit: 0\n");
  ASSERT_EQ(pods().size(), 3U);
  const auto set = [this](std::string_view spec) {
    ASSERT_TRUE(wait(client->patch(kube::kJobs, "work", kube::PatchType::kMerge, base::cat(R"({"spec":)", spec, "}"),
                                   in_default(), 10s)));
    pass(2s);
  };
  set(R"({"parallelism":1})");
  EXPECT_EQ(pods().size(), 1U);
  set(R"({"suspend":true})");
  EXPECT_EQ(pods().size(), 0U);
  EXPECT_EQ(condition("Suspended"), "JobSuspended");
  set(R"({"suspend":false})");
  EXPECT_EQ(pods().size(), 1U) << "at once";
  EXPECT_EQ(amount("failed"), 0);
  EXPECT_EQ(condition("Failed") + condition("Suspended"), "");
}

TEST_F(JobControllerTest, SuccessDuringReclaimCounts) {
  make("  completions: 3\n  parallelism: 2\n");
  ahead_of_it = [this](std::string target) -> net::Task<void> {
    const auto at = target.find("/pods/");
    if (at == std::string::npos) co_return;
    const std::string name = target.substr(at + 6, target.find('?') - at - 6);
    kube::WriteOptions status = in_default();
    status.subresource = "status";
    EXPECT_TRUE(co_await client->patch(kube::kPods, name, kube::PatchType::kMerge,
                                       R"({"status":{"phase":"Succeeded"}})", status, 10s));
  };
  ASSERT_TRUE(wait(
      client->patch(kube::kJobs, "work", kube::PatchType::kMerge, R"({"spec":{"suspend":true}})", in_default(), 10s)));
  pass(10s);
  EXPECT_EQ(amount("succeeded"), 2) << lines;
}

TEST_F(JobControllerTest, ContainerRestartsCountAgainstLimit) {
  const auto tree = base::parse_yaml(
      "metadata: {name: work}\nspec:\n  backoffLimit: 2\n  template: {spec: {restartPolicy: OnFailure, containers: "
      "[{name: main, image: i, command: [x]}]}}\n");
  ASSERT_TRUE(wait(client->create(kube::kJobs, tree->dump(), in_default(), "", 10s)));
  pass(2s);
  kube::WriteOptions status = in_default();
  status.subresource = "status";
  ASSERT_TRUE(wait(client->patch(kube::kPods, pods()[0].text_at("metadata", "name"), kube::PatchType::kMerge,
                                 R"({"status":{"phase":"Running","containerStatuses":[{"name":"main","image":"i",)"
                                 R"("imageID":"","ready":true,"restartCount":2,"state":{"running":{}}}]}})",
                                 status, 10s)));
  pass(2s);
  EXPECT_EQ(condition("Failed"), "BackoffLimitExceeded") << job().dump();
  EXPECT_TRUE(pods().empty());
}

TEST_F(JobControllerTest, OrphanDeleteKeepsPods) {
  make("  parallelism: 2\n  completions: 2\n");
  kube::WriteOptions orphan = in_default();
  orphan.propagation = "Orphan";
  ASSERT_TRUE(wait(client->remove(kube::kJobs, "work", "", orphan, 10s)));
  pass(10s);
  EXPECT_TRUE(job().is_null());
  const auto left = pods();
  ASSERT_EQ(left.size(), 2U) << lines;
  for (const Json& each : left) {
    EXPECT_EQ(each.at("metadata", "deletionTimestamp"), nullptr);
    EXPECT_EQ(each.at("metadata", "finalizers"), nullptr) << "or it could not be deleted";
  }
}

TEST_F(JobControllerTest, KeepsForeignConditions) {
  make("  completions: 2\n");
  kube::WriteOptions status = in_default();
  status.subresource = "status";
  ASSERT_TRUE(wait(client->patch(kube::kJobs, "work", kube::PatchType::kStrategicMerge,
                                 R"({"status":{"conditions":[{"type":"example.com/Seen","status":"True",)"
                                 R"("reason":"Here","message":""}]}})",
                                 status, 10s)));
  pass(2s);
  end(pods()[0], 0);
  end(pods("Pending")[0], 0);
  EXPECT_EQ(condition("Complete"), "CompletionsReached");
  EXPECT_EQ(condition("example.com/Seen"), "Here");
}

TEST_F(JobControllerTest, FailureWithoutEndedContainerBacksOff) {
  make("  completions: 1\n");
  kube::WriteOptions status = in_default();
  status.subresource = "status";
  ASSERT_TRUE(wait(client->patch(kube::kPods, pods()[0].text_at("metadata", "name"), kube::PatchType::kMerge,
                                 R"({"status":{"phase":"Failed","reason":"Unrunnable"}})", status, 10s)));
  pass(2s);
  EXPECT_EQ(pods().size(), 1U);
  pass(20s);
  EXPECT_EQ(pods().size(), 2U);
}

TEST_F(JobControllerTest, EachIndexHasItsPod) {
  make("  completions: 3\n  parallelism: 3\n  completionMode: Indexed\n");
  std::set<std::string> seen;
  for (const Json& each : pods()) {
    seen.emplace(each.text_at("metadata", "annotations", kJobIndexAnnotation));
    const Json& env = *each.at("spec", "containers")->as_array()[0].member("env");
    EXPECT_EQ(env.as_array()[0].text_at("name"), "JOB_COMPLETION_INDEX");
  }
  EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2"}));
  while (!pods("Pending").empty()) end(pods("Pending")[0], 0);
  EXPECT_EQ(job().text_at("status", "completedIndexes"), "0-2");
  EXPECT_EQ(condition("Complete"), "CompletionsReached");
}

TEST_F(JobControllerTest, DeletedJobDeletesPods) {
  make("  parallelism: 2\n  completions: 2\n");
  kube::WriteOptions background = in_default();
  background.propagation = "Background";
  ASSERT_TRUE(wait(client->remove(kube::kJobs, "work", "", background, 10s)));
  pass(60s);
  EXPECT_TRUE(pods().empty()) << lines;
}

TEST_F(JobControllerTest, DeletesJobAndPodsAfterTtl) {
  make("  ttlSecondsAfterFinished: 30\n");
  end(pods()[0], 0);
  pass(20s);
  EXPECT_FALSE(job().is_null());
  pass(60s);
  EXPECT_TRUE(job().is_null());
  EXPECT_TRUE(pods().empty());
}

// A day of short ones as `tidemark local run` makes them, each of which is kept for a day.
TEST_F(JobControllerTest, KeepsLastEndedJobs) {
  scope.reset();
  jobs.reset();
  constexpr int kMade = 3000;
  create_ended("", "kept", clock.wall());  // no ttlSecondsAfterFinished: it stays
  for (int i = 0; i < kMade; ++i) {
    create_ended("  ttlSecondsAfterFinished: 86400\n", base::cat("short-", i), clock.wall() + std::chrono::seconds(i));
  }
  create("  ttlSecondsAfterFinished: 86400\n", "runs");
  begin();
  pass(60s);
  std::set<std::string> names;
  for (const Json& each : list(kube::kJobs)) names.emplace(each.text_at("metadata", "name"));
  EXPECT_EQ(names.size(), kEndedJobsMax + 2) << lines;
  EXPECT_TRUE(names.contains("kept") && names.contains("runs"));
  for (int i = kMade - static_cast<int>(kEndedJobsMax); i < kMade; ++i) {
    EXPECT_TRUE(names.contains(base::cat("short-", i))) << i;
  }
}

TEST_F(JobControllerTest, FullStoreStillDeletesEndedJob) {
  bytes_max = 32 << 10;
  begin();
  make("  ttlSecondsAfterFinished: 30\n");
  end(pods()[0], 0);
  for (int i = 0; i < 1000 && !lines.contains("cache budget reached"); ++i) {
    create("  suspend: true\n", base::cat("more-", i));
  }
  ASSERT_TRUE(lines.contains("cache budget reached"));
  pass(60s);
  EXPECT_TRUE(job().is_null()) << lines;
}

TEST_F(JobControllerTest, ClockChangeDoesNotEndOrDelayJobs) {
  make("  backoffLimit: 3\n  activeDeadlineSeconds: 3600\n  ttlSecondsAfterFinished: 600\n");
  clock.jump_wall(48h);
  end(pods()[0], 1);
  EXPECT_EQ(condition("Failed"), "") << "an hour has not passed";
  clock.jump_wall(-96h);
  pass(9s);
  ASSERT_EQ(pods("Pending").size(), 1U) << "ten seconds after a failure there is another try";
  end(pods("Pending")[0], 0);
  EXPECT_EQ(condition("Complete"), "CompletionsReached") << lines;
  clock.jump_wall(96h);
  pass(60s);
  EXPECT_FALSE(job().is_null()) << "ten minutes have not passed";
  pass(600s);
  EXPECT_TRUE(job().is_null());
}

// Nothing else is known of what happened before: a failure that seems to be of the future is of now.
TEST_F(JobControllerTest, UsesWallClockForStatesOfAnotherController) {
  make("  backoffLimit: 3\n");
  end(pods()[0], 1);
  clock.jump_wall(-48h);
  begin();
  pass(8s);
  EXPECT_EQ(pods().size(), 1U);
  pass(4s);
  EXPECT_EQ(pods("Pending").size(), 1U);
}

TEST_F(JobControllerTest, ReportsUnsupportedFields) {
  make("  completions: 2\n  completionMode: Indexed\n  backoffLimitPerIndex: 1\n  ttlSecondsAfterFinished: 30\n");
  EXPECT_EQ(condition("Failed"), "CannotRunHere");
  EXPECT_TRUE(pods().empty());
  pass(60s);
  EXPECT_TRUE(job().is_null()) << "and it goes as any other";
}

}  // namespace
}  // namespace tidemark::runtime
