// Containers for real: this program is also their shim.
#include "runtime/containers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "linux/kernel_files.h"
#include "linux/proc/process.h"
#include "net/testing/loop.h"
#include "runtime/shim/shim.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kAsShim = "--as-shim";

struct ContainersTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "containers-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    make();
  }
  void TearDown() override {
    for (const ContainerPlace& each : containers->places()) {
      const auto gone = containers->kill(each);
      if (gone) until(each, ContainerState::kEnded);
    }
    containers.reset();
    std::filesystem::remove_all(folder);
  }
  void make(const std::string& shim = std::filesystem::read_symlink("/proc/self/exe")) {
    containers =
        std::make_unique<Containers>(loop, log, ContainersOptions{folder, {shim, std::string(kAsShim)}, "this life"},
                                     [this](const ContainerPlace& place) { changes.push_back(place); });
  }
  void again() {  // as another process would find it
    containers.reset();
    changes.clear();
    make();
    ASSERT_TRUE(containers->adopt());
  }
  static ShimBegin program(std::vector<std::string> argv) {
    ShimBegin out;
    out.argv = std::move(argv);
    out.environment = {"PATH=/usr/bin:/bin"};
    return out;
  }
  void until(const ContainerPlace& place, ContainerState state) {
    ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return containers->find(place)->state == state; }));
  }
  // A zombie exists, and does not run.
  static bool runs(pid_t pid) {
    std::ifstream file(base::cat("/proc/", pid, "/stat"));
    std::string number, name, state;
    return static_cast<bool>(file >> number >> name >> state) && state != "Z" && state != "X";
  }
  const ContainerSeen& seen(const ContainerPlace& place) const { return *containers->find(place); }

  std::string folder, lines;
  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::vector<ContainerPlace> changes;
  std::unique_ptr<Containers> containers;
  const ContainerPlace one{"uid-1", "main", 0};
};

TEST_F(ContainersTest, ContainerRunsEndsAndIsForgotten) {
  ASSERT_TRUE(containers->begin(one, program({"sh", "-c", "exit 7"})));
  EXPECT_EQ(containers->begin(one, program({"true"})).error().kind, ErrorKind::kAlreadyExists);
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 7);
  EXPECT_FALSE(changes.empty());
  ASSERT_TRUE(containers->forget(one));
  EXPECT_EQ(containers->find(one), nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "nothing of it stays";
}

TEST_F(ContainersTest, StopsContainer) {
  ASSERT_TRUE(containers->begin(one, program({"sleep", "100"})));
  EXPECT_EQ(containers->ask(one).error().kind, ErrorKind::kNotFound) << "it has not begun";
  until(one, ContainerState::kRunning);
  EXPECT_EQ(containers->forget(one).error().kind, ErrorKind::kInvalid);
  ASSERT_TRUE(containers->ask(one));
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 143);
}

TEST_F(ContainersTest, ContainerThatCannotStartHasEnded) {
  ASSERT_TRUE(containers->begin(one, program({"no-such-program"})));
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.cannot_begin, "run no-such-program: No such file or directory");
}

TEST_F(ContainersTest, NextRuntimeAdoptsContainerAndGetsExitCode) {
  const ContainerPlace other{"uid-2", "main", 3};
  ASSERT_TRUE(containers->begin(one, program({"sh", "-c", "sleep 1; exit 5"})));
  ASSERT_TRUE(containers->begin(other, program({"true"})));
  until(one, ContainerState::kRunning);
  until(other, ContainerState::kEnded);
  const pid_t pid = seen(one).running.pid;
  again();
  ASSERT_NE(containers->find(one), nullptr);
  until(one, ContainerState::kRunning);
  EXPECT_EQ(seen(one).running.pid, pid);
  until(other, ContainerState::kEnded);
  EXPECT_EQ(seen(other).ended.exit_code, 0);
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 5) << "of a process that another program began";
}

TEST_F(ContainersTest, FindsExitCodeAfterDowntime) {
  ASSERT_TRUE(containers->begin(one, program({"sh", "-c", "sleep 0.3; exit 9"})));
  until(one, ContainerState::kRunning);
  containers.reset();
  while (!std::filesystem::exists(base::cat(folder, "/uid-1/main/0/ended.json"))) ::poll(nullptr, 0, 10);
  again();
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 9);
}

// A shim by hand: holds the lock of a container that it has not begun yet.
struct AdoptedTest : ContainersTest {
  void SetUp() override {
    ContainersTest::SetUp();
    std::filesystem::create_directories(file(""));
    ShimBegin begin = program({"true"});
    begin.boot = "this life";
    std::ofstream(file("begin.json")) << to_json(begin);
    lock = ::open(file("lock").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(lock, 0);
    ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
    shim = ::fork();
    ASSERT_GE(shim, 0);
    if (shim == 0) {
      while (true) ::pause();
    }
    ::close(lock);  // it has it too
    linux::Buffer buffer;
    const auto proc = linux::Folder::open("/proc");
    ASSERT_TRUE(proc);
    ticks = linux::read_start_ticks(*proc, shim, buffer).value().value();
  }
  void TearDown() override {
    end_shim();
    ContainersTest::TearDown();
  }
  std::string file(std::string_view name) const { return base::cat(folder, "/uid-1/main/0/", name); }
  void say_who_has_the_lock() const { std::ofstream(file("lock")) << shim << " " << ticks << "\n"; }
  void end_shim() {
    if (shim > 0) ::kill(shim, SIGKILL);
    if (shim > 0) ::waitpid(std::exchange(shim, -1), nullptr, 0);
  }
  pid_t shim = -1;
  std::int64_t ticks = 0;
  int lock = -1;
};

TEST_F(AdoptedTest, SeesStartingContainerRun) {
  say_who_has_the_lock();
  again();
  EXPECT_EQ(seen(one).state, ContainerState::kBeginning);
  std::ofstream(file("running.json")) << to_json(ShimRunning{shim, ticks, clock.wall()});
  until(one, ContainerState::kRunning);
  end_shim();
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 137);
}

TEST_F(AdoptedTest, KeepsContainerInUnknownState) {
  std::ofstream(file("lock")) << shim << " " << ticks + 1 << "\n";  // as where what has the lock cannot be opened
  std::ofstream(file("running.json")) << to_json(ShimRunning{shim, ticks, clock.wall()});
  again();
  until(one, ContainerState::kRunning);
  EXPECT_TRUE(lines.contains("cannot check a container's shim")) << lines;
  EXPECT_FALSE(std::filesystem::exists(file("ended.json")));
  EXPECT_FALSE(containers->ask(one)) << "asked again with the next step";
  say_who_has_the_lock();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return containers->ask(one).has_value(); }));
  end_shim();
  until(one, ContainerState::kEnded);
}

TEST_F(AdoptedTest, FreeLockMeansShimIsGone) {
  say_who_has_the_lock();
  end_shim();
  again();
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 137);
}

// The runtime was killed between the two.
TEST_F(AdoptedTest, StartsContainerThatNoShimStarted) {
  end_shim();
  again();
  EXPECT_EQ(containers->find(one), nullptr);
  EXPECT_EQ(containers->next_attempt(one.pod, one.name), 0);
  ASSERT_TRUE(containers->begin(one, program({"sh", "-c", "exit 3"})));
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 3);
}

TEST_F(AdoptedTest, ContainerOfEarlierBootMayHaveRun) {
  end_shim();
  ShimBegin begin = program({"true"});
  begin.boot = "another life";
  std::ofstream(file("begin.json")) << to_json(begin);
  again();
  EXPECT_TRUE(seen(one).ended.with_machine);
}

// The next runtime began it as well, and that shim finds it taken.
TEST_F(AdoptedTest, FollowsLateShim) {
  say_who_has_the_lock();
  std::ofstream(file("running.json")) << to_json(ShimRunning{shim, ticks, clock.wall()});
  ASSERT_TRUE(containers->begin(one, program({"true"})));
  until(one, ContainerState::kRunning);
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] {
    std::ifstream said(file("shim.log"));
    return std::string(std::istreambuf_iterator<char>(said), {}).contains("another shim has this container");
  }));
  ShimEnded ended;
  ended.exit_code = 5;
  std::ofstream(file("ended.json")) << to_json(ended);
  end_shim();
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 5);
}

TEST_F(ContainersTest, KilledShimEndsContainer) {
  ASSERT_TRUE(containers->begin(one, program({"sh", "-c", "sleep 100 & echo $! > $0; wait", folder + "/child"})));
  until(one, ContainerState::kRunning);
  pid_t child = 0;
  while (child <= 1) std::ifstream(folder + "/child") >> child;
  const pid_t pid = seen(one).running.pid;
  std::ifstream lock(folder + "/uid-1/main/0/lock");
  pid_t shim = 0;
  lock >> shim;
  ASSERT_GT(shim, 1);
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 137);
  EXPECT_NE(lines.find("shim is gone"), std::string::npos);
  for (const pid_t each : {pid, child}) {
    for (int i = 0; i < 500 && runs(each); ++i) ::poll(nullptr, 0, 10);
    EXPECT_FALSE(runs(each));
  }
  again();
  until(one, ContainerState::kEnded);
  EXPECT_EQ(seen(one).ended.exit_code, 137) << "and that is kept";
}

TEST_F(ContainersTest, KillsUnknownContainerSilently) {
  const ContainerPlace other{"uid-1", "main", 1};
  ASSERT_TRUE(containers->begin(one, program({"sleep", "100"})));
  ASSERT_TRUE(containers->begin(other, program({"sleep", "100"})));
  until(other, ContainerState::kRunning);
  const pid_t pid = seen(other).running.pid;
  changes.clear();
  containers->drop(one);  // which may not run yet
  containers->drop(other);
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return containers->places().empty(); }));
  EXPECT_FALSE(runs(pid));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_TRUE(changes.empty());
  containers->drop(one);  // a second time
}

TEST_F(ContainersTest, FindsFreeNumber) {
  EXPECT_EQ(containers->next_attempt("uid-1", "main"), 0);
  ASSERT_TRUE(containers->begin({"uid-1", "main", 4}, program({"true"})));
  ASSERT_TRUE(containers->begin({"uid-1", "main.liveness", 7}, program({"true"})));
  EXPECT_EQ(containers->next_attempt("uid-1", "main"), 5);
  EXPECT_EQ(containers->next_attempt("uid-1", "main.liveness"), 8);
  EXPECT_EQ(containers->next_attempt("uid-1", "other"), 0);
  EXPECT_EQ(containers->next_attempt("uid-2", "main"), 0);
}

TEST_F(ContainersTest, FailedStartLeavesNothing) {
  make("/no/such/shim");
  EXPECT_FALSE(containers->begin(one, program({"true"})));
  EXPECT_TRUE(containers->places().empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(ContainersTest, RejectsPathTraversal) {
  for (const ContainerPlace& wrong : {ContainerPlace{"..", "main", 0}, ContainerPlace{"uid", "a/b", 0}}) {
    EXPECT_EQ(containers->begin(wrong, program({"true"})).error().kind, ErrorKind::kInvalid);
  }
  std::filesystem::create_directories(folder + "/uid/main/not-a-number");
  EXPECT_TRUE(containers->adopt());
  EXPECT_NE(lines.find("not-a-number"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::runtime

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == tidemark::runtime::kAsShim)
    return tidemark::runtime::run_shim(argv[2], tidemark::base::SystemClock(),
                                       static_cast<int>(tidemark::base::parse_int(argv[3]).value_or(-1)));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
