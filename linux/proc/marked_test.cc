#include "linux/proc/marked.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

using testing::Tree;

constexpr std::string_view kVariable = "CONTAINER_ID";
constexpr pid_t kSelf = 4242;

std::string stat_of(pid_t pid, pid_t session, std::int64_t start = 900, std::int64_t resident = 10, pid_t parent = 1) {
  // pid (comm) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime
  // priority nice threads itrealvalue starttime vsize rss …
  return base::cat(pid, " (a) (b c) S ", parent, " ", session, " ", session,
                   " 0 -1 4194304 1 2 3 4 11 12 13 14 20 0 1 0 ", start, " 1000000 ", resident,
                   " 18446744073709551615 1 1\n");
}

struct Processes : Tree {
  void add(pid_t pid, pid_t session, std::string_view environment, pid_t parent = 1) {
    write(base::cat(pid, "/stat"), stat_of(pid, session, 900, 10, parent));
    write(base::cat(pid, "/environ"), environment);
  }
  MarkedProcesses find() {
    Buffer buffer;
    const auto proc = Folder::open(root()).value();
    auto found = find_marked(proc, kVariable, kSelf, buffer);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(MarkedProcesses());
  }
  std::string pids_of(std::string_view value) {
    std::string out;
    const auto found = find();
    if (const auto at = found.find(value); at != found.end()) {
      for (const auto& each : at->second) out += base::cat(out.empty() ? "" : " ", each.pid);
    }
    return out;
  }
};

std::string environment(std::string_view container) {
  using namespace std::string_literals;
  return base::cat("PATH=/bin\0"s, "XCONTAINER_ID=other\0"s, "CONTAINER_ID=", container, "\0HOME=/\0"s);
}

TEST(MarkedProcesses, EachIsInTheContainerThatItsEnvironmentNames) {
  Processes processes;
  processes.add(10, 10, environment("container_a"));
  processes.add(11, 10, environment("container_a"));
  processes.add(12, 12, environment("container_b"));
  processes.add(13, 13, "PATH=/bin");
  EXPECT_EQ(processes.pids_of("container_a"), "10 11");
  EXPECT_EQ(processes.pids_of("container_b"), "12");
  EXPECT_EQ(processes.find().size(), 2u);
}

TEST(MarkedProcesses, FindsProcessWithoutEnvironmentBySession) {
  Processes processes;
  processes.add(10, 10, environment("container_a"));
  processes.add(11, 10, "");
  processes.add(20, 20, "");
  processes.add(21, 20, environment("container_b"));
  EXPECT_EQ(processes.pids_of("container_a"), "10 11");
  EXPECT_EQ(processes.pids_of("container_b"), "21") << "a session that began as something else is not the container's";
}

TEST(MarkedProcesses, SessionWithoutLeaderBelongsToMarkedProcesses) {
  Processes processes;
  processes.add(11, 10, environment("container_a"));
  processes.add(12, 10, "");
  processes.add(21, 20, environment("container_a"));
  processes.add(22, 20, environment("container_b"));
  processes.add(23, 20, "");
  EXPECT_EQ(processes.pids_of("container_a"), "11 12 21");
  EXPECT_EQ(processes.pids_of("container_b"), "22") << "of two containers: the owner of the third is unknown";
}

TEST(MarkedProcesses, RecognizesProcessThatWaitsForContainer) {
  Processes processes;
  processes.add(5, 5, "");                                // a NodeManager
  processes.add(10, 5, environment("container_a"), 5);    // its script
  processes.add(11, 11, environment("container_a"), 10);  // the container
  processes.add(12, 12, environment("container_a"), 11);  // which has started a session of its own
  processes.add(13, 13, environment("container_b"), 11);
  EXPECT_EQ(processes.pids_of("container_a"), "10 11 12");
  const auto found = processes.find();
  EXPECT_TRUE(found.at("container_a")[0].waits);
  EXPECT_FALSE(found.at("container_a")[1].waits) << "its session is the container's";
  EXPECT_FALSE(found.at("container_a")[2].waits);
  processes.remove("5");
  EXPECT_TRUE(processes.find().at("container_a")[0].waits) << "with its NodeManager away too";
}

TEST(MarkedProcesses, Process1AndCallerAreInNoContainer) {
  Processes processes;
  processes.add(1, 1, environment("container_a"));
  processes.add(kSelf, kSelf, environment("container_a"));
  processes.add(10, kSelf, "");
  EXPECT_EQ(processes.find().size(), 0u);
}

TEST(MarkedProcesses, SkipsProcessThatEndsMeanwhile) {
  Processes processes;
  processes.folder("10");
  processes.write("11/stat", stat_of(11, 11));
  processes.folder("sys");
  processes.add(12, 12, environment("container_a"));
  EXPECT_EQ(processes.pids_of("container_a"), "12");
}

TEST(MarkedProcesses, ALongEnvironmentIsReadToItsEnd) {
  Processes processes;
  processes.add(10, 10,
                base::cat("CLASSPATH=", std::string(200'000, 'x'), std::string(1, '\0'), "CONTAINER_ID=container_a",
                          std::string(1, '\0')));
  EXPECT_EQ(processes.pids_of("container_a"), "10");
}

TEST(ProcessStat, HasItsSessionItsTimesAndItsMemory) {
  const auto stat = parse_process_stat(stat_of(7, 5, 1234, 99));
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->session, 5);
  EXPECT_EQ(stat->use.start_ticks, 1234);
  EXPECT_EQ(stat->use.cpu_ticks, 11 + 12 + 13 + 14);
  EXPECT_EQ(stat->use.resident_pages, 99);
}

TEST(MarkedProcesses, EndedProcessIsIgnored) {
  Processes processes;
  processes.add(10, 10, environment("container_a"));
  std::string stat = stat_of(11, 10);
  stat.replace(stat.rfind(") S") + 2, 1, "Z");
  processes.write("11/stat", stat);
  processes.write("11/environ", environment("container_a"));
  EXPECT_EQ(processes.pids_of("container_a"), "10");
}

TEST(ProcessStat, SomethingElseIsRefused) {
  for (const char* text : {"", "7 (a) S 1 2", "7 (a) S 1 2 x 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"}) {
    EXPECT_FALSE(parse_process_stat(text)) << text;
  }
}

TEST(VariableIn, IsTheWholeNameAndTheFirst) {
  using namespace std::string_literals;
  EXPECT_EQ(variable_in("A=1\0AB=2\0A=3\0"s, "A"), "1");
  EXPECT_EQ(variable_in("AB=2\0B="s, "A"), "");
  EXPECT_EQ(variable_in("AB=2\0A=3"s, "A"), "3");
  EXPECT_EQ(variable_in("", "A"), "");
}

// Processes of folders, ended by SIGKILL; what ends may have forked just before.
class ForkingRim final : public KillRim {
 public:
  explicit ForkingRim(Processes& processes) : processes_(processes) {}
  std::function<void()> forks;  // once, while the first is signalled

  GroupWriter& writer() override { return writer_; }
  pid_t self() const override { return kSelf; }
  Result<std::optional<Fd>> open_process(pid_t pid) override {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    held_[fd.get()] = pid;
    return fd;
  }
  Result<bool> signal(const Fd& process, int) override {
    processes_.remove(base::cat(held_.at(process.get())));
    if (forks) std::exchange(forks, nullptr)();
    return true;
  }
  void wait(std::span<const Fd>, base::Duration) override {}

 private:
  Processes& processes_;
  KernelWriter writer_;
  std::map<int, pid_t> held_;
};

TEST(MarkedProcesses, KillsUnmarkedForkDuringKill) {
  Processes processes;
  processes.add(10, 10, environment("container_a"));
  processes.add(11, 10, "");
  processes.add(20, 20, "");
  ForkingRim rim(processes);
  rim.forks = [&] { processes.add(12, 10, ""); };
  const auto proc = Folder::open(processes.root()).value();
  const auto killed = kill_marked(proc, kVariable, "container_a", rim);
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(*killed, (KillReport{3, 0}));
  Buffer buffer;
  EXPECT_FALSE(*proc.read("12/stat", buffer));
  EXPECT_TRUE(*proc.read("20/stat", buffer));
}

// On this machine: a script that waits, as a NodeManager's does, and notes the exit code of what it waits for: a shell
// in a session of its own with two children, one of which has cleared its environment.
struct RealContainer {
  explicit RealContainer(std::string container) : value(std::move(container)) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ready[1], STDOUT_FILENO);
    std::string shell = "sh", flag = "-c", path = "PATH=/usr/bin:/bin", mark = base::cat(kVariable, "=", value);
    std::string script =
        base::cat("setsid sh -c \"env -i sh -c 'sleep 1000; :' & sleep 1000 & echo; wait\" & wait $!; echo $? > ",
                  noted.path("code"));
    char* argv[] = {shell.data(), flag.data(), script.data(), nullptr};
    char* envp[] = {path.data(), mark.data(), nullptr};
    EXPECT_EQ(posix_spawnp(&child, "sh", &files, nullptr, argv, envp), 0);
    posix_spawn_file_actions_destroy(&files);
    ::close(ready[1]);
    char line = 0;
    EXPECT_EQ(::read(ready[0], &line, 1), 1) << "both children are there";
    ::close(ready[0]);
  }
  ~RealContainer() {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  std::size_t count() const {
    Buffer buffer;
    const auto found = find_marked(proc, kVariable, ::getpid(), buffer).value();
    const auto at = found.find(value);
    return at == found.end() ? 0 : at->second.size();
  }
  Tree noted;
  Folder proc = Folder::open("/proc").value();
  std::string value;
  pid_t child = -1;
};

TEST(MarkedProcesses, KillsWholeContainerWithoutGroup) {
  const RealContainer container(base::cat("container_test_", ::getpid()));
  EXPECT_GE(container.count(), 4u) << "who waits, the shell and its children";
  KernelKillRim rim;
  const auto asked = signal_marked(container.proc, kVariable, container.value, SIGCONT, {}, rim);
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_GE(asked->killed, 3u);
  EXPECT_GE(asked->left, 4u);
  const auto killed = kill_marked(container.proc, kVariable, container.value, rim);
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_GE(killed->killed, 3u);
  EXPECT_EQ(killed->left, 0u) << "what its parent has still to collect counts no more";
  EXPECT_EQ(container.count(), 0u);
  std::string code;
  EXPECT_TRUE(std::getline(std::ifstream(container.noted.path("code")), code))
      << "who waits is not killed before it is done";
  EXPECT_EQ(code, "137");
  const auto again = kill_marked(container.proc, kVariable, container.value, rim);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, (KillReport{0, 0}));
}

}  // namespace
}  // namespace tidemark::linux
