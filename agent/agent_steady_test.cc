// An agent passes over its node every second for months. A pass that finds nothing to do, from the kernel's files to
// those that stand as they are wanted, allocates nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protect/status.h"
#include "agent/testing/agent.h"
#include "base/testing/allocations.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using testing::AgentTest;
using testing::kMerge;
using testing::kMiB;
using testing::kNodeSlos;
using testing::kPods;
using testing::parsed;

class AgentSteady : public AgentTest {
 protected:
  static constexpr int kPodsOfEach = 10;

  void two_containers(std::string_view name, bool offline) {
    const std::string_view wants =
        offline ? R"("requests":{"kubernetes.io/batch-cpu":"200","kubernetes.io/batch-memory":"32Mi"},
                     "limits":{"kubernetes.io/batch-cpu":"200","kubernetes.io/batch-memory":"32Mi"})"
                : R"("requests":{"cpu":"50m"})";
    std::string containers, statuses;
    for (const char* each : {"a", "b"}) {
      const char* comma = containers.empty() ? "" : ",";
      containers += base::cat(comma, R"({"name":")", each, R"(","image":"x","resources":{)", wants, "}}");
      statuses += base::cat(comma, R"({"name":")", each, R"(","containerID":"containerd://)", name, each,
                            R"(","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}})");
    }
    must("POST", kPods,
         parsed(base::cat(R"({"metadata":{"name":")", name, R"(","labels":{"koordinator.sh/qosClass":")",
                          offline ? "BE" : "LS", R"("}},"spec":{"nodeName":"n1")", R"(,"containers":[)", containers,
                          "]}}")));
    must("PATCH", base::cat(kPods, "/", name, "/status"),
         parsed(base::cat(R"({"status":{"phase":"Running","qosClass":")", offline ? "BestEffort" : "Burstable",
                          R"(","containerStatuses":[)", statuses, "]}}")),
         kMerge);
    const std::string pod = base::cat("kubepods/", offline ? "besteffort" : "burstable", "/pod", uid_of(name));
    for (const std::string& group : {pod, base::cat(pod, "/", name, "a"), base::cat(pod, "/", name, "b")}) {
      knobs(group);
    }
    if (name.ends_with('0')) loads.push_back({pod, 100});
  }
  void knobs(const std::string& group) {
    node.group(group);
    for (const auto& [name, text] : kernel.files[""]) {
      if (name != "cpu.stat") node.cgroups.write(base::cat(group, "/", name), base::cat(text, "\n"));
    }
    node.cgroups.write(base::cat(group, "/cpuset.cpus.effective"), "0-3\n");
    node.group_memory(group, {kMiB, kMiB, kMiB, kMiB});
  }

  // So many allocations each second of a minute, after as long without a change.
  std::vector<long> allocations_of(std::string_view threshold, std::string_view more = "") {
    this_process();
    node.numa_tree.write("devices/system/cpu/online", "0-3\n");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string topology = base::cat("devices/system/cpu/cpu", cpu, "/topology/");
      node.numa_tree.write(topology + "core_id", base::cat(cpu, "\n"));
      node.numa_tree.write(topology + "physical_package_id", "0\n");
    }
    for (const char* each : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) knobs(each);
    for (int i = 0; i < kPodsOfEach; ++i) {
      two_containers(base::cat("web", i), false);
      two_containers(base::cat("job", i), true);
    }
    must("POST", kNodeSlos,
         parsed(base::cat(R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"n1"},
                             "spec":{"resourceUsedThresholdWithBE":{"enable":true)",
                          threshold, "}", more, "}}")));
    nodemetric();
    start(state.root());
    EXPECT_TRUE(
        net::testing::run_real_until(loop, [&] { return lines.find("learned models loaded") != std::string::npos; }));
    work(70s, loads, 400);
    std::vector<long> made;
    for (int second = 0; second < 60; ++second) {
      for (const Load& each : loads) {
        used_ms[each.group] += each.ms_a_second;
        node.cpu(each.group, used_ms[each.group] * 1'000'000);
      }
      node_ms += 400;
      node.cpu_ticks({node_ms / 10, 0});
      const long before = base::testing::allocations();
      net::testing::run_for(loop, node.clock, 1s);
      made.push_back(base::testing::allocations() - before);
    }
    return made;
  }
  std::int64_t in_force(model::Strategy strategy) const {
    const auto status = read_status(run.root() + "/run");
    return status && *status ? (*status)->strategies.at(static_cast<std::size_t>(strategy)).in_force : -1;
  }

  linux::testing::Tree state;
  std::vector<Load> loads;
};

// Seconds without reports. Every ten seconds the agent writes its status and checks the kubelet's cgroups, every thirty
// it writes a record line and a report, every minute it trains the models. A write on another thread may complete in a
// later second: that adds two seconds for record lines and one for the models.
constexpr std::ptrdiff_t kQuietSeconds = 60 - 6 - 6 - 2 * 2 - 1 - 3;

// A look around names each pod and container anew.
constexpr long kLookAround = 15L * 2 * 10;

TEST_F(AgentSteady, APassOverTwentyPodsAllocatesNothing) {
  const auto made = allocations_of(R"(,"cpuSuppressPolicy":"cfsQuota")");
  EXPECT_GE(std::ranges::count(made, 0), kQuietSeconds) << ::testing::PrintToString(made);
  EXPECT_GE(std::ranges::count_if(made, [](long each) { return each < kLookAround; }), 60 - 2 - 1)
      << "but reports, and what is learned: " << ::testing::PrintToString(made);
  EXPECT_EQ(in_force(model::Strategy::kCpuSuppress), 1);
  EXPECT_GE(in_force(model::Strategy::kBatchLimits), 3 * 2 * kPodsOfEach) << "of pods and containers";
  EXPECT_GE(in_force(model::Strategy::kCpuPriority), 3 * 2 * kPodsOfEach);
}

TEST_F(AgentSteady, SuppressionByCpuSetAllocatesNothing) {
  const auto made = allocations_of("");
  EXPECT_GE(std::ranges::count(made, 0), kQuietSeconds) << ::testing::PrintToString(made);
  EXPECT_EQ(in_force(model::Strategy::kCpuSuppress), 1) << "of all offline pods together, on v2";
}

// Of our own settings: what each class has, the quota of each of its tasks, and evictions with a word for each feature.
TEST_F(AgentSteady, EnforcedClassesAndEvictionsAllocateNothing) {
  const auto made = allocations_of(R"(,"cpuSuppressPolicy":"cfsQuota")",
                                   R"(,"extensions":{"Object":{"tidemark":{"schema":1,"agent":{
      "modes":{"default":"enforce"},"classes":[{"name":"spark","order":20},{"name":"free","order":10}]}}}})");
  const auto quiet = kQuietSeconds - 6;  // every ten seconds oomOrder looks for new processes
  EXPECT_GE(std::ranges::count(made, 0), quiet) << ::testing::PrintToString(made);
  EXPECT_EQ(in_force(model::Strategy::kCpuSuppress), 1 + kPodsOfEach) << "of all of them, and of each";
  EXPECT_EQ(in_force(model::Strategy::kClassWeights), kPodsOfEach);
}

}  // namespace
}  // namespace tidemark::agent
