// The copilot over its socket, on the groups of the kernel that runs the test and with real processes in them, which
// lie where a NodeManager's LinuxContainerExecutor puts them. What the NodeManager says is what a real one said.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "linux/testing/own_group.h"
#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using testing::kLimit;
using testing::kOther;
using testing::kTask;

// A process of ours that waits to be ended, or does not listen when it is asked to. One child of it has left its
// session.
class Work {
 public:
  enum class Hears : std::uint8_t { kAll, kNothing };
  explicit Work(Hears hears) : pid_(::fork()) {
    if (pid_ != 0) {
      ::waitpid(pid_, nullptr, WUNTRACED);  // until all of it is there
      return;
    }
    if (hears == Hears::kNothing) ::signal(SIGTERM, SIG_IGN);
    ::raise(SIGSTOP);
    if (::fork() == 0) ::setsid();
    while (true) ::pause();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t id() const { return pid_; }
  void begin() const { ::kill(pid_, SIGCONT); }
  // Its signal.
  int end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_;
  bool ended_ = false;
};

class CopilotOnMachine : public testing::World {
 protected:
  void SetUp() override {
    linux::Buffer buffer;
    const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts && *mounts);
    hierarchies.emplace(linux::Hierarchies::discover(linux::testing::kMachineRoot, **mounts).value());
    if (hierarchies->layout() != linux::Layout::kV2)
      GTEST_SKIP() << "cgroup v2 alone: tests/yarn has v1 with a real one";
    own.emplace(*hierarchies);
    ASSERT_TRUE(own->complete());
    ASSERT_TRUE(own->give_controllers("+cpu +memory"));
    ASSERT_TRUE(own->make_below("hadoop-yarn"));
    std::ofstream(path_of("cgroup.subtree_control")) << "+cpu +memory" << std::flush;
    tell({as_recorded(kTask, 2048, 2), as_recorded(kOther, 1024, 1)});
    options.cgroup_root = linux::testing::kMachineRoot;
    options.proc_root = "/proc";
    options.group = own->name() + "/hadoop-yarn";
    auto made = YarnCopilot::make(
        loop, {kernel, workers, [this](model::AuditLine line) { audit.push_back(line); }, managers, 1}, log, metrics,
        options);
    ASSERT_TRUE(made) << made.error().message;
    copilot = *std::move(made);
    client = std::make_unique<net::HttpClient>(loop, nullptr, copilot::socket_config(options.socket).value());
  }
  void TearDown() override {
    if (!own) return;  // skipped
    for (const std::string_view id : {kTask, kOther}) {
      std::ofstream(path_of(base::cat(id, "/cgroup.kill"))) << 1 << std::flush;
      EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return empty(id); })) << id;
    }
  }

  std::string path_of(std::string_view file) const {
    return base::cat(linux::testing::kMachineRoot, "/", own->name(), "/hadoop-yarn/", file);
  }
  std::string read(std::string_view id, std::string_view file) const {
    std::ifstream in(path_of(base::cat(id, "/", file)));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static std::string as_recorded(std::string_view id, int memory_mib, int vcores) {
    return base::cat(R"({"id":")", id, R"(","state":"RUNNING","exitCode":-1000,"diagnostics":"","user":"ada",)",
                     R"("totalMemoryNeededMB":)", memory_mib, R"(,"totalVCoresNeeded":)", vcores,
                     R"(,"executionType":"GUARANTEED","containerLogsLink":"http://h:8042/node/containerlogs/x/ada",)",
                     R"("nodeId":"h:45454","memUsed":0.0,"memMaxed":0.0,"cpuUsed":0.0,"cpuMaxed":0.0,)",
                     R"("containerLogFiles":["stdout"]})");
  }
  bool empty(std::string_view id) const { return read(id, "cgroup.procs").empty(); }
  void put(const Work& work, std::string_view id) {
    ASSERT_TRUE(own->make_below(base::cat("hadoop-yarn/", id)));
    std::ofstream(path_of(base::cat(id, "/cgroup.procs"))) << work.id() << std::flush;
    work.begin();
    ASSERT_TRUE(
        net::testing::run_real_until(loop, [&] { return std::ranges::count(read(id, "cgroup.procs"), '\n') == 2; }));
  }
  Json seen(std::string_view id) {
    const auto body = Json::parse(get("/tidemark/v1/containers").body);
    for (const Json& each : body->member("containers")->as_array()) {
      if (each.text_at("id") == id) return each;
    }
    return {};
  }

  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::testing::OwnGroup> own;
  linux::KernelKillRim kernel;
};

TEST_F(CopilotOnMachine, AContainerIsListedLimitedAndKilledWithAllOfItsGroup) {
  Work task(Work::Hears::kNothing), other(Work::Hears::kAll);
  put(task, kTask);
  put(other, kOther);
  const Json listed = seen(kTask);
  EXPECT_EQ(listed.text_at("group"), base::cat(options.group, "/", kTask));
  EXPECT_EQ(listed.at("use", "processes")->as_int(), 2);
  EXPECT_GT(listed.at("use", "memoryBytes")->as_int(), 0);
  EXPECT_FALSE(listed.at("use", "cpuNanoseconds")->is_null());
  EXPECT_EQ(run(api().container(std::string(kTask), kLimit))->group, base::cat(options.group, "/", kTask));

  EXPECT_EQ(post("/tidemark/v1/limits", of(kTask, R"(,"cpu":"500m","memory":"64Mi")")).status, 200);
  EXPECT_EQ(read(kTask, "cpu.max"), "50000 100000\n");
  EXPECT_EQ(read(kTask, "memory.max"), "67108864\n");
  EXPECT_EQ(get(base::cat("/tidemark/v1/limits?containerID=", kTask)).body,
            base::cat(R"({"containerID":")", kTask, R"(","cpu":"500m","memory":"64Mi"})"));

  const auto killed = run(api().kill(std::string(kTask), kLimit));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(task.end(), SIGKILL);
  EXPECT_TRUE(empty(kTask)) << "with the one that has left its session";
  EXPECT_FALSE(empty(kOther));
  EXPECT_EQ(audit.back().new_value, R"({"by":"group","processes":2})");
}

TEST_F(CopilotOnMachine, WhoIsAskedEndsAndWhoDoesNotListenIsKilledAtItsDeadline) {
  Work task(Work::Hears::kAll), other(Work::Hears::kNothing);
  put(task, kTask);
  put(other, kOther);
  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":3600)")).status, 202);
  EXPECT_EQ(task.end(), SIGTERM);
  EXPECT_EQ(post("/tidemark/v1/stop", of(kOther, R"(,"graceSeconds":1)")).status, 202);
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return audit.back().verb == "kill"; }));
  EXPECT_EQ(other.end(), SIGKILL);
  EXPECT_TRUE(empty(kTask) && empty(kOther));
}

}  // namespace
}  // namespace tidemark::yarn_copilot
