// Probes that run a program, for real: this program is also their shim (containers_test.cc).
#include "runtime/pods/probe.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kAsShim = "--as-shim";

struct ProbeTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "probe-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    state = folder + "/state";
    std::filesystem::create_directory(state);
    containers = std::make_unique<Containers>(
        loop, log,
        ContainersOptions{state, {std::filesystem::read_symlink("/proc/self/exe"), std::string(kAsShim)}, ""},
        [this](const ContainerPlace& place) {
          if (probe) probe->look(place);
        });
  }
  void TearDown() override {
    probe.reset();
    EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return containers->places().empty(); }))
        << "nothing of it stays";
    containers.reset();
    std::filesystem::remove_all(folder);
  }
  // Asks every second; the first bad answer counts.
  void ask(std::vector<std::string> argv, base::Duration timeout = 30s) {
    ProbeSpec spec;
    spec.argv = std::move(argv);
    spec.period = 1s;
    spec.timeout = timeout;
    spec.failures = 1;
    ShimBegin inside;
    inside.environment = {"PATH=/usr/bin:/bin"};
    probe = std::make_unique<Probe>(loop, log, *containers, spec, inside, ContainerPlace{"uid", "main.liveness", 0},
                                    [this](bool good) { told.push_back(good); });
  }
  template <class Condition>
  bool until(Condition&& condition) {
    return net::testing::run_real_until(loop, std::forward<Condition>(condition));
  }

  std::string folder, state, lines;
  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::vector<bool> told;
  std::unique_ptr<Containers> containers;
  std::unique_ptr<Probe> probe;
};

TEST_F(ProbeTest, ExitCodeIsTheResult) {
  ask({"sh", "-c", "[ ! -e $0/ill ]", folder});
  ASSERT_TRUE(until([&] { return !told.empty(); }));
  EXPECT_EQ(told, std::vector<bool>{true});
  std::ofstream(folder + "/ill").close();
  ASSERT_TRUE(until([&] { return told.size() == 2; }));
  EXPECT_FALSE(told.back());
}

TEST_F(ProbeTest, TimeoutFailsProbeAndKillsIt) {
  ask({"sh", "-c", "sleep 1000 & echo $! > $0/child; wait", folder}, 1s);
  ASSERT_TRUE(until([&] { return !told.empty(); }));
  EXPECT_FALSE(told.front());
  probe.reset();
  ASSERT_TRUE(until([&] { return containers->places().empty(); }));
  pid_t child = 0;
  std::ifstream(folder + "/child") >> child;
  ASSERT_GT(child, 1);
  const auto state = [&] {
    std::ifstream file(base::cat("/proc/", child, "/stat"));
    std::string number, name, state;
    file >> number >> name >> state;
    return state;
  };
  for (int i = 0; i < 500 && state() != "" && state() != "Z"; ++i) ::poll(nullptr, 0, 10);
  EXPECT_TRUE(state() == "" || state() == "Z") << "with what it began";
}

// Of a container that ended while its probe was asked: the next one's is not blamed for what is left of that.
TEST_F(ProbeTest, AbortedProbeDoesNotBlockNext) {
  ask({"sleep", "1000"});
  ASSERT_TRUE(until([&] { return !containers->places().empty(); }));
  ask({"true"});
  ASSERT_TRUE(until([&] { return !told.empty(); }));
  EXPECT_TRUE(told.front());
}

TEST_F(ProbeTest, FailedProbeStartIsNoResult) {
  std::ofstream(state + "/uid").close();  // no folder can be made there
  ask({"true"});
  ASSERT_TRUE(until([&] { return lines.find("a probe cannot be asked") != std::string::npos; }));
  EXPECT_TRUE(told.empty());
  std::filesystem::remove(state + "/uid");
  ASSERT_TRUE(until([&] { return !told.empty(); }));
  EXPECT_TRUE(told.front());

  lines.clear();
  ask({"no-such-program"});
  ASSERT_TRUE(until([&] { return lines.find("run no-such-program: No such file") != std::string::npos; }));
  EXPECT_EQ(told.size(), 1U);
}

}  // namespace
}  // namespace tidemark::runtime
