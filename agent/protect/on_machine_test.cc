// What is decided for a node, in the groups of the kernel that runs the test: whether it takes each value in the order
// that they come in, and whether all is as it was when it is over. What is measured is made up, so that what must come
// of it is known. Groups lie below one named tidemark-test-<pid>, as if it were the kubelet's cgroupRoot.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/protect/machinery.h"
#include "agent/protect/protect_controller.h"
#include "agent/reaction/reaction_thread.h"
#include "agent/reaction/reactor.h"
#include "agent/testing/guarded_node.h"
#include "linux/cgroup/limit.h"
#include "linux/knob_probe.h"
#include "linux/testing/own_group.h"
#include "policy/protect/suppress/suppress.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::agent {
namespace {

using linux::File;
using linux::testing::kMachineRoot;
using linux::testing::OwnGroup;

constexpr std::array kFilesOfOurs{File::kCpuShares,   File::kCpuQuota,  File::kCpuIdle,  File::kCpusetCpus,
                                  File::kMemoryLimit, File::kMemoryMin, File::kMemoryLow};

constexpr std::string_view kByQuota = R"("enable":true,"cpuSuppressPolicy":"cfsQuota")";
constexpr std::string_view kDisabled = R"("enable":false)";

// A process that waits to be ended.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ != 0) return;
    while (true) ::pause();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t id() const { return pid_; }

 private:
  pid_t pid_;
};

// A process that uses one CPU from a command on.
class Busy {
 public:
  Busy() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::raise(SIGSTOP);
    for (volatile int i = 0;; i = 1 - i) {
    }
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t id() const { return pid_; }
  void begin() const {
    ::waitpid(pid_, nullptr, WUNTRACED);  // until it has stopped
    ::kill(pid_, SIGCONT);
  }

 private:
  pid_t pid_;
};

// The machine's time, and a jump of it.
class Shifted final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return real_.monotonic() + base::Duration(by_ns.load()); }
  base::BootTime boot() const override { return real_.boot(); }
  base::WallTime wall() const override { return real_.wall(); }
  std::atomic<std::int64_t> by_ns = 0;

 private:
  base::SystemClock real_;
};

class ProtectOnMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts && *mounts);
    if (linux::parse_mounts(kMachineRoot, **mounts).empty()) GTEST_SKIP() << "no cgroup hierarchy is mounted";
    hierarchies.emplace(linux::Hierarchies::discover(kMachineRoot, **mounts).value());
    is_v2 = hierarchies->layout() == linux::Layout::kV2;
    own.emplace(*hierarchies);
    if (!own->complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
    give_controllers("");
    for (const char* each : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) make_group(each, true);

    const auto proc = linux::Folder::open("/proc").value();
    const auto trial = linux::probe_knobs(*hierarchies, proc, "", kernel);
    machinery = find_out_machinery({*hierarchies, proc, "/sys"}, trial, log);
    for (const policy::protect::Knob each : {policy::protect::Knob::kCpuShares, policy::protect::Knob::kCpuQuota,
                                             policy::protect::Knob::kCpuIdle, policy::protect::Knob::kMemoryLimit}) {
      ASSERT_TRUE(machinery.capabilities.effective.test(static_cast<std::size_t>(each)))
          << found_name(file_of(each)) << ": " << lines;
    }
    made_up.proc.write("sys/kernel/random/boot_id", "b1\n");
    PodGroupsConfig kubelet;
    kubelet.kubelet_root = "/" + own->name();
    groups.emplace(loop, *hierarchies, log, kubelet);
    add("web", model::KubeQos::kBurstable);
    model::Task& job = add("job", model::KubeQos::kBestEffort);
    testing::make_offline(job);
    process.emplace();
    put(process->id(), job);
    list_pods();
    before = read_all();
  }
  void TearDown() override {
    guard.reset();
    process.reset();
  }

  std::string path_of(std::string_view below) const { return base::cat(own->name(), "/", below); }
  void give_controllers(const std::string& below) {
    if (!is_v2) return;
    const std::string group = below.empty() ? own->name() : path_of(below);
    std::ofstream file(hierarchies->all()[0].path + "/" + group + "/cgroup.subtree_control");
    ASSERT_TRUE(file << "+cpu +cpuset +memory" << std::flush) << group;
  }
  void make_group(const std::string& below, bool has_groups) {
    ASSERT_TRUE(own->make_below(below)) << below;
    if (has_groups) give_controllers(below);
    if (is_v2) return;
    // A new group of v1 has no processors, and takes no process before it has.
    const auto* home = hierarchies->home(File::kCpusetCpus);
    ASSERT_NE(home, nullptr);
    const std::string root = hierarchies->all()[home->hierarchy].path + "/" + own->name();
    for (const std::string& group : {root, root + "/" + below}) {
      for (const char* name : {"cpuset.cpus", "cpuset.mems"}) {
        std::string all;
        std::ifstream(hierarchies->all()[home->hierarchy].path + "/" + name) >> all;
        std::ofstream file(group + "/" + name);
        ASSERT_TRUE(file << all << std::flush) << group << "/" << name;
      }
    }
  }
  model::Task& add(const std::string& name, model::KubeQos kube) {
    model::Task task = testing::one_pod(name, kube, own->name() + "/");
    const std::string below = task.path.substr(own->name().size() + 1);
    make_group(below, true);
    make_group(below + "/" + task.containers[0].id, false);
    made_up.group(task.path);
    made_up.group(task.containers[0].path);
    return pods.emplace(name, std::move(task)).first->second;
  }
  void put(pid_t process_id, const model::Task& task) const {
    for (const linux::Hierarchy& one : hierarchies->all()) {
      std::ofstream file(one.path + "/" + task.containers[0].path + "/cgroup.procs");
      ASSERT_TRUE(file << process_id << std::flush) << one.path;
    }
  }
  // However busy the machine is with other work, of which nothing is known here.
  void runs_before_others() {
    const auto group = linux::Group::open(*hierarchies, own->name());
    ASSERT_TRUE(group && *group);
    const auto most = linux::value_text(File::kCpuShares, *(*group)->version(File::kCpuShares), linux::kSharesMax);
    ASSERT_TRUE(kernel.writer().put(**group, File::kCpuShares, most.value()));
  }
  void end_job() {
    process.reset();
    end_pod("job");
    list_pods();
  }
  // Removes its cgroups, but not the pod from the provider's list.
  void end_pod(const std::string& name) {
    const model::Task pod = pods.at(name);
    pods.erase(name);
    for (const std::string& path : {pod.containers[0].path, pod.path}) {
      for (const linux::Hierarchy& one : hierarchies->all()) ASSERT_EQ(::rmdir((one.path + "/" + path).c_str()), 0);
    }
    made_up.remove_group(pod.path);
  }

  void react() {
    reactor = &watched;
    start();
    say_node();
    say_rules(kByQuota);
    seconds(2, 0);
    ASSERT_EQ(offline_quota(), 260'000) << "4000 × 65 %";
  }
  void surge_is_answered() {
    runs_before_others();
    std::int64_t found = -1;
    int answered = 0;
    const auto thread = ReactionThread::start(loop, watched, [&] {
      found = offline_quota();
      ++answered;
      guard->decide();
    });
    ASSERT_TRUE(thread);
    const std::array<Busy, 2> surge;
    for (const Busy& each : surge) put(each.id(), pods.at("web"));
    for (const Busy& each : surge) each.begin();
    ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return answered > 0; }))
        << guard->status().strategies[0].says
        << "; online work used ns: " << read(path_of("kubepods/burstable"), File::kCpuUsage).value_or("?") << "\n"
        << lines;
    EXPECT_LT(found, 260'000) << "written before any decision";
    EXPECT_GE(found, policy::protect::kSuppressQuotaMin_us);
    EXPECT_LE(offline_quota(), found) << "and left by who did";
    EXPECT_EQ(guard->status().left, 0) << lines;
    EXPECT_EQ(guard->status().refused, 0) << lines;
    say_rules(kDisabled);
    seconds(2, 0);
    EXPECT_EQ(offline_quota(), policy::protect::kNoLimit);
  }
  void list_pods() {
    std::vector<model::Task> all;
    for (const auto& [name, task] : pods) all.push_back(task);
    provider.say(std::move(all));
    ASSERT_TRUE(groups->look());
  }

  void start() {
    condition = std::make_unique<ConditionController>(loop, writer, log, "n1");
    guard = std::make_unique<ProtectController>(
        loop, ProtectOutside{*hierarchies, kernel.writer(), *condition, {}, reactor}, log, metrics, machinery,
        ProtectOptions{{kMachineRoot, made_up.proc.root(), run.root() + "/run", run.root() + "/lib/latch"},
                       model::Mode::kEnforce,
                       "agent n1"});
  }
  void say_node(std::string_view labels = "") { guard->use_node(testing::facts_of_node(labels)); }
  void say_rules(std::string_view threshold, std::string_view cpu_qos = R"("enable":true,"groupIdentity":-1)",
                 std::string_view classes = "") {
    auto step = policy::settings::next_node_rules(
        {}, base::cat(R"({"resourceUsedThresholdWithBE":{)", threshold,
                      R"(},"resourceQOSStrategy":{"beClass":{"cpuQOS":{)", cpu_qos,
                      R"(}}},"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"classes":[)", classes, "]}}}}}"));
    ASSERT_TRUE(step.problems.empty()) << step.problems[0].part << ": " << step.problems[0].why;
    guard->use_rules(std::move(step.rules));
  }
  // In which online work uses that much.
  void seconds(int count, std::int64_t online_milli) {
    for (int i = 0; i < count; ++i) {
      used_ns += online_milli * 1'000'000;
      made_up.cpu(pods.at("web").path, used_ns);
      made_up.cpu_ticks({used_ns / testing::KernelNode::kTickNs, 0, 0, 0});
      const auto& snapshot = list.snapshot();
      sampler.set_accounts(accounts_of(*snapshot));
      guard->observe(sampler.pass(), snapshot, *groups, true);
      net::testing::run_for(loop, made_up.clock, std::chrono::seconds(1));
    }
  }

  std::optional<std::string> read(const std::string& path, File file) {
    const auto group = linux::Group::open(*hierarchies, path);
    if (!group || !*group) return {};
    const auto text = (*group)->read(file, buffer);
    return text && *text ? std::optional(std::string(linux::without_line_end(**text))) : std::nullopt;
  }
  std::int64_t number(const std::string& path, File file) {
    const auto group = linux::Group::open(*hierarchies, path);
    if (!group || !*group) return -99;
    const auto value = linux::read_value(**group, file, buffer);
    return value && *value ? **value : -98;
  }
  std::int64_t offline_quota() { return number(path_of("kubepods/besteffort"), File::kCpuQuota); }

  std::map<std::string, std::string> read_all() {
    std::map<std::string, std::string> out;
    std::vector<std::string> all{own->name(), path_of("kubepods"), path_of("kubepods/burstable"),
                                 path_of("kubepods/besteffort")};
    for (const auto& [name, task] : pods) {
      all.push_back(task.path);
      all.push_back(task.containers[0].path);
    }
    for (const std::string& path : all) {
      for (const File file : kFilesOfOurs) {
        if (auto text = read(path, file)) out.emplace(base::cat(path, " ", found_name(file)), std::move(*text));
      }
    }
    return out;
  }

  std::optional<linux::Hierarchies> hierarchies;
  bool is_v2 = false;
  std::optional<OwnGroup> own;
  std::optional<Sleeper> process;
  linux::KernelProbeRim kernel;
  linux::Buffer buffer;
  testing::KernelNode made_up{linux::Layout::kV1};
  linux::testing::Tree run;
  net::EventLoop loop{made_up.clock};
  std::string lines;
  base::Log log{made_up.clock,
                {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  testing::TakingWriter writer;
  Machinery machinery;
  testing::Tasks provider;
  TaskList list{{&provider}};
  std::optional<PodGroups> groups;
  Sampler sampler{made_up.places(), {}, made_up.clock};
  std::map<std::string, model::Task> pods;
  std::int64_t used_ns = 0;
  std::map<std::string, std::string> before;
  std::unique_ptr<ConditionController> condition;
  Shifted machine_clock;
  Reactor watched{machine_clock};
  Reactor* reactor = nullptr;
  std::unique_ptr<ProtectController> guard;
};

// Contract 7.3, as on a node that is made up (protect_controller_test.cc).
TEST_F(ProtectOnMachine, KernelAcceptsSuppressionValues) {
  start();
  say_node();
  say_rules(kByQuota);
  seconds(2, 200);
  EXPECT_EQ(offline_quota(), 240'000) << "4000 × 65 % less 200, in 100 ms";
  seconds(1, 2'200);
  EXPECT_EQ(offline_quota(), 40'000);
  seconds(1, 200);
  EXPECT_EQ(offline_quota(), 80'000) << "a tenth of 400,000 more";
  say_rules(kDisabled);
  seconds(2, 200);
  EXPECT_EQ(offline_quota(), policy::protect::kNoLimit);
  EXPECT_EQ(guard->status().refused, 0) << lines;
}

TEST_F(ProtectOnMachine, BatchPodHasLimitsAndLowPriority) {
  start();
  say_node();
  say_rules(kDisabled);
  seconds(2, 0);
  const model::Task& job = pods.at("job");
  for (const std::string& path : {job.path, job.containers[0].path}) {
    EXPECT_EQ(number(path, File::kCpuQuota), 50'000);
    EXPECT_EQ(number(path, File::kMemoryLimit), 64 << 20);
  }
  EXPECT_EQ(number(job.path, File::kCpuIdle), 1);
  EXPECT_EQ(number(pods.at("web").path, File::kCpuQuota), policy::protect::kNoLimit);
  EXPECT_EQ(guard->status().refused, 0) << lines;
  EXPECT_EQ(guard->status().unmet, 0) << lines;
}

// Without a kubelet: the highest group with offline work alone, and weights below it.
TEST_F(ProtectOnMachine, WithoutKubeletOfflineWorkIsIdleAndPodsKeepWeights) {
  machinery.own_groups = true;
  const std::string all = own->name(), besteffort = path_of("kubepods/besteffort");
  start();
  say_node();
  say_rules(kDisabled);
  seconds(2, 0);
  EXPECT_EQ(number(besteffort, File::kCpuIdle), 1);
  EXPECT_EQ(number(all, File::kCpuIdle), 0) << "web lies there";
  const std::string& job = pods.at("job").path;
  EXPECT_EQ(number(job, File::kCpuIdle), 0);
  EXPECT_EQ(number(job, File::kCpuShares), is_v2 ? linux::shares_of_weight(linux::weight_of_shares(512)) : 512);
  pods.at("web").phase = model::PodPhase::kSucceeded;
  list_pods();
  seconds(2, 0);
  EXPECT_EQ(number(all, File::kCpuIdle), 1);
  EXPECT_EQ(number(besteffort, File::kCpuIdle), 0);
  EXPECT_EQ(guard->status().refused, 0) << lines;
  EXPECT_EQ(guard->status().unmet, 0) << lines;
  say_rules(kDisabled, R"("enable":false)");
  seconds(2, 0);
  for (const std::string& path : {all, besteffort}) {
    for (const File file : {File::kCpuIdle, File::kCpuShares}) {
      EXPECT_EQ(read(path, file), before.at(base::cat(path, " ", found_name(file))));
    }
  }
}

// No quota while the kernel puts offline work last by itself, and one as soon as that is taken away or off wants it.
TEST_F(ProtectOnMachine, IdlePolicySetsNoQuota) {
  constexpr std::string_view kIdle = R"("enable":true,"cpuSuppressPolicy":"idle")";
  machinery.own_groups = true;
  const std::string besteffort = path_of("kubepods/besteffort");
  start();
  say_node();
  say_rules(kIdle);
  seconds(3, 500);
  EXPECT_EQ(number(besteffort, File::kCpuIdle), 1);
  EXPECT_EQ(number(besteffort, File::kCpuQuota), policy::protect::kNoLimit) << lines;
  EXPECT_TRUE(guard->suppress_plan().left);
  say_rules(kIdle, R"("enable":false)");
  seconds(2, 500);
  EXPECT_EQ(number(besteffort, File::kCpuIdle), 0);
  EXPECT_GT(number(besteffort, File::kCpuQuota), 0) << "the weight alone is not enough";
  say_rules(kIdle);
  seconds(2, 500);
  EXPECT_EQ(number(besteffort, File::kCpuQuota), policy::protect::kNoLimit);
}

TEST_F(ProtectOnMachine, ClassHasWeightAndMemory) {
  pods.at("job").identity.work_class = "spark";
  list_pods();
  start();
  say_node();
  say_rules(kDisabled, R"("enable":false)", R"({"name":"spark","order":30,"cpuWeight":300,"memoryLowPercent":50})");
  seconds(2, 0);
  const std::string& path = pods.at("job").path;
  // 512 of 500 milli-cores × 300 %, in v1's measure; of that a kernel of v2 knows from 1 to 10000.
  EXPECT_EQ(number(path, File::kCpuShares), is_v2 ? linux::shares_of_weight(linux::weight_of_shares(1536)) : 1536);
  if (is_v2) EXPECT_EQ(number(path, File::kMemoryLow), 32 << 20);
  say_rules(kDisabled, R"("enable":false)");
  seconds(2, 0);
  if (is_v2) EXPECT_EQ(number(path, File::kMemoryLow), 0);
  EXPECT_EQ(guard->status().refused, 0) << lines;
}

TEST_F(ProtectOnMachine, OffLimitsRunningWorkThenRestoresAllFiles) {
  start();
  say_node();
  say_rules(kByQuota);
  seconds(2, 200);
  ASSERT_NE(read_all(), before);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(offline_quota(), policy::protect::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  seconds(3, 200);
  EXPECT_EQ(offline_quota(), policy::protect::kSuppressQuotaMin_us);
  end_job();
  seconds(2, 200);
  std::erase_if(before, [](const auto& each) { return each.first.contains("/podjob"); });
  EXPECT_EQ(read_all(), before);
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty());
  EXPECT_EQ(guard->status().refused, 0) << lines;
}

// Real use: processes start in cgroups of online work, and no decision runs until the reaction has limited offline
// work.
TEST_F(ProtectOnMachine, ReactsToSurgeBeforeNextDecision) {
  react();
  // What it used lately: nothing.
  ASSERT_FALSE(watched.look());
  machine_clock.by_ns += 2'000'000'000;
  ASSERT_FALSE(watched.look());
  surge_is_answered();
}

// Offline pods that request CPU of the ordinary kind lie beside online ones.
TEST_F(ProtectOnMachine, ReactsToSurgeWhileOfflinePodsComeAndGo) {
  react();
  ASSERT_FALSE(watched.look());
  machine_clock.by_ns += 2'000'000'000;
  ASSERT_FALSE(watched.look());
  for (const char* name : {"batch1", "batch2", "batch3"}) {
    testing::make_offline(add(name, model::KubeQos::kBurstable));
    list_pods();
    seconds(1, 0);
    ASSERT_FALSE(watched.look()) << name;
    end_pod(name);
    ASSERT_FALSE(watched.look()) << name << " is gone, and what all others use is known as before";
  }
  surge_is_answered();
}

// The next agent knows from the journal alone what was found.
TEST_F(ProtectOnMachine, NextAgentRestoresAfterKill) {
  start();
  say_node();
  say_rules(kByQuota);
  seconds(2, 200);
  const auto left = read_all();
  ASSERT_NE(left, before);
  guard.reset();  // without drain(), as a kill is
  EXPECT_EQ(read_all(), left);
  start();
  say_node(R"("tidemark.io/state":"observe")");
  say_rules(kByQuota);
  seconds(2, 200);
  EXPECT_EQ(read_all(), before);
  EXPECT_EQ(guard->status().refused, 0) << lines;
}

}  // namespace
}  // namespace tidemark::agent
