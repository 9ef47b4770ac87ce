// The agent as a whole, on a node made of folders and a cluster in memory, under simulated time.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/testing/kernel_node.h"
#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/testing/kill_folder.h"
#include "linux/testing/probe_folder.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent::testing {

using namespace std::chrono_literals;

inline constexpr std::string_view kNodeMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";
inline constexpr std::string_view kNodeSlos = "/apis/slo.koordinator.sh/v1alpha1/nodeslos";
inline constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
inline constexpr std::string_view kMerge = "application/merge-patch+json";
inline constexpr std::int64_t kMiB = 1 << 20;

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline Json parsed(std::string_view text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json) << text;
  return json ? std::move(*json) : Json();
}

// Answers 403 to reads of the refused kinds, as an API server does without a permission; or answers nothing at all.
class Rights final : public net::HttpTransport {
 public:
  explicit Rights(std::unique_ptr<net::HttpTransport> behind) : behind_(std::move(behind)) {}
  std::string refused;    // a word of the path
  bool lists_too = true;  // false: watches alone
  bool away = false;      // no answer; open watches stay until they end

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    if (away) co_return gone();
    if (lists_too && request.method == "GET" && is_refused(request)) {
      net::HttpResponse response;
      response.status = 403;
      response.body = R"({"kind":"Status","status":"Failure","reason":"Forbidden","message":"forbidden","code":403})";
      co_return response;
    }
    co_return co_await behind_->fetch(std::move(request), limit);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    if (away) co_return gone();
    if (is_refused(request)) co_return std::unexpected(Error{ErrorKind::kDenied, "forbidden", 403, 0});
    co_return co_await behind_->open(std::move(request), limit);
  }

 private:
  static std::unexpected<Error> gone() { return fail(ErrorKind::kUnavailable, "connection refused"); }
  bool is_refused(const net::HttpRequest& request) const {
    return !refused.empty() && request.target.find(refused) != std::string::npos;
  }
  std::unique_ptr<net::HttpTransport> behind_;
};

// Where each look at it takes a while, all that reads the time is slow: a pass above all, which does so for each group.
class SlowClock final : public base::Clock {
 public:
  explicit SlowClock(base::testing::Clock& behind) : behind_(behind) {}
  base::Duration a_look{0};

  base::MonotonicTime monotonic() const override {
    behind_.advance(a_look);
    return behind_.monotonic();
  }
  base::BootTime boot() const override { return behind_.boot(); }
  base::WallTime wall() const override { return behind_.wall(); }

 private:
  base::testing::Clock& behind_;
};

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "admin");
    for (const char* kind : {"nodemetrics", "nodeslos"}) {
      const std::string manifest =
          read_file(base::testing::from_root(base::cat("deploy/crds/slo.koordinator.sh_", kind, ".yaml")));
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
    rights = std::make_unique<Rights>(std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "agent"));
    client = std::make_unique<kube::Client>(
        loop, *rights, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    rights->refused = refused;
    metrics = std::make_unique<base::Registry>();
    AgentOptions options;
    options.node_name = "n1";
    options.places.cgroup_root = node.cgroups.root();
    options.places.proc_root = node.proc.root();
    options.places.run_dir = run.root() + "/run";
    options.places.latch_file = run.root() + "/latch";
    options.tasks.kubelet.dir = run.root() + "/kubelet";
    options.sys_root = node.numa_tree.root();
    options.line_ends_within = base::Duration(0);
    options.reaction = false;  // its thread would look at counters of simulated seconds in real ones
    options.kernel_log = node.proc.root() + "/kmsg";  // there is none until a test writes it
    options.state_dir = std::move(state_dir);
    options.metrics_address = "0";
    options.tasks.pod_source = pod_source;
    options.tasks.kubelet.endpoint = kubelet_endpoint;
    auto made = Agent::make(loop, {*client, [] { return std::string(); }, resolvers, files, disks, kernel, killing},
                            log, *metrics, base::Random(2), options);
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

  // What an agent reads of itself and of the life of its machine, before it tries the kernel or writes to it.
  void this_process() {
    node.proc.write("self/stat", base::cat(::getpid(), " (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n"));
    node.proc.write("sys/kernel/random/boot_id", "b1\n");
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

  // Without labels.
  double metric(std::string_view name) const {
    const std::string text = base::cat("\n", metrics->text());
    const auto at = text.find(base::cat("\n", name, " "));
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }

  Json status() { return must("GET", base::cat(kNodeMetrics, "/n1"), nullptr)["status"]; }

  KernelNode node{linux::Layout::kV2};
  linux::testing::Tree run;
  linux::testing::ProbeFolder kernel{node.cgroups, linux::Version::kV2};
  linux::testing::KillFolder killing{node.cgroups};
  SlowClock clock{node.clock};
  net::EventLoop loop{clock};
  std::string lines;
  base::Log log{node.clock,
                {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::unique_ptr<Rights> rights;
  std::string refused;  // from the start
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<base::Registry> metrics;
  net::WorkerPool resolvers{1, 4}, files{1, 4}, disks{1, 4};
  std::unique_ptr<Agent> agent;
  std::string pod_source = "api-server";
  std::string kubelet_endpoint = "http://127.0.0.1:1";  // no process listens
  std::int64_t seconds = 0, node_ms = 0;
  std::map<std::string, std::int64_t> used_ms;
};

}  // namespace tidemark::agent::testing
