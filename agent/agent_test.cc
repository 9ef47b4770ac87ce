// The agent as a whole, on a node made of folders and a cluster in memory, under simulated time.
#include "agent/agent.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/testing/kernel_node.h"
#include "base/json.h"
#include "base/yaml.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNodeMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";
constexpr std::string_view kNodeSlos = "/apis/slo.koordinator.sh/v1alpha1/nodeslos";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::int64_t kMiB = 1 << 20;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Json parsed(std::string_view text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json) << text;
  return json ? std::move(*json) : Json();
}

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "admin");
    for (const char* kind : {"nodemetrics", "nodeslos"}) {
      const std::string manifest =
          read_file(base::cat(TIDEMARK_SOURCE_DIR "/deploy/crds/slo.koordinator.sh_", kind, ".yaml"));
      must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", *base::parse_yaml(manifest));
    }
    must("POST", "/api/v1/nodes", parsed(R"({"metadata":{"name":"n1"}})"));
    must("PATCH", "/api/v1/nodes/n1/status",
         parsed(R"({"status":{"capacity":{"cpu":"2","memory":"1000Mi"},"allocatable":{"cpu":"2","memory":"1000Mi"}}})"),
         kMerge);
    node.group("kubepods");
    node.group("kubepods/burstable");
    node.group("kubepods/besteffort");
  }
  void TearDown() override { agent.reset(); }

  Json must(std::string_view method, std::string_view target, const Json& body,
            std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) {
      request.body = body.dump();
      request.headers.set("content-type", type);
    }
    const auto response = net::testing::run_task(loop, node.clock, admin->fetch(std::move(request), 10s));
    EXPECT_TRUE(response && response->status < 300) << target << (response ? response->body : response.error().message);
    return response ? parsed(response->body) : Json();
  }

  void start(std::string state_dir = "") {
    agent.reset();
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "agent");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    metrics = std::make_unique<base::Registry>();
    AgentOptions options;
    options.node_name = "n1";
    options.cgroup_root = node.cgroups.root();
    options.proc_root = node.proc.root();
    options.sys_root = node.numa_tree.root();
    options.kernel_log = node.proc.root() + "/no-kmsg";
    options.state_dir = std::move(state_dir);
    options.metrics_address = "0";
    options.tasks.pod_source = pod_source;
    options.tasks.kubelet_endpoint = "http://127.0.0.1:1";
    auto made =
        Agent::make(loop, {*client, [] { return std::string(); }, workers}, log, *metrics, base::Random(2), options);
    ASSERT_TRUE(made) << made.error().message;
    agent = std::move(*made);
    agent->start();
  }

  void nodemetric(std::string_view name = "n1") {
    Json object = parsed(
        R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{},"spec":{"metricCollectPolicy":
        {"aggregateDurationSeconds":60,"reportIntervalSeconds":30,"nodeAggregatePolicy":{"durations":["1m0s"]}}}})");
    object["metadata"]["name"] = Json(name);
    must("POST", kNodeMetrics, object);
  }

  void pod(std::string_view uid, std::string_view name, std::string_view more_metadata = "") {
    must(
        "POST", kPods,
        parsed(base::cat(
            R"({"metadata":{"name":")", name, R"(","uid":")", uid, R"(")", more_metadata,
            R"(},"spec":{"nodeName":"n1","containers":[{"name":"main","image":"x","resources":{"requests":{"cpu":"1"}}}]}})")));
    must("PATCH", base::cat(kPods, "/", name, "/status"),
         parsed(R"({"status":{"phase":"Running","qosClass":"Burstable"}})"), kMerge);
  }
  std::string uid_of(std::string_view name) {
    return std::string(must("GET", base::cat(kPods, "/", name), nullptr).text_at("metadata", "uid"));
  }

  // Each second each group uses so many milliseconds of CPU, and the node in all so many ticks.
  struct Load {
    std::string group;
    std::int64_t ms_a_second = 0;
  };
  void work(base::Duration time, const std::vector<Load>& loads, std::int64_t node_ms_a_second) {
    for (base::Duration done{0}; done < time; done += 1s) {
      seconds += 1;
      for (const Load& load : loads) {
        used_ms[load.group] += load.ms_a_second;
        node.cpu(load.group, used_ms[load.group] * 1'000'000);
      }
      node_ms += node_ms_a_second;
      node.cpu_ticks({node_ms / 10, 0});
      net::testing::run_for(loop, node.clock, 1s);
    }
  }

  Json status() { return must("GET", base::cat(kNodeMetrics, "/n1"), nullptr)["status"]; }

  testing::KernelNode node{linux::Layout::kV2};
  net::EventLoop loop{node.clock};
  std::string lines;
  base::Log log{node.clock,
                {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin, transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<base::Registry> metrics;
  net::WorkerPool workers{1, 4};
  std::unique_ptr<Agent> agent;
  std::string pod_source = "api-server";
  std::int64_t seconds = 0, node_ms = 0;
  std::map<std::string, std::int64_t> used_ms;
};

TEST_F(AgentTest, WhatAPodUsesIsItsAndTheRestIsTheSystems) {
  nodemetric();
  pod("", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  node.memory(1000 * kMiB, 700 * kMiB, 600 * kMiB);
  node.group_memory(group, {10 * kMiB, 90 * kMiB, 5 * kMiB, 5 * kMiB});
  start();
  work(100s, {{group, 500}}, 800);  // the first second is no second of work yet: a whole window after it

  const Json told = status();
  EXPECT_EQ(agent->not_ready(), "");
  EXPECT_EQ(told.text_at("nodeMetric", "nodeUsage", "resources", "cpu"), "800m");
  EXPECT_EQ(told.text_at("nodeMetric", "nodeUsage", "resources", "memory"), "300Mi");
  EXPECT_EQ(told.text_at("nodeMetric", "systemUsage", "resources", "cpu"), "300m");
  const Json pods = *told.member("podsMetric");
  ASSERT_EQ(pods.as_array().size(), 1U);
  const Json& web = pods.as_array()[0];
  EXPECT_EQ(web.text_at("name"), "web");
  EXPECT_EQ(web.text_at("namespace"), "default");
  EXPECT_EQ(web.text_at("podUsage", "resources", "cpu"), "500m");
  EXPECT_EQ(web.text_at("podUsage", "resources", "memory"), "104857601");  // and one unevictable byte
  EXPECT_EQ(web.text_at("priority"), "koord-prod");
  EXPECT_EQ(web.text_at("qos"), "LS");
}

TEST_F(AgentTest, AHostApplicationIsNotTheSystems) {
  nodemetric();
  must(
      "POST", kNodeSlos,
      parsed(
          R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},"spec":{"hostApplications":
      [{"name":"nginx","priority":"koord-prod","qos":"LS","cgroupPath":{"base":"CgroupRoot","relativePath":"nginx"}}]}})"));
  node.group("nginx");
  start();
  work(100s, {{"nginx", 200}}, 600);
  const Json told = status();
  EXPECT_EQ(told.text_at("nodeMetric", "systemUsage", "resources", "cpu"), "400m");
  const Json applications = *told.member("hostApplicationMetric");
  ASSERT_EQ(applications.as_array().size(), 1U);
  EXPECT_EQ(applications.as_array()[0].text_at("name"), "nginx");
  EXPECT_EQ(applications.as_array()[0].text_at("usage", "resources", "cpu"), "200m");
}

TEST_F(AgentTest, WithoutItsObjectNothingIsWrittenAndWhatWasMeasuredIsTold) {
  start();
  work(60s, {}, 500);
  nodemetric();
  work(51s, {}, 500);
  EXPECT_EQ(status().text_at("nodeMetric", "nodeUsage", "resources", "cpu"), "500m");
}

TEST_F(AgentTest, WhatSomebodyElseToldBeforeIsGone) {
  nodemetric();
  must(
      "PATCH", base::cat(kNodeMetrics, "/n1/status"),
      parsed(
          R"({"status":{"prodPeakMetric":{"resource":{"resources":{"cpu":"9"}}},"podsMetric":[{"name":"old","namespace":"default","podUsage":{}}]}})"),
      kMerge);
  start();
  work(51s, {}, 500);
  const Json told = status();
  EXPECT_FALSE(told.text_at("updateTime").empty());
  EXPECT_EQ(told.member("prodPeakMetric"), nullptr);
  EXPECT_EQ(told.member("podsMetric"), nullptr);
}

TEST_F(AgentTest, ALargeChangeIsToldBeforeTheInterval) {
  Json object = parsed(
      R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n1"},"spec":{"metricCollectPolicy":
      {"aggregateDurationSeconds":60,"reportIntervalSeconds":600}}})");
  must("POST", kNodeMetrics, object);
  start();
  work(621s, {}, 200);
  const std::string first = std::string(status().text_at("updateTime"));
  ASSERT_FALSE(first.empty());
  work(60s, {}, 200);
  EXPECT_EQ(status().text_at("updateTime"), first);
  work(60s, {}, 1900);
  EXPECT_GT(std::string(status().text_at("updateTime")), first);
  EXPECT_NE(metrics->text().find(R"(tidemark_agent_reports_total{reason="large-change"})"), std::string::npos)
      << metrics->text();
}

TEST_F(AgentTest, WhatWasLearnedOutlivesIt) {
  linux::testing::Tree state;
  nodemetric();
  pod("", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  const auto loaded = [&] { return lines.find("what was learned before is known again") != std::string::npos; };
  start(state.root());
  ASSERT_TRUE(net::testing::run_real_until(loop, loaded));
  work(130s, {{group, 500}}, 800);
  const auto kept = [&] { return std::filesystem::exists(base::cat(state.root(), "/models/", uid_of("web"))); };
  ASSERT_TRUE(net::testing::run_real_until(loop, kept));
  lines.clear();
  start(state.root());
  ASSERT_TRUE(net::testing::run_real_until(loop, loaded));
  EXPECT_NE(lines.find("models=8"), std::string::npos)
      << lines;  // the pod's, five classes', the node's and the system's
}

TEST_F(AgentTest, UntilSomebodySaidWhatRunsHereNothingIsToldOrLearned) {
  linux::testing::Tree state;
  nodemetric();
  pod_source = "kubelet";  // where nobody listens
  start(state.root());
  work(200s, {}, 800);
  EXPECT_EQ(agent->not_ready(), "kubelet did not answer yet");
  EXPECT_TRUE(status().is_null());
  EXPECT_NE(metrics->text().find("tidemark_agent_prediction_models 0\n"), std::string::npos);
}

TEST_F(AgentTest, ItIsReadyOnceEverybodyAnswered) {
  start();
  EXPECT_EQ(agent->not_ready(), "its Node is not listed yet");
  work(3s, {}, 100);
  EXPECT_EQ(agent->not_ready(), "");
}

TEST_F(AgentTest, WithoutItsNodeItIsNotReadyAndSaysSo) {
  must("DELETE", "/api/v1/nodes/n1", nullptr);
  start();
  work(3s, {}, 100);
  EXPECT_EQ(agent->not_ready(), "no Node is named n1");
}

TEST(AgentMake, AFolderThatIsNoKernelsIsRefused) {
  linux::testing::Tree empty;
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  const base::Log log(clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}});
  base::Registry metrics;
  net::WorkerPool workers(1, 4);
  kube::memory::LocalTransport nowhere(loop, nullptr, "agent");
  kube::Client client(loop, nowhere, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
  AgentOptions options;
  options.node_name = "n1";
  options.metrics_address = "0";
  options.proc_root = empty.root() + "/not-there";
  const auto made =
      Agent::make(loop, {client, [] { return std::string(); }, workers}, log, metrics, base::Random(2), options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("not-there"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace tidemark::agent
