// The commands for one machine against the API server in memory, with objects as the runtime of `tidemark up` leaves
// them.
#include <gtest/gtest.h>

#include <memory>

#include "base/testing/clock.h"
#include "base/text.h"
#include "cli/local/logs.h"
#include "cli/local/ps.h"
#include "cli/local/run.h"
#include "cli/local/server.h"
#include "cli/local/stop.h"
#include "cli/local/top.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kPodsPath = "/api/v1/namespaces/default/pods";
constexpr std::string_view kJobsPath = "/apis/batch/v1/namespaces/default/jobs";

class LocalCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    for (const auto& [name, value] :
         {std::pair("koord-prod", 9000), std::pair("koord-mid", 7000), std::pair("koord-batch", 5000)}) {
      call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
           base::cat(R"({"metadata":{"name":")", name, R"("},"value":)", value, "}"));
    }
  }

  std::optional<Json> ask(std::string_view method, std::string_view target, std::string body = "",
                          std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.set("content-type", type);
    auto response = net::testing::run_task(loop, clock, transport->fetch(std::move(request), 10s));
    EXPECT_TRUE(response);
    if (response->status == 404) return std::nullopt;
    EXPECT_LT(response->status, 300) << response->body;
    return *Json::parse(response->body);
  }
  Json call(std::string_view method, std::string_view target, std::string body = "",
            std::string_view type = "application/json") {
    auto answer = ask(method, target, std::move(body), type);
    EXPECT_TRUE(answer) << target;
    return answer.value_or(Json());
  }

  static RunOptions batch(std::string name) {
    RunOptions options;
    options.command = {"sleep", "1"};
    options.name = std::move(name);
    options.dir = "/";
    return options;
  }
  Result<bool> run(RunOptions options) {  // whether it took the place of one that had ended
    return net::testing::run_task(loop, clock, run_local(loop, *client, std::move(options), 10s));
  }
  Result<std::string> stop(StopOptions options) {
    return net::testing::run_task(loop, clock, stop_local(loop, *client, std::move(options)));
  }
  Result<std::string> ps() {
    PsOptions options;
    options.server.data_dir = "/nonexistent";
    options.all = true;
    return net::testing::run_task(loop, clock, local_ps(loop, *client, options));
  }

  // What the Job controller and the scheduler would do.
  void start(const std::string& job, const std::string& pod) {
    const Json made = call("GET", base::cat(kJobsPath, "/", job));
    Json body = *made.at("spec", "template");
    body["metadata"]["name"] = pod;
    body["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "batch/v1"},
                                                                     {"kind", "Job"},
                                                                     {"name", job},
                                                                     {"uid", made.text_at("metadata", "uid")},
                                                                     {"controller", true}})});
    call("POST", kPodsPath, body.dump());
    call("POST", base::cat(kPodsPath, "/", pod, "/binding"),
         R"({"metadata":{"name":")" + pod + R"("},"target":{"kind":"Node","name":"n"}})");
    call(
        "PATCH", base::cat(kPodsPath, "/", pod, "/status"),
        R"({"status":{"phase":"Running","containerStatuses":[{"name":"main","image":"local","imageID":"","restartCount":0,"ready":true,"state":{"running":{}}}]}})",
        kMergePatch);
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kWarn, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
};

TEST_F(LocalCommandsTest, RunListsAndStopsTask) {
  ASSERT_TRUE(run(batch("a")));
  RunOptions online = batch("web");
  online.work_class = model::PriorityClass::kProd;
  ASSERT_TRUE(run(online));
  start("a", "a-12345");
  auto listed = ps();
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_NE(listed->find("web   online  Waiting 1/1"), std::string::npos) << *listed;
  EXPECT_NE(listed->find("a     batch   Running"), std::string::npos) << *listed;

  auto stopped = stop({.names = {"a", "web"}});
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(*stopped,
            "a is asked to end, and killed after its grace\nweb is asked to end, and killed after its grace\n");
  EXPECT_FALSE(ask("GET", base::cat(kJobsPath, "/a")));
  EXPECT_FALSE(ask("GET", base::cat(kPodsPath, "/web"))) << "it does not run: it is gone at once";
}

TEST_F(LocalCommandsTest, TaskNameIsUnique) {
  ASSERT_TRUE(run(batch("a")));
  for (const auto work_class : {model::PriorityClass::kBatch, model::PriorityClass::kProd}) {
    RunOptions again = batch("a");
    again.work_class = work_class;
    const auto made = run(again);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::kAlreadyExists);
    EXPECT_NE(made.error().message.find("tidemark local stop a"), std::string::npos);
  }
}

TEST_F(LocalCommandsTest, NowShortensGraceOfJobPods) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  ASSERT_TRUE(stop({.names = {"a"}, .now = true}));
  net::testing::run_for(loop, clock, 5s);
  const Json pod = call("GET", base::cat(kPodsPath, "/a-12345"));
  EXPECT_EQ(*pod.at("metadata", "deletionGracePeriodSeconds"), Json(1));
}

TEST_F(LocalCommandsTest, WaitEndsWhenTasksAreGone) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  std::optional<Result<std::string>> answer;
  net::Scope scope(loop);
  const auto run_it = [&]() -> net::Task<void> {
    answer = co_await stop_local(loop, *client, {.names = {"a"}, .wait = 1min});
  };
  scope.spawn(run_it());
  net::testing::run_for(loop, clock, 20s);
  EXPECT_FALSE(answer) << "its pod is still there";
  call("DELETE", base::cat(kPodsPath, "/a-12345"), R"({"gracePeriodSeconds":0})");  // as the runtime does in the end
  net::testing::run_for(loop, clock, 2s);
  ASSERT_TRUE(answer);
  EXPECT_EQ(**answer, "a is asked to end\nall of it has ended\n");
}

TEST_F(LocalCommandsTest, WaitTimesOut) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  const auto answer = stop({.names = {"a"}, .wait = 1min});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kDeadline);
}

TEST_F(LocalCommandsTest, WrongNamesStopNothing) {
  ASSERT_TRUE(run(batch("train")));
  start("train", "train-12345");
  auto answer = stop({.names = {"train", "trainn"}});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("did you mean train?"), std::string::npos) << answer.error().message;
  answer = stop({.names = {"train-12345"}});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("stop train"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(ask("GET", base::cat(kJobsPath, "/train")));
}

// The logs of tasks, with the server there and away.
class LocalLogsTest : public LocalCommandsTest {
 protected:
  static std::string line(std::string_view stream, std::string_view text) {
    return base::cat("2026-11-23T12:00:00Z ", stream, " F ", text, "\n");
  }
  // Of a pod that the server has, as the runtime names its folder.
  std::string log_of(const std::string& pod, int attempt = 0) {
    return base::cat("logs/default_", pod, "_", call("GET", base::cat(kPodsPath, "/", pod)).text_at("metadata", "uid"),
                     "/main/", attempt, ".log");
  }
  LogsOptions logs(std::string name) {
    LogsOptions options;
    options.server.data_dir = tree.root();
    options.name = std::move(name);
    return options;
  }
  LogText::Put put() {
    return [this](LogStream stream, std::string_view text) { (stream == LogStream::kOut ? out : error) += text; };
  }
  Result<std::optional<LocalTask>> show(const LogsOptions& options, bool with_server = true) {
    return net::testing::run_task(loop, clock, local_logs(loop, with_server ? client.get() : nullptr, options, put()));
  }
  void finish(const std::string& job, const std::string& pod, int exit_code) {
    call("PATCH", base::cat(kPodsPath, "/", pod, "/status"),
         base::cat(
             R"({"status":{"phase":")", exit_code == 0 ? "Succeeded" : "Failed",
             R"(","containerStatuses":[{"name":"main","image":"local","imageID":"","restartCount":0,"ready":false,)",
             R"("state":{"terminated":{"exitCode":)", exit_code, "}}}]}}"),
         kMergePatch);
    if (!job.empty()) {
      call("PATCH", base::cat(kJobsPath, "/", job, "/status"),
           base::cat(R"({"status":{"conditions":[{"type":")", exit_code == 0 ? "Complete" : "Failed",
                     R"(","status":"True"}]}})"),
           kMergePatch);
    }
  }

  linux::testing::Tree tree;
  std::string out, error;
};

// What runs each night by the same name.
TEST_F(LocalLogsTest, NameOfEndedJobCanBeReused) {
  for (const int exit_code : {0, 1}) {
    const auto made = run(batch("nightly"));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(*made, exit_code != 0) << "the second one";
    start("nightly", "nightly-12345");
    EXPECT_FALSE(run(batch("nightly"))) << "it runs";
    finish("nightly", "nightly-12345", exit_code);
  }
  RunOptions online = batch("nightly");
  online.work_class = model::PriorityClass::kProd;
  const auto made = run(online);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(*made);
  EXPECT_FALSE(ask("GET", base::cat(kJobsPath, "/nightly")));
  EXPECT_FALSE(ask("GET", base::cat(kPodsPath, "/nightly-12345")));
}

TEST_F(LocalLogsTest, SplitsJobOutputByStream) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  tree.write(log_of("a-12345"), line("stdout", "said") + line("stderr", "complained"));
  auto shown = show(logs("a"));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(out, "said\n");
  EXPECT_EQ(error, "complained\n");
}

TEST_F(LocalLogsTest, FindsLogsByNameWithoutServer) {
  tree.write("logs/default_a-12345_u1/main/0.log", line("stdout", "job"));
  tree.write("logs/default_web_u2/main/0.log", line("stdout", "pod"));
  ASSERT_TRUE(show(logs("a"), false));
  ASSERT_TRUE(show(logs("web"), false));
  EXPECT_EQ(out, "job\npod\n");
}

TEST_F(LocalLogsTest, PreviousIsTheAttemptBeforeTheLast) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  tree.write(log_of("a-12345", 0), line("stdout", "first"));
  LogsOptions options = logs("a");
  options.previous = true;
  EXPECT_FALSE(show(options));
  tree.write(log_of("a-12345", 1), "2026-11-23T12:00:01Z stdout F second\n");
  ASSERT_TRUE(show(options));
  EXPECT_EQ(out, "first\n");
}

TEST_F(LocalLogsTest, NamesMissingTask) {
  auto shown = show(logs("nobody"));
  ASSERT_FALSE(shown);
  EXPECT_NE(shown.error().message.find("there is no task \"nobody\""), std::string::npos) << shown.error().message;
  ASSERT_TRUE(run(batch("a")));
  shown = show(logs("a"));
  ASSERT_FALSE(shown);
  EXPECT_NE(shown.error().message.find("which is Starting: its pod is not made yet"), std::string::npos)
      << shown.error().message;
}

TEST_F(LocalLogsTest, EmptyLogIsNoError) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  auto shown = show(logs("a"));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(out + error, "");
  finish("a", "a-12345", 3);
  EXPECT_TRUE(show(logs("a")));
}

TEST_F(LocalLogsTest, FollowsAllPodsOfJobUntilItEnds) {
  ASSERT_TRUE(run(batch("a")));
  LogsOptions options = logs("a");
  options.follow = true;
  std::optional<Result<std::optional<LocalTask>>> answer;
  net::Scope scope(loop);
  const auto run_it = [&]() -> net::Task<void> { answer = co_await local_logs(loop, client.get(), options, put()); };
  scope.spawn(run_it());
  net::testing::run_for(loop, clock, 3s);
  start("a", "a-12345");
  tree.write(log_of("a-12345"), line("stdout", "one"));
  net::testing::run_for(loop, clock, 2s);
  EXPECT_EQ(out, "one\n");
  EXPECT_FALSE(answer);
  finish("", "a-12345", 143);  // evicted: the job makes another
  start("a", "a-67890");
  tree.write(log_of("a-67890"), "2026-11-23T12:00:05Z stdout F two\n");
  net::testing::run_for(loop, clock, 2s);
  EXPECT_EQ(out, "one\ntwo\n");
  EXPECT_FALSE(answer);
  tree.write(log_of("a-67890"), "2026-11-23T12:00:05Z stdout F two\n2026-11-23T12:00:06Z stdout P last");
  finish("a", "a-67890", 3);
  net::testing::run_for(loop, clock, 3s);
  ASSERT_TRUE(answer);
  ASSERT_TRUE(*answer) << (*answer).error().message;
  ASSERT_TRUE(**answer);
  EXPECT_EQ((**answer)->state, TaskState::kFailed);
  EXPECT_EQ((**answer)->exit_code, 3);
}

TEST_F(LocalLogsTest, FollowEndsWhenTaskIsStopped) {
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  const std::string log = log_of("a-12345");
  tree.write(log, line("stdout", "one"));
  LogsOptions options = logs("a");
  options.follow = true;
  std::optional<Result<std::optional<LocalTask>>> answer;
  net::Scope scope(loop);
  const auto run_it = [&]() -> net::Task<void> { answer = co_await local_logs(loop, client.get(), options, put()); };
  scope.spawn(run_it());
  net::testing::run_for(loop, clock, 2s);
  ASSERT_TRUE(stop({.names = {"a"}}));
  net::testing::run_for(loop, clock, 5s);
  EXPECT_FALSE(answer) << "its pod has a grace to say its last words in";
  tree.write(log, line("stdout", "one") + line("stdout", "bye"));
  call("DELETE", base::cat(kPodsPath, "/a-12345"), R"({"gracePeriodSeconds":0})");
  tree.remove(log.substr(0, log.find("/main/")));  // as the runtime does
  net::testing::run_for(loop, clock, 3s);
  ASSERT_TRUE(answer);
  ASSERT_TRUE(*answer);
  EXPECT_FALSE(**answer);
  EXPECT_EQ(out, "one\nbye\n");
}

// As the agent, the manager and the runtime leave it.
TEST_F(LocalLogsTest, TopReadsTheMachine) {
  for (const auto& [plural, kind] : {std::pair("nodemetrics", "NodeMetric"), std::pair("nodeslos", "NodeSLO")}) {
    call(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        base::cat(R"({"metadata":{"name":")", plural,
                  R"(.slo.koordinator.sh"},"spec":{"group":"slo.koordinator.sh","scope":"Cluster",)",
                  R"("names":{"plural":")", plural, R"(","kind":")", kind,
                  R"("},"versions":[{"name":"v1alpha1","served":true,"storage":true,)",
                  R"("schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})"));
  }
  call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})");
  call(
      "PATCH", "/api/v1/nodes/n/status",
      R"({"status":{"capacity":{"cpu":"8","memory":"32Gi"},"allocatable":{"kubernetes.io/batch-cpu":"3000","kubernetes.io/batch-memory":"8Gi","kubernetes.io/mid-cpu":"2500"},
           "conditions":[{"type":"Ready","status":"True"},{"type":"TidemarkIsolation","status":"True","reason":"Enforcing"}]}})",
      kMergePatch);
  const std::string now = base::format_rfc3339(clock.wall());
  call(
      "POST", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics",
      base::cat(
          R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n"},"status":{"updateTime":")",
          now,
          R"(","nodeMetric":{"nodeUsage":{"resources":{"cpu":"5","memory":"10Gi"}},"systemUsage":{"resources":{"cpu":"500m","memory":"1Gi"}}},)",
          R"("podsMetric":[{"name":"web","namespace":"default","podUsage":{"resources":{"cpu":"3","memory":"7Gi"}},"priority":"koord-prod","qos":"LS"},)",
          R"({"name":"a-12345","namespace":"default","podUsage":{"resources":{"cpu":"1500m","memory":"2Gi"}},"priority":"koord-batch","qos":"BE"}]}})"));
  call("POST", "/apis/slo.koordinator.sh/v1alpha1/nodeslos",
       R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n"},
           "spec":{"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":55}}})");
  ASSERT_TRUE(run(batch("a")));
  start("a", "a-12345");
  RunOptions mid = batch("m");
  mid.work_class = model::PriorityClass::kMid;
  ASSERT_TRUE(run(mid));
  start("m", "m-12345");
  RunOptions online = batch("web");
  online.work_class = model::PriorityClass::kProd;
  ASSERT_TRUE(run(online));

  LocalServer here;
  here.data_dir = tree.root();
  const auto top = net::testing::run_task(loop, clock, read_top(loop, *client, here));
  ASSERT_TRUE(top) << top.error().message;
  EXPECT_EQ(top->node, "n");
  EXPECT_EQ(top->isolation, "agent: Enforcing");
  EXPECT_EQ(top->capacity.cpu.value, 8000);
  EXPECT_EQ(top->line_cpu_percent, 55);
  EXPECT_FALSE(top->line_memory_percent);
  ASSERT_EQ(top->parts.size(), 3u);
  EXPECT_EQ(top->parts[0].used.cpu.value, 3000);
  EXPECT_EQ(top->parts[1].used.cpu.value, 1500);
  EXPECT_EQ(top->parts[2].used.cpu.value, 500);
  EXPECT_EQ(top->batch.sold.cpu.value, 1000);
  EXPECT_EQ(top->batch.sellable.cpu.value, 3000);
  EXPECT_EQ(top->mid.sold.cpu.value, 1000);
  EXPECT_EQ(top->mid.sellable.cpu.value, 2500);
  ASSERT_EQ(top->queue.size(), 1u);
  EXPECT_EQ(top->queue[0].name, "1 web");
  EXPECT_EQ(top->trouble, "");
}

TEST(LocalServerTest, NamesCommandToStartServer) {
  LocalServer server;
  server.data_dir = "/data";
  const Error away{ErrorKind::kUnavailable, "connect 127.0.0.1:6443: Connection refused", 111, 0};
  EXPECT_EQ(explained(away, server).message,
            "no `tidemark up` runs with --data-dir /data: start it with `tidemark up --data-dir=/data` "
            "(connect 127.0.0.1:6443: Connection refused)");
  const Error answered{ErrorKind::kUnavailable, "busy", 503, 0};
  EXPECT_EQ(explained(answered, server).message, "busy");
  const Error denied{ErrorKind::kIo, "open /data/kubeconfig: Permission denied", 13, 0};
  EXPECT_NE(explained(denied, server).message.find("sudo"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::cli
