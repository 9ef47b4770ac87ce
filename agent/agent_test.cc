#include "agent/agent.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/protect/status.h"
#include "agent/record/recorder.h"
#include "agent/testing/agent.h"
#include "journal/read_lines.h"
#include "model/node_record.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using testing::AgentTest;
using testing::kMerge;
using testing::kMiB;
using testing::kNodeMetrics;
using testing::kNodeSlos;
using testing::parsed;

TEST_F(AgentTest, ReportsPodUseAndSystemUse) {
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

TEST_F(AgentTest, HostApplicationDoesNotCountAsSystem) {
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

TEST_F(AgentTest, WritesKeptSamplesOnceNodeMetricExists) {
  start();
  work(60s, {}, 500);
  nodemetric();
  work(51s, {}, 500);
  EXPECT_EQ(status().text_at("nodeMetric", "nodeUsage", "resources", "cpu"), "500m");
}

TEST_F(AgentTest, ReplacesStatusOfAnotherWriter) {
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

TEST_F(AgentTest, ReportsLargeChangeBeforeInterval) {
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

TEST_F(AgentTest, LearnedModelsSurviveRestart) {
  linux::testing::Tree state;
  nodemetric();
  pod("", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  const auto loaded = [&] { return lines.find("learned models loaded") != std::string::npos; };
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

// The log line of an OOM kill names the limit that the agent wrote right before.
TEST_F(AgentTest, LogsKernelKillWithLastAction) {
  node.proc.write("kmsg", "");
  this_process();
  pod("", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  const auto complain = [&] {
    std::ofstream(node.proc.path("kmsg"), std::ios::app)
        << "6,1,1000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/"
        << group << ",task_memcg=/" << group << ",task=java,pid=42,uid=0\n";
    lines.clear();
    work(2s, {}, 100);
  };
  start();
  work(2s, {}, 100);
  complain();
  EXPECT_NE(lines.find("task=default/web"), std::string::npos) << lines;
  EXPECT_NE(lines.find(R"(our_last_action="none since its start")"), std::string::npos) << lines;
  must("POST", kNodeSlos,
       parsed(R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},
      "spec":{"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsQuota"}}})"));
  node.cgroups.write("kubepods/besteffort/cpu.max", "max 100000\n");
  pod("", "job", R"(,"labels":{"koordinator.sh/qosClass":"BE"})");
  work(5s, {}, 100);
  complain();
  EXPECT_NE(lines.find("our_last_action=\"write kubepods/besteffort cpu.cfs_quota_us"), std::string::npos) << lines;
}

// No manager is there to write the line of the day.
TEST_F(AgentTest, RaisedThresholdEndsByNodeClock) {
  this_process();
  node.cgroups.write("kubepods/besteffort/cpu.max", "max 100000\n");
  pod("", "job", R"(,"labels":{"koordinator.sh/qosClass":"BE"})");
  must(
      "POST", kNodeSlos,
      parsed(base::cat(R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},
      "spec":{"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsQuota",
      "cpuSuppressThresholdPercent":90},"extensions":{"Object":{"tidemark":{"schema":1,"lines":[{"from":")",
                       base::format_rfc3339(node.clock.wall() + 60s), R"(","cpuSuppressThresholdPercent":40}]}}}}})")));
  const auto quota = [&] {
    return std::strtol(testing::read_file(node.cgroups.root() + "/kubepods/besteffort/cpu.max").c_str(), nullptr, 10);
  };
  start();
  work(30s, {}, 100);
  EXPECT_EQ(metric("tidemark_agent_lines_ended"), 0);
  EXPECT_GT(quota(), 120'000) << "90 % of two processors, less what others use";
  work(40s, {}, 100);
  EXPECT_EQ(metric("tidemark_agent_lines_ended"), 1);
  EXPECT_LT(quota(), 80'000) << "40 %";
}

TEST_F(AgentTest, ReportsKillsFromCgroupsWithoutKernelLog) {
  pod("", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  const auto kills = [&](int number) {
    node.cgroups.write(group + "/memory.events", base::cat("low 0\nhigh 0\nmax 3\noom 1\noom_kill ", number, "\n"));
  };
  kills(2);  // of the time before
  linux::testing::Tree state;
  start(state.root());
  work(40s, {{group, 500}}, 800);
  EXPECT_EQ(lines.find("for want of memory"), std::string::npos) << lines;
  kills(5);
  work(40s, {{group, 500}}, 800);
  EXPECT_NE(lines.find("for want of memory task=default/web kills=3 our_last_action="), std::string::npos) << lines;
  EXPECT_EQ(metric("tidemark_agent_kernel_incidents_total{reason=\"oom kill\"}"), 3);
}

// For `tidemark incident`, days later.
TEST_F(AgentTest, RecordsMeasurements) {
  node.group("kubepods/burstable/podu1");
  pod("u1", "web");
  const std::string group = base::cat("kubepods/burstable/pod", uid_of("web"));
  node.group(group);
  linux::testing::Tree state;
  start(state.root());
  work(70s, {{group, 500}}, 800);
  // In real time: what is written is written by a thread, and the simulated patience with it would be over at once.
  net::testing::run_task(loop, agent->drain(), 60s);
  std::vector<model::NodeRecord> lines;
  const auto read =
      journal::read_kept_lines(base::cat(state.root(), "/", kRecordFile), 1 << 20, [&](std::string_view line) {
        auto record = model::parse_node_record(line);
        ASSERT_TRUE(record) << record.error().message;
        lines.push_back(std::move(record->record));
      });
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(lines.size(), 3u) << "two of half a minute, and the last";
  EXPECT_EQ(lines[0].node, "n1");
  EXPECT_TRUE(lines[0].whole);
  EXPECT_FALSE(lines[1].whole);
  EXPECT_TRUE(lines[2].whole) << "an end has all of them";
  ASSERT_EQ(lines[2].tasks.size(), 1u);
  EXPECT_EQ(lines[2].tasks[0].name, "web");
  EXPECT_EQ(lines[2].tasks[0].group, "kubepods/burstable");
  EXPECT_EQ(lines[2].tasks[0].cpu_milli, 500);
  EXPECT_EQ(lines[2].cpu_milli, 800);
  EXPECT_EQ(lines[2].offline_milli, 0);
}

TEST_F(AgentTest, ReportsAndLearnsNothingBeforeTasksAreKnown) {
  linux::testing::Tree state;
  nodemetric();
  pod_source = "kubelet";  // no process listens
  start(state.root());
  work(200s, {}, 800);
  EXPECT_EQ(agent->not_ready(), "kubelet did not answer yet");
  EXPECT_TRUE(status().is_null());
  EXPECT_NE(metrics->text().find("tidemark_agent_prediction_models 0\n"), std::string::npos);
}

// Commands on the machine read the status (`tidemark doctor node`).
TEST_F(AgentTest, StatusHasKernelTrialResults) {
  this_process();
  start();
  work(3s, {}, 100);
  const auto status = read_status(run.root() + "/run");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->trials.not_tried, "");
  ASSERT_EQ((*status)->trials.found.size(), policy::protect::kKnobs);
  EXPECT_TRUE((*status)->trials.found[static_cast<std::size_t>(policy::protect::Knob::kCpuShares)].effective);
}

TEST_F(AgentTest, NamesSettingsAndGatesWithoutEffectOnce) {
  constexpr std::string_view kSlo =
      R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},"spec":{)"
      R"("cpuBurstStrategy":{"policy":"auto"}}})";
  must("POST", kNodeSlos, parsed(kSlo));
  this_process();
  start();
  work(3s, {}, 100);
  // A write of something else.
  must("PATCH", base::cat(kNodeSlos, "/n1"), parsed(R"({"spec":{"resourceUsedThresholdWithBE":{"enable":true}}})"),
       kMerge);
  work(3s, {}, 100);
  const auto times = [&](std::string_view what) {
    std::size_t count = 0;
    for (auto at = lines.find(what); at != std::string::npos; at = lines.find(what, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(times("the NodeSLO has settings without effect"), 1U) << lines;
  EXPECT_EQ(times("set, without effect with Tidemark's agent: cpuBurstStrategy"), 1U) << lines;
  EXPECT_EQ(times("feature gates of Koordinator's agent are on, without effect here"), 1U) << lines;
  EXPECT_EQ(times("CPUBurst, RdtResctrl, NodeTopologyReport, CPUSetAllocator"), 1U) << lines;
  const auto status = read_status(run.root() + "/run");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->gates_without_effect, "CPUBurst, RdtResctrl, NodeTopologyReport, CPUSetAllocator");
}

TEST_F(AgentTest, IsReadyOnceAllSourcesAnswered) {
  start();
  EXPECT_EQ(agent->not_ready(), "its Node is not listed yet");
  work(3s, {}, 100);
  EXPECT_EQ(agent->not_ready(), "");
}

TEST_F(AgentTest, IsNotReadyWithoutItsNode) {
  must("DELETE", "/api/v1/nodes/n1", nullptr);
  start();
  work(3s, {}, 100);
  EXPECT_EQ(agent->not_ready(), "no Node is named n1");
}

TEST(AgentMake, RefusesFolderWithoutKernelFiles) {
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
  options.places.proc_root = empty.root() + "/not-there";
  linux::KernelProbeRim kernel;
  linux::KernelKillRim killing;
  const auto made =
      Agent::make(loop, {client, [] { return std::string(); }, workers, workers, workers, kernel, killing}, log,
                  metrics, base::Random(2), options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("not-there"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace tidemark::agent
