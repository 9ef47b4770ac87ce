// What the agent does where something around it fails or is slow.
#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/testing/agent.h"
#include "net/http_server.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using testing::AgentTest;
using testing::kNodeMetrics;
using testing::kNodeSlos;
using testing::parsed;

// The manager creates a missing NodeMetric; a missing permission needs an administrator.
TEST_F(AgentTest, MissingPermissionIsNotMissingNodeMetric) {
  nodemetric();
  refused = "/nodemetrics";
  start();
  work(60s, {}, 500);
  EXPECT_EQ(agent->not_ready(), "grant `list` of nodemetrics: the API server refuses it (403)");
  EXPECT_NE(lines.find("a permission is missing"), std::string::npos) << lines;
  const std::string told = lines;
  work(120s, {}, 500);
  EXPECT_EQ(lines.find("a permission is missing", told.size()), std::string::npos) << "once is enough";
  rights->refused.clear();
  work(120s, {}, 500);
  EXPECT_EQ(agent->not_ready(), "");
  EXPECT_EQ(status().text_at("nodeMetric", "nodeUsage", "resources", "cpu"), "500m");
}

TEST_F(AgentTest, ReportsMissingWatchPermission) {
  nodemetric();
  refused = "/nodemetrics";
  start();
  rights->lists_too = false;
  work(3s, {}, 500);
  EXPECT_EQ(agent->not_ready(), "grant `watch` of nodemetrics: the API server refuses it (403)");
  refused = "/nodeslos";
  start();
  work(3s, {}, 500);
  EXPECT_EQ(agent->not_ready(), "grant `list` of nodeslos: the API server refuses it (403)");
}

TEST_F(AgentTest, WithoutANodeMetricItIsReady) {
  start();
  work(60s, {}, 500);
  EXPECT_EQ(agent->not_ready(), "");
}

// Attempts have grown rare by then: an interval of ten minutes is not waited for.
TEST_F(AgentTest, ReportsAtOnceWhenApiServerIsBack) {
  must(
      "POST", kNodeMetrics,
      parsed(
          R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n1"},"spec":{"metricCollectPolicy":
      {"aggregateDurationSeconds":60,"reportIntervalSeconds":600}}})"));
  start();
  work(621s, {}, 200);
  const std::string first(status().text_at("updateTime"));
  ASSERT_FALSE(first.empty());
  rights->away = true;
  work(1300s, {}, 200);
  const double failed = metric("tidemark_agent_reports_failed_total");
  EXPECT_GE(failed, 5);
  EXPECT_LE(failed, 6);
  rights->away = false;
  work(66s, {}, 200);  // 45 until it is found out, 20 for this node's own time
  EXPECT_GT(std::string(status().text_at("updateTime")), first);
  EXPECT_EQ(metric("tidemark_agent_reports_failed_total"), failed);
}

// Fifty pods have more mounts than any other file that is read has bytes.
TEST_F(AgentTest, ReadsManyMounts) {
  std::string mounts;
  for (int i = 0; i < 1000; ++i) {
    mounts += base::cat(i + 100, " 28 0:", i, " / /run/containerd/", i,
                        "/rootfs rw - overlay overlay rw,lowerdir=", std::string(1000, 'l'), "\n");
  }
  node.proc.write("self/mountinfo", mounts);
  start();
  work(3s, {}, 100);
  EXPECT_EQ(agent->not_ready(), "");
}

// A disk that hangs keeps its thread for ever.
TEST_F(AgentTest, HangingDiskDoesNotBlockNameResolution) {
  net::HttpServerConfig config;
  config.listen = "127.0.0.1:0";
  auto kubelet =
      net::HttpServer::listen(loop, log, std::move(config), [](net::HttpExchange& exchange) -> net::Task<void> {
        exchange.respond(200, "application/json", R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]})");
        co_return;
      });
  ASSERT_TRUE(kubelet) << kubelet.error().message;
  pod_source = "kubelet";
  kubelet_endpoint = base::cat("http://localhost:", (*kubelet)->port());

  std::promise<void> disk;
  net::Scope scope(loop);
  scope.spawn([](net::WorkerPool& pool, net::EventLoop& on, std::shared_future<void> answers) -> net::Task<void> {
    (void)co_await pool.run<int>(on, [answers = std::move(answers)] { return answers.wait(), 0; });
  }(files, loop, disk.get_future().share()));
  loop.run_ready();
  linux::testing::Tree state;
  start(state.root());
  EXPECT_TRUE(net::testing::run_real_until(
      loop, [&] { return agent->not_ready().empty(); }, 20s))
      << agent->not_ready();
  EXPECT_EQ(lines.find("learned models loaded"), std::string::npos) << "files wait for the disk";
  work(2min, {}, 100);
  EXPECT_NE(lines.find("the disk does not answer"), std::string::npos) << lines;
  EXPECT_EQ(metric("tidemark_agent_prediction_store_failed_total"), 1) << "once is enough";
  disk.set_value();
  EXPECT_TRUE(net::testing::run_real_until(
      loop, [&] { return lines.find("learned models loaded") != std::string::npos; }, 20s));
  scope.clear();
  agent.reset();
}

// Passes back to back would block reports and the health endpoint.
TEST_F(AgentTest, SlowPassYieldsToOtherTasks) {
  constexpr int kGroups = 100;
  constexpr base::Duration kLook = 20ms;  // one for each group and more: a pass takes two seconds and more
  std::string applications;
  for (int i = 0; i < kGroups; ++i) {
    applications +=
        base::cat(i == 0 ? "" : ",", R"({"name":"a)", i, R"(","cgroupPath":{"relativePath":"a)", i, R"("}})");
    node.group(base::cat("a", i));
  }
  must("POST", kNodeSlos,
       parsed(base::cat(R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},)",
                        R"("spec":{"hostApplications":[)", applications, "]}}")));
  start();
  work(3s, {}, 100);
  ASSERT_EQ(agent->not_ready(), "");

  std::int64_t turns = 0;
  net::Scope others(loop);
  others.spawn([](net::EventLoop& on, std::int64_t& count) -> net::Task<void> {
    for (;; ++count) co_await on.sleep(1ms);
  }(loop, turns));
  const double passes_before = metric("tidemark_agent_pass_seconds_count");
  const double busy_before = metric("tidemark_agent_pass_seconds_sum");
  const base::MonotonicTime begin = node.clock.monotonic();
  clock.a_look = kLook;
  while (node.clock.monotonic() - begin < 2min) loop.turn(net::EventLoop::Wait::kNo);
  clock.a_look = 0ms;

  const double passes = metric("tidemark_agent_pass_seconds_count") - passes_before;
  const double busy = metric("tidemark_agent_pass_seconds_sum") - busy_before;
  const double all = std::chrono::duration<double>(node.clock.monotonic() - begin).count();
  EXPECT_GT(passes, 10);
  EXPECT_GT(busy / passes, 2) << "else this shows nothing";
  EXPECT_LE(busy / all, 0.8) << "a fifth of the time is the others'";
  EXPECT_GT(turns, passes);
}

// No policy reads the run queue of offline work, and one file for each process is costly.
TEST_F(AgentTest, ReadsRunQueueOfOnlineWorkOnly) {
  node.proc.write("self/schedstat", "1 1 1\n");
  pod("", "web");
  pod("", "batch", R"(,"labels":{"koordinator.sh/qosClass":"BE"})");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  const std::string below = base::cat("kubepods/besteffort/pod", uid_of("batch"));
  for (const auto& [each, pid] : {std::pair(group, 7), std::pair(below, 8)}) {
    node.group(each);
    node.processes(each, base::cat(pid, "\n"));
    node.proc.write(base::cat(pid, "/schedstat"), pid == 7 ? "1 1 1\n" : "no numbers\n");
  }
  start();
  work(30s, {{group, 500}}, 800);
  EXPECT_EQ(metric("tidemark_agent_readings_unreadable_total"), 0) << "offline work is not asked about\n" << lines;
  node.proc.write("7/schedstat", "no numbers\n");
  work(20s, {{group, 500}}, 800);
  EXPECT_GT(metric("tidemark_agent_readings_unreadable_total"), 0) << "it is read";
}

}  // namespace
}  // namespace tidemark::agent
