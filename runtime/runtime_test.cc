// Pods of an API server in memory as real processes, with groups of the machine's own where this user may make some.
#include "runtime/runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/make.h"
#include "linux/testing/own_group.h"
#include "net/http_client.h"
#include "net/testing/loop.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

// Somebody may set the machine's clock.
class SetClock final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return real_.monotonic(); }
  base::BootTime boot() const override { return real_.boot(); }
  base::WallTime wall() const override { return real_.wall() + off; }

  base::Duration off{0};

 private:
  base::SystemClock real_;
};

struct RuntimeTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "runtime-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.node_name = "here";
    options.data_dir = folder;
    options.cgroup_root = folder + "/none";
    options.shim_argv = {std::filesystem::read_symlink("/proc/self/exe"), "--as-shim"};
    auto opened = kube::memory::Server::open(loop, log, {}, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    api = std::move(*opened);
    transport = std::make_unique<kube::memory::LocalTransport>(loop, api->handler(), "tester");
    kube::ClientConfig config;
    config.queries_per_second = 10'000;
    config.burst = 10'000;
    client = std::make_unique<kube::Client>(loop, *transport, [] { return std::string(); }, config, base::Random(1));
  }
  void TearDown() override {
    for (const Json& pod : pods()) remove(std::string(pod.text_at("metadata", "name")), 0);
    if (runtime) EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return pods().empty(); }));
    runtime.reset();
    std::filesystem::remove_all(folder);
  }
  void begin() {
    auto made = Runtime::make(loop, *client, log, metrics.emplace(), base::Random(2), killing, options);
    ASSERT_TRUE(made) << made.error().message;
    runtime = std::move(*made);
    runtime->start();
  }

  template <class T>
  T wait(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task), 60s);
  }
  void make(std::string_view name, std::string_view spec) {
    const auto tree = base::parse_yaml(base::cat("metadata: {name: ", name, "}\nspec:\n  nodeName: here\n", spec));
    ASSERT_TRUE(tree) << tree.error().message;
    kube::WriteOptions where;
    where.ns = "default";
    const auto made = wait(client->create(kube::kPods, tree->dump(), where, "", 10s));
    ASSERT_TRUE(made) << made.error().message;
  }
  void remove(const std::string& name, std::optional<std::int64_t> grace = {}) {
    kube::WriteOptions where;
    where.ns = "default";
    where.grace_period_s = grace;
    [[maybe_unused]] const auto gone = wait(client->remove(kube::kPods, name, "", where, 10s));
  }
  Json pod(const std::string& name) {
    const auto got = wait(client->get(kube::kPods, "default", name, 10s));
    if (!got) return {};
    return Json::parse(*got).value_or(Json());
  }
  std::vector<Json> pods() {
    std::vector<Json> out;
    kube::ListOptions where;
    where.ns = "default";
    [[maybe_unused]] const auto done = wait(client->list(
        kube::kPods, std::move(where),
        [&](std::string_view page) -> Result<void> {
          const auto list = Json::parse(page);
          if (list && list->member("items") != nullptr) out = list->member("items")->as_array();
          return {};
        },
        [] {}, 10s));
    return out;
  }
  std::string phase(const std::string& name) { return std::string(pod(name).text_at("status", "phase")); }
  const Json container(const std::string& name) {
    const Json all = pod(name);
    const Json* list = all.at("status", "containerStatuses");
    return list != nullptr && !list->as_array().empty() ? list->as_array()[0] : Json();
  }
  // What a shim does, the loop does not hear of: it is looked at again and again.
  template <class Condition>
  void until(Condition&& condition) {
    ASSERT_TRUE(net::testing::run_real_until(loop, [&] {
      look_again = loop.after(20ms, [] {});
      return condition();
    })) << lines;
  }
  std::string log_of(const std::string& name) {
    for (const auto& each : std::filesystem::directory_iterator(folder + "/logs")) {
      if (!each.path().filename().string().starts_with("default_" + name + "_")) continue;
      std::ifstream file(each.path() / "main" / "0.log");
      return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    return "";
  }

  std::string folder, lines;
  SetClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> api;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::optional<base::Registry> metrics;
  linux::KernelKillRim killing;
  RuntimeOptions options;
  net::Timer look_again;
  std::unique_ptr<Runtime> runtime;
};

TEST_F(RuntimeTest, APodRunsToItsEndAndItsStatusSaysHow) {
  begin();
  make("once", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'echo from $0; exit 3', here]}]
)");
  until([&] { return phase("once") == "Failed"; });
  const Json terminated = *container("once").at("state", "terminated");
  EXPECT_EQ(terminated.at("exitCode")->as_int(), 3);
  EXPECT_EQ(terminated.text_at("reason"), "Error");
  EXPECT_NE(log_of("once").find(" stdout F from here\n"), std::string::npos);
  remove("once");
  until([&] { return pods().empty(); });
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/containers"));
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/logs"));
}

TEST_F(RuntimeTest, OfALogAPodThatHasEndedKeepsTheEnd) {
  options.log_megabytes = 1;
  options.log_files = 4;
  begin();
  make("loud", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'yes a-line | head -n 100000; echo last words; exit 3']}]
)");
  const auto kept = [&] {
    std::uintmax_t out = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder + "/logs")) {
      if (each.is_regular_file()) out += each.file_size();
    }
    return out;
  };
  until([&] { return phase("loud") == "Failed" && kept() <= (1U << 20); });  // it wrote four times that, with the times
  EXPECT_TRUE(log_of("loud").ends_with(" stdout F last words\n"));
}

TEST_F(RuntimeTest, TheNodeIsThereAndIsReady) {
  begin();
  until([&] { return wait(client->get(kube::kNodes, "", "here", 10s)).has_value(); });
  until([&] {
    const auto node = Json::parse(*wait(client->get(kube::kNodes, "", "here", 10s)));
    return node->at("status", "capacity") != nullptr;
  });
}

TEST_F(RuntimeTest, WhatServesIsReadyWhenItsProbeSaysSo) {
  begin();
  make("slow", base::cat(R"(
  containers:
  - name: main
    image: local
    command: [sh, -c, 'sleep 1; touch )",
                         folder, R"(/ready; sleep 100']
    readinessProbe: {exec: {command: [test, -f, )",
                         folder, R"(/ready]}, periodSeconds: 1}
)"));
  until([&] { return phase("slow") == "Running"; });
  EXPECT_FALSE(container("slow").at("ready")->as_bool());
  until([&] { return container("slow").at("ready")->as_bool(); });
}

TEST_F(RuntimeTest, WhatIsUnwellBeginsAgain) {
  begin();
  make("ill", R"(
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: [sleep, "100"]
    livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}
)");
  until([&] {
    const Json seen = container("ill");
    return seen.at("lastState", "terminated") != nullptr || seen.at("state", "terminated") != nullptr;
  });
  const Json seen = container("ill");
  EXPECT_EQ(seen.at("state", "waiting", "reason")->as_string(), "CrashLoopBackOff");
  EXPECT_EQ(seen.at("lastState", "terminated", "exitCode")->as_int(), 143);
}

TEST_F(RuntimeTest, OneThatDoesNotListenIsKilledAfterItsGrace) {
  begin();
  make("deaf", R"(
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: local, command: [sh, -c, 'trap "" TERM; echo deaf; while :; do sleep 0.1; done']}]
)");
  until([&] { return phase("deaf") == "Running" && !log_of("deaf").empty(); });
  remove("deaf");
  EXPECT_FALSE(pods().empty()) << "it is there until it has ended";
  until([&] { return pods().empty(); });
  EXPECT_NE(lines.find("did not end within its grace"), std::string::npos);
}

TEST_F(RuntimeTest, WhatRunsLivesOnAndIsAdoptedExitCodeIncluded) {
  begin();
  make("long", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'until [ -e $0/go ]; do sleep 0.05; done; exit 9', )" +
                   folder + "]}]\n");
  make("other", "  restartPolicy: Never\n  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  until([&] { return phase("long") == "Running" && phase("other") == "Running"; });
  const std::string id(container("other").text_at("containerID"));
  runtime.reset();
  {
    std::ofstream(folder + "/go");
  }
  while (!std::filesystem::exists(
      base::cat(folder, "/containers/", pod("long").text_at("metadata", "uid"), "/main/0/ended.json"))) {
    loop.turn(net::EventLoop::Wait::kNo);
  }
  begin();
  until([&] { return phase("long") == "Failed"; });
  EXPECT_EQ(container("long").at("state", "terminated", "exitCode")->as_int(), 9);
  EXPECT_EQ(phase("other"), "Running");
  EXPECT_EQ(container("other").text_at("containerID"), id);
  EXPECT_EQ(container("other").at("restartCount")->as_int(), 0);
}

TEST_F(RuntimeTest, WhatIsGoneFromTheServerWhileNobodyIsHereIsEnded) {
  begin();
  make("lost", "  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  until([&] { return phase("lost") == "Running"; });
  runtime.reset();
  remove("lost", 0);
  ASSERT_TRUE(pods().empty());
  begin();
  until([&] { return std::filesystem::is_empty(folder + "/containers"); });
}

TEST_F(RuntimeTest, WhatCannotRunHereFailsWithThePlace) {
  begin();
  make("image", "  containers: [{name: main, image: nginx}]\n");
  until([&] { return phase("image") == "Failed"; });
  EXPECT_TRUE(pod("image").text_at("status", "message").starts_with("spec.containers[0].command: "));
  make("missing", "  restartPolicy: Never\n  containers: [{name: main, image: i, command: [/no/such/program]}]\n");
  until([&] { return phase("missing") == "Failed"; });
  const Json ended = *container("missing").at("state", "terminated");
  EXPECT_EQ(ended.text_at("reason"), "StartError");
  EXPECT_NE(ended.text_at("message").find("/no/such/program"), std::string::npos);
}

TEST_F(RuntimeTest, TheRootIsNobodysOwnGroup) {
  for (const char* wrong : {"", "/", "//", "/a/../..", ".."}) {
    options.group = wrong;
    const auto made = Runtime::make(loop, *client, log, metrics.emplace(), base::Random(2), killing, options);
    ASSERT_FALSE(made) << wrong;
    EXPECT_EQ(made.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(made.error().message.starts_with("--pod-group ")) << made.error().message;
  }
}

TEST_F(RuntimeTest, AnAgentIsToldOfThePodsAsByAKubelet) {
  begin();
  make("told", "  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  until([&] { return phase("told") == "Running"; });
  net::HttpClientConfig http;
  http.url = *net::parse_url("unix:" + pods_socket(options));
  net::HttpClient asker(loop, nullptr, http);
  net::HttpRequest request;
  request.target = "/pods";
  const auto answer = wait(asker.fetch(request, 10s));
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->status, 200);
  const auto list = Json::parse(answer->body);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->member("items")->as_array().size(), 1U);
  const Json& item = list->member("items")->as_array()[0];
  EXPECT_EQ(item.text_at("metadata", "name"), "told");
  EXPECT_FALSE(item.at("status", "containerStatuses")->as_array()[0].text_at("containerID").empty());
}

// With groups: what a kubelet would write, and nothing left.
TEST_F(RuntimeTest, PodsHaveGroupsOfTheirOwnWhereTheMachineHasSome) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(mounts), std::istreambuf_iterator<char>()};
  const auto hierarchies = linux::Hierarchies::discover(linux::testing::kMachineRoot, text);
  if (!hierarchies) GTEST_SKIP() << hierarchies.error().message;
  linux::testing::OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "this user makes no groups";
  options.cgroup_root = linux::testing::kMachineRoot;
  options.group = base::cat("/", own.name(), "/here");
  begin();
  EXPECT_EQ(runtime->without_groups(), "");
  base::Registry others;
  const auto second = Runtime::make(loop, *client, log, others, base::Random(3), killing, options);
  ASSERT_FALSE(second) << "another one has these groups";
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists);

  make("held", R"(
  containers:
  - name: main
    image: local
    command: [sh, -c, 'cat /proc/self/cgroup; sleep 100 & sleep 100']
    resources: {requests: {cpu: 500m}, limits: {cpu: 1, memory: 64Mi}}
)");
  until(
      [&] { return phase("held") == "Running" && log_of("held").find("kubepods/burstable/pod") != std::string::npos; });
  const std::string uid(pod("held").text_at("metadata", "uid"));
  const auto group = linux::Group::open(*hierarchies, base::cat(own.name(), "/here/kubepods/burstable/pod", uid));
  ASSERT_TRUE(group && *group);
  linux::Buffer buffer;
  EXPECT_EQ(**linux::read_value(**group, linux::File::kCpuShares, buffer), 512);
  EXPECT_EQ(**linux::read_value(**group, linux::File::kCpuQuota, buffer), 100'000);
  EXPECT_EQ(**linux::read_value(**group, linux::File::kMemoryLimit, buffer), 64 << 20);
  remove("held", 1);
  until([&] { return pods().empty(); });
  EXPECT_FALSE((*group)->alive()) << "with what it left running";

  // A copilot that adopts has its groups in every hierarchy, and leaves the one above them.
  const auto all = linux::Hierarchies::discover_others(linux::testing::kMachineRoot, text);
  ASSERT_TRUE(all);
  const std::string adopted = base::cat(own.name(), "/here/kubepods/besteffort/hadoop-yarn");
  ASSERT_TRUE(linux::make_group(*hierarchies, adopted) && linux::make_group(*all, adopted));
  net::testing::run_task(loop, runtime->drain(), 60s);
  for (const linux::Hierarchies* each : {&*hierarchies, &*all}) {
    for (const linux::Hierarchy& one : each->all()) {
      EXPECT_FALSE(std::filesystem::exists(base::cat(one.path, "/", own.name(), "/here"))) << one.path;
      linux::testing::remove_groups(base::cat(one.path, "/", own.name()));
    }
  }
  runtime.reset();
}

TEST_F(RuntimeTest, SettingTheClockEndsNobodyAndKeepsNobodyFromEnding) {
  begin();
  make("long", R"(
  restartPolicy: Never
  activeDeadlineSeconds: 3600
  containers: [{name: main, image: local, command: [sleep, "1000"]}]
)");
  until([&] { return phase("long") == "Running"; });
  clock.off = 48h;
  make("after", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, "exit 3"]}]
)");
  until([&] { return phase("after") == "Failed"; });
  EXPECT_EQ(phase("long"), "Running");
  clock.off = -48h;
  make("late", R"(
  restartPolicy: Never
  activeDeadlineSeconds: 1
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: local, command: [sleep, "1000"]}]
)");
  until([&] { return phase("late") == "Failed"; });
  EXPECT_EQ(pod("late").text_at("status", "reason"), "DeadlineExceeded");
  EXPECT_EQ(phase("long"), "Running");
}

}  // namespace
}  // namespace tidemark::runtime
