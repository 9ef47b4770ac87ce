// Pods with groups of the machine's own, where this user may make some.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/make.h"
#include "linux/testing/own_group.h"
#include "runtime/runtime.h"
#include "runtime/testing/runtime.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;
using testing::kPutsAway;
using testing::RuntimeTest;

// With groups of the machine's own, all below one of this test.
struct RuntimeGroupsTest : RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    std::ifstream mounts("/proc/self/mountinfo");
    text.assign(std::istreambuf_iterator<char>(mounts), {});
    hierarchies = linux::Hierarchies::discover(linux::testing::kMachineRoot, text);
    if (!hierarchies) GTEST_SKIP() << hierarchies.error().message;
    own.emplace(*hierarchies);
    if (!own->complete()) GTEST_SKIP() << "this user makes no groups";
    options.cgroup_root = linux::testing::kMachineRoot;
    options.group = base::cat("/", own->name(), "/here");
    begin();
    until([&] { return node().at("status", "capacity") != nullptr; });
    EXPECT_EQ(message_of_node(), "pods run as processes of this machine");
  }
  void TearDown() override {
    if (runtime) {
      for (const Json& pod : pods()) remove(std::string(pod.text_at("metadata", "name")), 0);
      until([&] { return pods().empty() && std::filesystem::is_empty(folder + "/containers"); });
      net::testing::run_task(loop, runtime->drain(), 60s);
      for (const linux::Hierarchy& one : hierarchies->all())
        linux::testing::remove_groups(base::cat(one.path, "/", own->name()));
    }
    RuntimeTest::TearDown();
  }
  std::string path_of(const std::string& name, std::string_view qos) {
    return base::cat(own->name(), "/here/kubepods/", qos, "/pod", pod(name).text_at("metadata", "uid"));
  }
  // A process that sleeps in a group which is made for it.
  pid_t put_process_into(const std::string& path) {
    EXPECT_TRUE(linux::make_group(*hierarchies, path));
    const pid_t process = ::fork();
    if (process == 0) ::_exit(::execlp("sleep", "sleep", "1000", nullptr));
    for (const std::string& file : linux::process_files(*hierarchies, path)) std::ofstream(file) << process;
    return process;
  }
  std::int64_t value(const std::string& path, linux::File file) {
    const auto group = linux::Group::open(*hierarchies, path);
    if (!group || !*group) return -1;
    linux::Buffer buffer;
    const auto read = linux::read_value(**group, file, buffer);
    return read && *read ? **read : -1;
  }

  std::string text;  // of the mounts
  Result<linux::Hierarchies> hierarchies = fail(ErrorKind::kNotFound, "not looked at yet");
  std::optional<linux::testing::OwnGroup> own;
};

// What a kubelet would write, and nothing left.
TEST_F(RuntimeGroupsTest, CreatesCgroupPerPod) {
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
  const std::string path = path_of("held", "burstable");
  EXPECT_EQ(value(path, linux::File::kCpuShares), 512);
  EXPECT_EQ(value(path, linux::File::kCpuQuota), 100'000);
  EXPECT_EQ(value(base::cat(own->name(), "/here"), linux::File::kCpuShares), 1024 * ::sysconf(_SC_NPROCESSORS_ONLN))
      << "a kubelet's kubepods has so many beside the rest of the machine";
  EXPECT_EQ(value(path, linux::File::kMemoryLimit), 64 << 20);
  const auto group = linux::Group::open(*hierarchies, path);
  ASSERT_TRUE(group && *group);
  remove("held", 1);
  until([&] { return pods().empty(); });
  EXPECT_FALSE((*group)->alive()) << "with what it left running";

  // A copilot that adopts has its groups in every hierarchy, and leaves the one above them.
  const auto all = linux::Hierarchies::discover_others(linux::testing::kMachineRoot, text);
  ASSERT_TRUE(all);
  const std::string adopted = base::cat(own->name(), "/here/kubepods/besteffort/hadoop-yarn");
  ASSERT_TRUE(linux::make_group(*hierarchies, adopted) && linux::make_group(*all, adopted));
  net::testing::run_task(loop, runtime->drain(), 60s);
  const linux::Hierarchies& ours = *hierarchies;
  for (const linux::Hierarchies* each : {&ours, &*all}) {
    for (const linux::Hierarchy& one : each->all()) {
      EXPECT_FALSE(std::filesystem::exists(base::cat(one.path, "/", own->name(), "/here"))) << one.path;
      linux::testing::remove_groups(base::cat(one.path, "/", own->name()));
    }
  }
  runtime.reset();
}

// A process that takes long to die (its disk hangs) does not keep the probes of the others waiting.
TEST_F(RuntimeGroupsTest, KillDoesNotBlockLoop) {
  make("deep", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  until([&] { return phase("deep") == "Running"; });
  // Its shim does not know of what is in groups below its own.
  const std::string below = base::cat(path_of("deep", "besteffort"), "/below");
  const pid_t left = put_process_into(below);
  ASSERT_GT(left, 0);
  remove("deep", 1);
  until([&] { return pods().empty(); });
  int status = 0;
  EXPECT_EQ(::waitpid(left, &status, 0), left);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  net::testing::run_task(loop, runtime->drain(), 60s);
  runtime.reset();
  EXPECT_FALSE(killing.waited.empty());
  EXPECT_FALSE(killing.waited.contains(std::this_thread::get_id()));
}

// A cgroup that is slow to die is killed again and again; a pod that started meanwhile is not affected.
TEST_F(RuntimeGroupsTest, StuckCgroupOfGonePodKillsNothingElse) {
  runtime.reset();
  const std::string stranger = base::cat(own->name(), "/here/kubepods/besteffort/podgone");
  const pid_t left = put_process_into(stranger);
  ASSERT_GT(left, 0);
  killing.spared = left;
  begin();
  const auto tries = [&] { return lines_with("groups of pods that are no more are there still"); };
  until([&] { return tries() == 1; });
  make("new", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  until([&] { return phase("new") == "Running"; });
  until([&] { return tries() == 3; });
  killing.spared = 0;
  until([&] { return lines.contains("groups of pods that are no more are removed"); });
  int status = 0;
  EXPECT_EQ(::waitpid(left, &status, 0), left);
  EXPECT_TRUE(runs_as_restart("new", 0)) << pod("new").dump();
  EXPECT_EQ(container("new").at("lastState", "terminated"), nullptr);
}

// A container that writes without end keeps its shim busy.
TEST_F(RuntimeGroupsTest, ShimOfOfflineWorkRunsInItsCgroup) {
  make("batch", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  make("web", R"(
  containers: [{name: main, image: local, command: [sleep, "1000"], resources: {requests: {cpu: 500m}}}]
)");
  until([&] { return phase("batch") == "Running" && phase("web") == "Running"; });
  const auto groups_of_shim = [&](const std::string& name) {
    const std::string pid =
        text_of(base::cat(folder, "/containers/", pod(name).text_at("metadata", "uid"), "/main/0/lock"));
    return text_of(base::cat("/proc/", pid.substr(0, pid.find(' ')), "/cgroup"));
  };
  const std::string held = base::cat("/", own->name(), "/here/kubepods/besteffort/shims\n");
  const std::string free = base::cat("/", own->name(), "/here/shims\n");
  EXPECT_TRUE(groups_of_shim("batch").contains(held)) << groups_of_shim("batch");
  EXPECT_FALSE(groups_of_shim("web").contains(held)) << groups_of_shim("web");
  EXPECT_TRUE(groups_of_shim("web").contains(free)) << groups_of_shim("web");
}

// The kernel refuses the weight of such a group.
TEST_F(RuntimeGroupsTest, StartsOfflineWorkThatDeadAgentLeftIdle) {
  const std::string besteffort = base::cat(own->name(), "/here/kubepods/besteffort");
  const linux::Hierarchy& processors = hierarchies->all()[hierarchies->of(linux::Controller::kCpu).value()];
  std::ofstream idle(base::cat(processors.path, "/", besteffort, "/cpu.idle"));
  if (!(idle << 1 << std::flush)) GTEST_SKIP() << "this kernel has no cpu.idle";
  runtime.reset();
  begin();
  make("batch", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  until([&] { return phase("batch") == "Running"; });
  EXPECT_EQ(value(besteffort, linux::File::kCpuIdle), 1) << "that is the agent's";
}

TEST_F(RuntimeGroupsTest, PodHasItsLimitsAfterReboot) {
  make("web", R"(
  containers:
  - name: main
    image: local
    command: [sleep, "1000"]
    resources: {requests: {cpu: 500m}, limits: {memory: 64Mi}}
)");
  until([&] { return phase("web") == "Running"; });
  const std::string path = path_of("web", "burstable");
  reboot();
  for (const linux::Hierarchy& one : hierarchies->all()) {
    linux::testing::remove_groups(base::cat(one.path, "/", own->name(), "/here"));
  }
  ASSERT_EQ(value(path, linux::File::kCpuShares), -1);
  clock.off = 1h;
  begin();
  until([&] { return runs_as_restart("web", 1); });
  EXPECT_EQ(value(path, linux::File::kCpuShares), 512);
  EXPECT_EQ(value(path, linux::File::kMemoryLimit), 64 << 20);
}

TEST_F(RuntimeGroupsTest, EveryProcessGetsOneSigtermAndGrace) {
  make("away", base::cat(kPutsAway, folder, "]\n"));
  until([&] { return phase("away") == "Running" && log_of("away").contains("up"); });
  remove("away");
  until([&] { return pods().empty(); });
  std::ifstream kept(folder + "/kept");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "\n");
  EXPECT_EQ(lines.find("did not end within its grace"), std::string::npos) << lines;
}

}  // namespace
}  // namespace tidemark::runtime
