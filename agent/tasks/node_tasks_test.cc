// The room as a whole: a kubelet behind TLS, two copilots on sockets, host applications, groups in a folder.
#include "agent/tasks/node_tasks.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/tasks/task_flags.h"
#include "agent/testing/copilot.h"
#include "agent/testing/node.h"
#include "base/testing/allocations.h"
#include "net/testing/certificates.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kYarn = "kubepods/besteffort/hadoop-yarn";

struct NodeTasksTest : testing::NodeTest {
  NodeTasksTest()
      : authority(clock.wall()), yarn(loop, log, tree.path("yarn.sock")), other(loop, log, tree.path("other.sock")) {
    other.name = "other";
    make_levels();
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    config.tls = authority.server_config();
    kubelet = std::move(*net::HttpServer::listen(loop, log, std::move(config),
                                                 [this](net::HttpExchange& exchange) { return answer(exchange); }));
  }
  ~NodeTasksTest() override {
    scope.clear();
    tasks.reset();
  }

  net::Task<void> answer(net::HttpExchange& exchange) {
    const bool known = exchange.head().headers.get("authorization") == "Bearer secret";
    const bool allowed = exchange.head().target == "/pods";
    if (!known || !allowed) {
      exchange.respond(known ? 403 : 401, "text/plain", "no");
    } else {
      exchange.respond(200, "application/json", base::cat(R"({"kind":"PodList","items":[)", pods, "]}"));
    }
    co_return;
  }
  void add_pod(std::string_view uid) {
    pods += base::cat(pods.empty() ? "" : ",", R"({"metadata":{"name":")", uid, R"(","namespace":"n","uid":")", uid,
                      R"("},"spec":{},"status":{"phase":"Running"}})");
  }

  void begin() {
    TaskFlags flags;
    flags.kubelet.endpoint = base::cat("https://127.0.0.1:", kubelet->port());
    flags.copilots = {base::cat(yarn.socket(), "=", kYarn), base::cat(other.socket(), "=", kYarn),
                      base::cat(other.socket(), "=slurm")};
    NodeTasksConfig config = flags.config("n1").value();
    config.kubelet.tls = authority.client_config();
    const NodeTasksOutside outside{.hierarchies = &*hierarchies,
                                   .kubelet_bearer = [] { return std::string("secret"); }};
    auto made = NodeTasks::make(loop, outside, log, base::Random(1), std::move(config));
    ASSERT_TRUE(made) << made.error().message;
    tasks = *std::move(made);
    tasks->start();
    ASSERT_TRUE(net::testing::run_real_until(loop, [&] {
      for (const auto& source : tasks->snapshot()->sources) {
        if (source.name != "host applications" && source.state != ProviderState::kCurrent) return false;
      }
      return true;
    })) << lines;
  }
  // "name@path", and "<above" behind it.
  std::string listed() {
    std::vector<std::string> texts;
    const TaskSnapshot& now = *tasks->snapshot();
    for (const ListedTask& each : now.tasks) {
      texts.push_back(base::cat(each.task->name, "@", each.task->path,
                                each.above ? base::cat("<", now.tasks[*each.above].task->name) : ""));
    }
    return base::join(texts, " ");
  }

  net::testing::TestAuthority authority;
  std::string pods;
  std::unique_ptr<net::HttpServer> kubelet;
  testing::Copilot yarn, other;
  std::unique_ptr<NodeTasks> tasks;
};

TEST_F(NodeTasksTest, MergesAllProviders) {
  add_pod("u1");
  add_pod("u2");
  make("burstable/podu1/c1");
  yarn.run("container_1_0001_01_000001", kYarn);
  other.run("step-7", "slurm");
  begin();
  ASSERT_TRUE(tasks->use_node_slo(
      R"({"hostApplications":[{"name":"yarn-task","priority":"koord-batch","qos":"BE","cgroupPath":{"base":"KubepodsBesteffort","relativePath":"hadoop-yarn/"}}]})"));
  EXPECT_EQ(listed(),
            "u2@ yarn-task@kubepods/besteffort/hadoop-yarn "
            "container_1_0001_01_000001@kubepods/besteffort/hadoop-yarn/container_1_0001_01_000001<yarn-task "
            "u1@kubepods/burstable/podu1 step-7@slurm/step-7");
  EXPECT_TRUE(tasks->snapshot()->refused.empty());
  std::vector<std::string> sources;
  for (const auto& each : tasks->snapshot()->sources)
    sources.push_back(base::cat(each.name, " ", to_string(each.state)));
  EXPECT_EQ(base::join(sources, ", "), base::cat("kubelet current, copilot ", yarn.socket(), " current, copilot ",
                                                 other.socket(), " current, host applications current"));
}

TEST_F(NodeTasksTest, TwoCopilotsThatClaimOneGroup) {
  yarn.run("c1", kYarn);
  other.run("c1", kYarn);
  begin();
  EXPECT_EQ(listed(), "c1@kubepods/besteffort/hadoop-yarn/c1");
  ASSERT_EQ(tasks->snapshot()->refused.size(), 1u);
  EXPECT_EQ(tasks->snapshot()->refused[0].task->identity.source, "other");
  EXPECT_EQ(tasks->snapshot()->refused[0].why, Refusal::kSameGroup);
}

TEST_F(NodeTasksTest, FindsCopilotOfTask) {
  yarn.run("c1", kYarn);
  other.run("step-7", "slurm");
  add_pod("u1");
  make("burstable/podu1/c1");
  begin();
  std::map<std::string, copilot::Client*> tells;
  for (const ListedTask& each : tasks->snapshot()->tasks) tells[each.task->name] = tasks->copilot_of(*each.task);
  ASSERT_EQ(tells.size(), 3u);
  EXPECT_EQ(tells["u1"], nullptr);
  ASSERT_NE(tells["c1"], nullptr);
  ASSERT_NE(tells["step-7"], nullptr);
  EXPECT_NE(tells["c1"], tells["step-7"]);
  model::Task elsewhere = *tasks->snapshot()->tasks.back().task;
  elsewhere.path += "x";
  EXPECT_EQ(tasks->copilot_of(elsewhere), nullptr) << "no provider lists that one";
}

TEST_F(NodeTasksTest, HandleStaysWhenOthersChange) {
  add_pod("u1");
  make("burstable/podu1");
  begin();
  const TaskHandle handle = tasks->snapshot()->tasks.at(0).handle;
  make("burstable/podu1/c1");
  run_for(0s);
  ASSERT_TRUE(tasks->use_node_slo(R"({"hostApplications":[{"name":"nginx","qos":"LS"}]})"));
  const ListedTask* found = tasks->snapshot()->find(handle);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->task->name, "u1");
  EXPECT_EQ(found->task->containers.size(), 1u);
}

// An agent asks every second.
TEST_F(NodeTasksTest, NothingNewAllocatesNothing) {
  add_pod("u1");
  yarn.run("c1", kYarn);
  begin();
  ASSERT_TRUE(tasks->use_node_slo(R"({"hostApplications":[{"name":"nginx","qos":"LS"}]})"));
  const auto before = tasks->snapshot();
  const long allocated = base::testing::allocations();
  EXPECT_EQ(tasks->snapshot().get(), before.get());
  EXPECT_EQ(base::testing::allocations() - allocated, 0);
}

}  // namespace
}  // namespace tidemark::agent
