// The copilot through its socket, on real cgroups with real processes, placed like those of a NodeManager's
// LinuxContainerExecutor, or without a cgroup like those of a DefaultContainerExecutor. The NodeManager's answers were
// recorded from a real one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "linux/cgroup/io_limit.h"
#include "linux/cgroup/make.h"
#include "linux/testing/own_group.h"
#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using testing::kLimit;
using testing::kOther;
using testing::kTask;

// A process that waits for its end, or ignores SIGTERM. One child has left its session.
class Work {
 public:
  enum class Hears : std::uint8_t { kAll, kNothing };
  explicit Work(Hears hears) : pid_(::fork()) {
    if (pid_ != 0) {
      ::waitpid(pid_, nullptr, WUNTRACED);  // until all of it has started
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
  // Its end signal.
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

// A container as a DefaultContainerExecutor starts it: a script in the NodeManager's session, which waits and keeps the
// exit code, and the container in a session of its own. It has two processes and reacts to signals.
class Begun {
 public:
  static constexpr int kLeavesItsSession = SIGUSR1, kEatsMemory = SIGUSR2;

  explicit Begun(const std::string& id) : pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string mark = base::cat(kContainerVariable, "=", id);
    std::array<const char*, 3> environment{"PATH=/bin:/usr/bin", mark.c_str(), nullptr};
    ::execle("/bin/sh", "sh", "-c", kScript, id.c_str(), nullptr, environment.data());
    ::_exit(1);
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t id() const { return pid_; }
  // The exit code that the script kept.
  int end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static constexpr const char* kScript =
      "setsid sh -c '"
      "trap \"env -i setsid sleep 1000 &\" USR1; "
      "trap \"dd if=/dev/zero of=/dev/null bs=100M count=1 &\" USR2; "
      "sleep 1000 & until wait; do :; done"
      "' & wait $!";

  pid_t pid_;
  bool ended_ = false;
};

// The one of the emulated machine.
constexpr const char* kDisk = "/disk";
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr int kPieces = 3;

// Reads or writes so many pieces of a file there, with `flags`.
bool use_disk(int flags) {
  const int file = ::open(base::cat(kDisk, "/pieces").c_str(), flags, 0600);
  alignas(4096) static std::array<char, kPiece> piece;  // aligned for O_DIRECT
  if (file < 0) return false;
  const bool reads = (flags & O_ACCMODE) == O_RDONLY;
  for (int i = 0; i < kPieces; ++i) {
    const ssize_t done = reads ? ::read(file, piece.data(), kPiece) : ::write(file, piece.data(), kPiece);
    if (done != static_cast<ssize_t>(kPiece)) return false;
  }
  return ::fdatasync(file) == 0;
}

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
  }
  void TearDown() override {
    if (!own) return;  // skipped
    client.reset();
    copilot.reset();  // it would make cgroups again
    std::ofstream(path_of("cgroup.kill")) << 1 << std::flush;
    for (const std::string_view id : {kTask, kOther, kWaitingGroup}) {
      EXPECT_TRUE(until([&] { return empty(id); })) << id;
    }
    EXPECT_TRUE(until([&] { return linux::remove_group(*hierarchies, options.group).has_value(); }));
  }
  void begin() {
    auto made = YarnCopilot::make(
        loop, {kernel, workers, [this](model::AuditLine line) { audit.push_back(line); }, managers, 1}, log, metrics,
        options);
    ASSERT_TRUE(made) << made.error().message;
    copilot = *std::move(made);
    client = std::make_unique<net::HttpClient>(loop, nullptr, copilot::socket_config(options.socket).value());
  }
  net::Task<void> a_moment() { co_await loop.sleep(std::chrono::milliseconds(20)); }
  template <class Condition>
  bool until(Condition condition) {
    const base::MonotonicTime end = clock.monotonic() + kLimit;
    while (!condition() && clock.monotonic() < end) run(a_moment());
    return condition();
  }

  std::string path_of(std::string_view file) const {
    return base::cat(linux::testing::kMachineRoot, "/", own->name(), "/hadoop-yarn/", file);
  }
  std::string text(std::string_view file) const {
    std::ifstream in(path_of(file));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string read(std::string_view id, std::string_view file) const { return text(base::cat(id, "/", file)); }
  static std::string as_recorded(std::string_view id, int memory_mib, int vcores) {
    return base::cat(R"({"id":")", id, R"(","state":"RUNNING","exitCode":-1000,"diagnostics":"","user":"ada",)",
                     R"("totalMemoryNeededMB":)", memory_mib, R"(,"totalVCoresNeeded":)", vcores,
                     R"(,"executionType":"GUARANTEED","containerLogsLink":"http://h:8042/node/containerlogs/x/ada",)",
                     R"("nodeId":"h:45454","memUsed":0.0,"memMaxed":0.0,"cpuUsed":0.0,"cpuMaxed":0.0,)",
                     R"("containerLogFiles":["stdout"]})");
  }
  std::vector<pid_t> processes(std::string_view id) const {
    std::ifstream in(path_of(base::cat(id, "/cgroup.procs")));
    return {std::istream_iterator<pid_t>(in), std::istream_iterator<pid_t>()};
  }
  bool empty(std::string_view id) const { return processes(id).empty(); }
  void put(const Work& work, std::string_view id) {
    ASSERT_TRUE(own->make_below(base::cat("hadoop-yarn/", id)));
    std::ofstream(path_of(base::cat(id, "/cgroup.procs"))) << work.id() << std::flush;
    work.begin();
    ASSERT_TRUE(until([&] { return processes(id).size() == 2; }));
  }
  void tell_leader(std::string_view id, int signal) {
    for (const pid_t pid : processes(id)) {
      if (::getsid(pid) == pid && ::getpgid(pid) == pid) {
        ::kill(pid, signal);
        return;
      }
    }
    FAIL() << "no process leads " << id;
  }
  // Time that a process in the cgroup of a container needs for its pieces.
  base::Duration takes(std::string_view id, int flags) {
    const base::MonotonicTime began = clock.monotonic();
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::ofstream(path_of(base::cat(id, "/cgroup.procs"))) << 0 << std::flush;
      ::_exit(use_disk(flags) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << "the disk is not usable";
    return clock.monotonic() - began;
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

TEST_F(CopilotOnMachine, ListsLimitsAndKillsAContainerWithItsWholeCgroup) {
  begin();
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
  EXPECT_TRUE(empty(kTask)) << "including the process that left its session";
  EXPECT_FALSE(empty(kOther));
  EXPECT_EQ(audit.back().new_value, R"({"by":"group","processes":2})");
}

TEST_F(CopilotOnMachine, KillsAContainerThatIgnoresTheStopAtItsDeadline) {
  begin();
  Work task(Work::Hears::kAll), other(Work::Hears::kNothing);
  put(task, kTask);
  put(other, kOther);
  EXPECT_EQ(post("/tidemark/v1/stop", of(kTask, R"(,"graceSeconds":3600)")).status, 202);
  EXPECT_EQ(task.end(), SIGTERM);
  EXPECT_EQ(post("/tidemark/v1/stop", of(kOther, R"(,"graceSeconds":1)")).status, 202);
  ASSERT_TRUE(until([&] { return audit.back().verb == "kill"; }));
  EXPECT_EQ(other.end(), SIGKILL);
  EXPECT_TRUE(empty(kTask) && empty(kOther));
}

TEST_F(CopilotOnMachine, AdoptsLimitsAndKillsAContainerWithoutCgroup) {
  tell({as_recorded(kTask, 64, 2)});
  options.adopt = true;
  Begun task{std::string(kTask)};
  begin();
  ASSERT_TRUE(until([&] { return lines.contains("container is in its cgroup in every hierarchy"); })) << lines;
  ASSERT_TRUE(until([&] { return processes(kTask).size() == 2; }));
  EXPECT_EQ(processes(kWaitingGroup), std::vector{task.id()});
  EXPECT_EQ(seen(kTask).text_at("group"), base::cat(options.group, "/", kTask));

  EXPECT_EQ(read(kTask, "memory.max"), "67108864\n");
  EXPECT_EQ(read(kTask, "cpu.weight"), "79\n") << "1024 shares a vcore, converted to a weight as in contract 7.2";
  tell_leader(kTask, Begun::kEatsMemory);
  ASSERT_TRUE(until([&] { return read(kTask, "memory.events").contains("oom_kill 1\n"); }));
  ASSERT_TRUE(until([&] { return processes(kTask).size() == 2; })) << "only the process that used too much has ended";
  EXPECT_EQ(post("/tidemark/v1/limits", of(kTask, R"(,"cpu":"500m")")).status, 200);
  EXPECT_EQ(read(kTask, "cpu.max"), "50000 100000\n");

  tell_leader(kTask, Begun::kLeavesItsSession);
  ASSERT_TRUE(until([&] { return processes(kTask).size() == 3; }));
  const auto killed = run(api().kill(std::string(kTask), kLimit));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_TRUE(audit.back().new_value.starts_with(R"({"by":"group","processes":)"))
      << "including processes that they just started";
  EXPECT_TRUE(empty(kTask));
  EXPECT_EQ(task.end(), 128 + SIGKILL) << "its script had the time to keep the exit code";
  tell({});
  EXPECT_TRUE(until([&] {
    return !std::filesystem::exists(path_of(kTask)) && !std::filesystem::exists(path_of(kWaitingGroup));
  })) << "cgroups of ended containers are removed";
}

TEST_F(CopilotOnMachine, TheKernelLimitsDiskUseOfAllContainers) {
  if (!std::filesystem::is_directory(kDisk)) GTEST_SKIP() << "only the emulated machine has a disk for this";
  linux::Buffer buffer;
  const std::string disk = linux::disk_of(kDisk, "/sys", buffer).value().text();
  ASSERT_TRUE(own->make_below(base::cat("hadoop-yarn/", kTask)));
  options.local_dirs = {kDisk};
  options.disk_read_mib = options.disk_write_mib = 1;
  options.permit_patience = base::Duration(0);
  begin();
  ASSERT_TRUE(until([&] { return lines.contains("disk limit set"); })) << lines;
  EXPECT_EQ(text("io.max"), base::cat(disk, " rbps=1048576 wbps=1048576 riops=max wiops=max\n"));
  EXPECT_TRUE(get("/tidemark/v1/disks").body.contains(base::cat(R"({"disk":")", disk, R"(","inForce":true,)")));

  // Three pieces of a MiB, one second each, minus the kernel's initial burst.
  constexpr base::Duration kHeld = std::chrono::seconds(2);
  EXPECT_GE(takes(kTask, O_WRONLY | O_CREAT | O_DIRECT), kHeld);
  EXPECT_GE(takes(kTask, O_RDONLY | O_DIRECT), kHeld);
  EXPECT_GE(takes(kTask, O_WRONLY | O_CREAT), kHeld) << "through the page cache";

  run(copilot->drain());
  EXPECT_EQ(text("io.max"), "") << "the original value";
}

}  // namespace
}  // namespace tidemark::yarn_copilot
