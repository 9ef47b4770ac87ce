// A node whose groups are protected: a v1 kernel's folders with its rules, pods as tasks, a second at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/protect/protect_controller.h"
#include "agent/sampler/sampler.h"
#include "agent/tasks/pod_groups.h"
#include "agent/testing/kernel_node.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/text.h"
#include "kube/intern.h"
#include "linux/scan.h"
#include "linux/testing/kernel_rules.h"
#include "net/loop.h"
#include "net/testing/loop.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::agent::testing {

// Takes every write, and keeps the last body.
class TakingWriter final : public kube::Writer {
 public:
  std::string last;
  int writes = 0;
  std::optional<Error> refuse;

  net::Task<Result<std::string>> create(const kube::Resource&, std::string body, kube::WriteOptions, std::string_view,
                                        base::Duration) override {
    co_return body;
  }
  net::Task<Result<std::string>> patch(const kube::Resource&, std::string_view, kube::PatchType, std::string body,
                                       kube::WriteOptions, base::Duration) override {
    ++writes;
    if (refuse) co_return fail(*refuse);
    last = body;
    co_return body;
  }
  net::Task<Result<void>> remove(const kube::Resource&, std::string_view, std::string, kube::WriteOptions,
                                 base::Duration) override {
    co_return Result<void>();
  }
};

class Tasks final : public TaskProvider {
 public:
  Tasks() { said_.state = ProviderState::kCurrent; }
  std::string_view name() const override { return "kubernetes"; }
  const ProvidedTasks& provided() const override { return said_; }
  void say(std::vector<model::Task> tasks) {
    said_.tasks.clear();
    for (model::Task& each : tasks) said_.tasks.push_back(std::make_shared<model::Task>(std::move(each)));
    ++said_.change;
  }

 private:
  ProvidedTasks said_;
};

// A pod with one container, below the kubelet's groups in `above`.
inline model::Task one_pod(const std::string& name, model::KubeQos kube, std::string_view above = "") {
  model::Task task;
  task.kube_qos = kube;
  task.phase = model::PodPhase::kRunning;
  task.identity.source = "kubernetes";
  task.identity.task = task.name = name;
  task.path =
      base::cat(above, "kubepods/", kube == model::KubeQos::kBestEffort ? "besteffort" : "burstable", "/pod", name);
  model::TaskContainer container;
  container.name = "main";
  container.id = name + "c1";
  container.path = base::cat(task.path, "/", container.id);
  container.state = model::ContainerState::kRunning;
  task.containers.push_back(std::move(container));
  return task;
}
// Makes it a pod of batch resources.
inline void make_offline(model::Task& task) {
  task.qos_raw = task.qos = model::Qos::kBe;
  task.requests.batch = task.limits.batch = {model::CpuMilli{500}, model::MemoryBytes{64 << 20}};
  task.containers[0].requests = task.requests;
  task.containers[0].limits = task.limits;
}
// What is known of the Node "n1", of 4 processors.
inline NodeFacts facts_of_node(std::string_view labels, std::string_view annotations = "") {
  kube::Interner interner;
  const auto decoded = kube::decode_node(
      base::cat(R"({"metadata":{"name":"n1","labels":{)", labels, R"(},"annotations":{)", annotations,
                R"(}},"status":{"capacity":{"cpu":"4","memory":"8Gi"},"allocatable":{"cpu":"4","memory":"8Gi"}}})"),
      node_facts_fields(), interner);
  EXPECT_TRUE(decoded);
  return decoded ? node_facts(*decoded) : NodeFacts();
}

class GuardedNode : public ::testing::Test {
 protected:
  static constexpr std::int64_t kCpus = 4;
  static constexpr std::string_view kQuota80 =
      R"("enable":true,"cpuSuppressPolicy":"cfsQuota","cpuSuppressThresholdPercent":80)";

  GuardedNode() {
    for (const char* each : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) make_group(each);
    machinery.topology.processors = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}, {3, 3, 0, 0}};
    for (const policy::protect::Knob each :
         {policy::protect::Knob::kCpuShares, policy::protect::Knob::kCpuQuota, policy::protect::Knob::kCpuIdle,
          policy::protect::Knob::kCpusetCpus, policy::protect::Knob::kMemoryLimit}) {
      machinery.capabilities.effective.set(static_cast<std::size_t>(each));
    }
    node.proc.write("sys/kernel/random/boot_id", "b1\n");
    online("web", 0);
    offline("job", 0);
    list_pods();
  }
  ~GuardedNode() override { guard.reset(); }

  void make_group(const std::string& path) {
    node.group(path);
    for (const auto& [file, text] : std::initializer_list<std::pair<std::string, const char*>>{
             {"cpu/" + path + "/cpu.cfs_quota_us", "-1"},
             {"cpu/" + path + "/cpu.shares", path == "kubepods/besteffort" ? "2" : "1024"},
             {"cpu/" + path + "/cpu.idle", "0"},
             {"cpuset/" + path + "/cpuset.cpus", "0-3"},
             {"cpuset/" + path + "/cpuset.effective_cpus", "0-3"},
             {"memory/" + path + "/memory.limit_in_bytes", "9223372036854771712"}}) {
      node.cgroups.write(file, base::cat(text, "\n"));
    }
  }

  // A pod that uses so many milli-cores each second.
  void online(const std::string& name, std::int64_t milli) { add(name, model::KubeQos::kBurstable, milli); }
  void offline(const std::string& name, std::int64_t milli) {
    make_offline(add(name, model::KubeQos::kBestEffort, milli));
  }
  model::Task& add(const std::string& name, model::KubeQos kube, std::int64_t milli) {
    model::Task task = one_pod(name, kube);
    make_group(task.path);
    make_group(task.containers[0].path);
    loads[task.path] = milli;
    return pods.emplace(name, std::move(task)).first->second;
  }
  // What its cgroup.procs says, in each hierarchy.
  void runs_in(const std::string& group, std::string_view processes) {
    for (const auto& one : node.hierarchies->all()) {
      node.cgroups.write(base::cat(one.path.substr(node.cgroups.root().size() + 1), "/", group, "/cgroup.procs"),
                         std::string(processes));
    }
  }
  void end(const std::string& name) {
    const std::string path = pods.at(name).path;
    node.remove_group(path);
    loads.erase(path);
    pods.erase(name);
    list_pods();
  }
  void the_peer_comes() {
    online("peer", 0);
    pods.at("peer").ns = policy::state::kPeersNamespace;
    pods.at("peer").containers[0].name = policy::state::kPeersContainer;
    list_pods();
  }
  // As systemd starts it, or another user (`uid`); in a container if `nested`.
  void the_peer_runs_beside_pods(int pid, std::int64_t uid = 0, bool nested = false) {
    const std::string folder = std::to_string(pid);
    node.proc.write(folder + "/comm", "koordlet\n");
    node.proc.write(folder + "/status",
                    base::cat("Name:\tkoordlet\nState:\tS (sleeping)\nPid:\t", pid, "\nUid:\t", uid, "\t", uid, "\t",
                              uid, "\t", uid, "\nNSpid:\t", pid, nested ? "\t1" : "", "\n"));
  }
  void list_pods() {
    std::vector<model::Task> all;
    for (const auto& [name, task] : pods) all.push_back(task);
    provider.say(std::move(all));
    ASSERT_TRUE(groups.look());
  }

  // An agent begins; what was there before ended without a word unless `orderly`.
  void start(bool orderly = true) {
    if (guard && orderly) guard->drain();
    guard.reset();
    condition.reset();
    condition = std::make_unique<ConditionController>(loop, writer, log, "n1");
    guard = std::make_unique<ProtectController>(
        loop,
        ProtectOutside{*node.hierarchies, rules, *condition,
                       [this](model::AuditLine line) { audited.push_back(std::move(line)); }, reactor},
        log, metrics, machinery,
        ProtectOptions{
            .places = {node.cgroups.root(), node.proc.root(), run.root() + "/run", run.root() + "/lib/latch"},
            .mode = mode,
            .actor = "agent n1",
            .kubelet_dir = run.root() + "/kubelet",
            .only_shows = only_shows});
  }
  void say_node(std::string_view labels = "", std::string_view annotations = "") {
    guard->use_node(facts_of_node(labels, annotations));
  }
  void say_rules(std::string_view threshold) {
    say_spec(base::cat(R"({"resourceUsedThresholdWithBE":{)", threshold, "}}"));
  }
  void say_spec(std::string_view spec) {
    auto step = policy::settings::next_node_rules({}, spec);
    ASSERT_TRUE(step.problems.empty()) << step.problems[0].part << ": " << step.problems[0].why;
    guard->use_rules(std::move(step.rules));
  }
  void say_all(std::string_view threshold = R"("enable":true,"cpuSuppressPolicy":"cfsQuota")") {
    say_node();
    say_rules(threshold);
  }

  void seconds(int count, bool known = true) {
    for (int i = 0; i < count; ++i) {
      std::int64_t all = 0;
      for (const auto& [path, milli] : loads) {
        used_ns[path] += milli * 1'000'000;
        node.cpu(path, used_ns[path]);
        all += milli;
      }
      ticks += all / 10;
      node.cpu_ticks({ticks, 0, 0, 0});
      const auto& snapshot = list.snapshot();
      if (!change || *change != snapshot->change) {
        change = snapshot->change;
        sampler.set_accounts(accounts_of(*snapshot));
      }
      guard->observe(sampler.pass(), snapshot, groups, known);
      net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
    }
  }

  std::string value(std::string_view file) const {
    std::ifstream in(base::cat(node.cgroups.root(), "/", file), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return std::string(linux::without_line_end(text));
  }
  std::int64_t quota(std::string_view group = "kubepods/besteffort") const {
    return base::parse_int(value(base::cat("cpu/", group, "/cpu.cfs_quota_us"))).value_or(-99);
  }
  std::string permit_of(model::Strategy strategy) const {
    return guard->status().strategies.at(static_cast<std::size_t>(strategy)).permit;
  }

  KernelNode node{linux::Layout::kV1};
  linux::testing::Tree run;
  linux::testing::KernelRules rules;
  net::EventLoop loop{node.clock};
  std::string lines;
  base::Log log{node.clock,
                {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  TakingWriter writer;
  Machinery machinery;
  model::Mode mode = model::Mode::kEnforce;
  std::string only_shows;
  Reactor* reactor = nullptr;
  std::vector<model::AuditLine> audited;
  Tasks provider;
  TaskList list{{&provider}};
  PodGroups groups{loop, *node.hierarchies, log, PodGroupsConfig()};
  Sampler sampler{node.places(), {}, node.clock};
  std::optional<std::uint64_t> change;
  std::map<std::string, model::Task> pods;
  std::map<std::string, std::int64_t> loads, used_ns;
  std::int64_t ticks = 0;
  std::unique_ptr<ConditionController> condition;
  std::unique_ptr<ProtectController> guard;
};

}  // namespace tidemark::agent::testing
