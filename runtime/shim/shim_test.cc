// The shim, for real: processes of this machine, in no group of their own (those are tests/ of the machine).
#include "runtime/shim/shim.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/shim/shim_files.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

struct ShimTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "shim-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    begin.log = folder + "/0.log";
    begin.environment = {"PATH=/usr/bin:/bin", "NAME=value"};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void put() const {
    std::filesystem::remove(folder + "/ended.json");  // of the one before
    std::ofstream(folder + "/begin.json") << to_json(begin);
  }
  void start(std::vector<std::string> argv, const base::Clock& clock = base::SystemClock()) {
    begin.argv = std::move(argv);
    put();
    shim = ::fork();
    ASSERT_GE(shim, 0);
    if (shim == 0) ::_exit(run_shim(folder, clock));
  }
  int wait() const {
    int status = 0;
    ::waitpid(shim, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int run(std::vector<std::string> argv) {
    start(std::move(argv));
    return wait();
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder + "/" + name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  ShimEnded ended() const {
    const auto parsed = parse_ended(read("ended.json"));
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed.value_or(ShimEnded());
  }
  ShimRunning running() const {
    for (int i = 0; i < 1000; ++i) {
      if (const auto parsed = parse_running(read("running.json"))) return *parsed;
      ::poll(nullptr, 0, 10);
    }
    ADD_FAILURE() << "it did not begin";
    return {};
  }
  void until_log_has(const std::string& word) const {
    for (int i = 0; i < 1000 && !log().contains(word); ++i) ::poll(nullptr, 0, 10);
  }
  static bool has_ended(pid_t pid) { return ::kill(pid, 0) != 0; }
  // The log without its times.
  std::string log() const {
    std::string out;
    for (const std::string_view line : base::split(read("0.log"), '\n')) {
      if (!line.empty()) out += base::cat(line.substr(line.find(' ') + 1), "|");
    }
    return out;
  }

  std::string folder;
  ShimBegin begin;
  pid_t shim = -1;
};

TEST_F(ShimTest, ReportsExitCodeAndOutput) {
  EXPECT_EQ(run({"sh", "-c", "echo one; echo two >&2; echo $NAME; pwd; exit 3"}), 0);
  EXPECT_EQ(ended().exit_code, 3);
  EXPECT_EQ(ended().signal, 0);
  EXPECT_EQ(ended().cannot_begin, "");
  EXPECT_LE(ended().began, ended().ended);
  const std::string said = log();
  for (const std::string_view line : {"stdout F one|", "stderr F two|", "stdout F value|", "stdout F /|"}) {
    EXPECT_TRUE(said.contains(line)) << said;
  }
}

// More than is read at once, and more than is written at once.
TEST_F(ShimTest, KeepsManyLinesInOrder) {
  constexpr int kLines = 30'000;
  EXPECT_EQ(run({"seq", base::cat(kLines)}), 0);
  std::string wanted;
  for (int i = 1; i <= kLines; ++i) wanted += base::cat("stdout F ", i, "|");
  EXPECT_TRUE(log() == wanted) << log().size() << " of " << wanted.size();
}

TEST_F(ShimTest, RaisesOomScoreAndNeverLowersIt) {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> own;
  begin.oom_score_adj = 700;
  begin.argv = {"cat", "/proc/self/oom_score_adj"};
  for (const int before : {own, std::max(own, 900)}) {
    put();
    shim = ::fork();
    ASSERT_GE(shim, 0);
    if (shim == 0) {
      (std::ofstream("/proc/self/oom_score_adj") << before).flush();
      ::_exit(run_shim(folder, base::SystemClock()));
    }
    EXPECT_EQ(wait(), 0);
    EXPECT_EQ(ended().cannot_begin, "");
    EXPECT_TRUE(log().ends_with(base::cat("stdout F ", std::max(before, 700), "|"))) << log();
  }
}

TEST_F(ShimTest, SignalBecomesExitCodeAsInShells) {
  EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}), 0);
  EXPECT_EQ(ended().exit_code, 143);
  EXPECT_EQ(ended().signal, SIGTERM);
}

// `tidemark up &` in a script ignores it.
TEST_F(ShimTest, ContainerGetsSignalsThatItsParentIgnores) {
  const auto before = ::signal(SIGINT, SIG_IGN);
  EXPECT_EQ(run({"sh", "-c", "kill -INT $$; exit 0"}), 0);
  ::signal(SIGINT, before);
  EXPECT_EQ(ended().signal, SIGINT);
}

TEST_F(ShimTest, ReportsStartFailure) {
  EXPECT_EQ(run({"no-such-program"}), 0);
  EXPECT_EQ(ended().cannot_begin, "run no-such-program: No such file or directory");
  EXPECT_EQ(ended().exit_code, 127);
  EXPECT_FALSE(std::filesystem::exists(folder + "/running.json"));
  begin.working_dir = "/no/such/folder";
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_EQ(ended().cannot_begin, "enter /no/such/folder: No such file or directory");
  begin.working_dir = "/";
  begin.procs = {folder + "/no-group/cgroup.procs"};
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_TRUE(ended().cannot_begin.starts_with("join ")) << ended().cannot_begin;
}

TEST_F(ShimTest, ProcessNameIsPermanent) {
  start({"sleep", "100"});
  const ShimRunning now = running();
  EXPECT_EQ(::kill(now.pid, 0), 0);
  EXPECT_GT(now.start_ticks, 0);
  ::kill(now.pid, SIGKILL);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(ended().exit_code, 137);
}

// A service manager that stops all processes of the runtime stops the containers, not their shims.
TEST_F(ShimTest, OnlySigkillEndsShim) {
  start({"sleep", "100"});
  const ShimRunning now = running();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::kill(shim, signal);
  ::poll(nullptr, 0, 50);
  EXPECT_EQ(::waitpid(shim, nullptr, WNOHANG), 0);
  ::kill(now.pid, SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(ended().exit_code, 143);
}

// A shell ends at once by SIGTERM; what it began has its time to put things away.
TEST_F(ShimTest, StopEndsWithLastProcess) {
  start({"sh", "-c", "(trap 'sleep 0.3; echo kept; exit' TERM; echo up; while :; do sleep 0.05; done) & wait"});
  until_log_has("up");
  ::kill(shim, end_asked_signal());
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(ended().exit_code, 143) << "as its process ended";
  EXPECT_TRUE(log().ends_with("stdout F kept|")) << log();
}

TEST_F(ShimTest, KillsRemainingProcessesAfterGrace) {
  start({"sh", "-c", "(trap '' TERM; echo up; exec sleep 1000) & wait"});
  const ShimRunning now = running();
  until_log_has("up");
  ::kill(shim, end_asked_signal());
  while (!has_ended(now.pid)) ::poll(nullptr, 0, 10);
  ::poll(nullptr, 0, 300);
  EXPECT_EQ(::waitpid(shim, nullptr, WNOHANG), 0) << "it waits for what is left";
  ::kill(shim, end_over_signal());
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(ended().exit_code, 143);
}

TEST_F(ShimTest, DoesNotWaitForOutputHeldElsewhere) {
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(run({"sh", "-c", "sleep 1000 & echo $!; exit 0"}), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 500s);
  const std::string said = log();
  const auto left = base::parse_int(said.substr(9, said.size() - 10));
  ASSERT_TRUE(left) << said;
  ::kill(static_cast<pid_t>(*left), SIGKILL);  // it is in no group of the container's here
}

// As for a process that is given a processor once a second.
class SlowLife final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return real_.monotonic() + looks_++ * 1s; }
  base::BootTime boot() const override { return real_.boot(); }
  base::WallTime wall() const override { return real_.wall(); }

 private:
  base::SystemClock real_;
  mutable int looks_ = 0;
};

TEST_F(ShimTest, LateShimReadsLastOutput) {
  constexpr int kLines = 8'000;  // a pipe holds them, one read does not
  start({"sh", "-c", base::cat("until [ -e ", folder, "/go ]; do sleep 0.02; done; seq ", kLines)}, SlowLife());
  const ShimRunning now = running();
  ::kill(shim, SIGSTOP);
  std::ofstream(folder + "/go").close();
  const std::string files = base::cat("/proc/", now.pid, "/fd/0");  // one that has ended and is not waited for has none
  std::error_code refused;  // without root, the files of a process that has ended are refused
  while (std::filesystem::exists(files, refused)) ::poll(nullptr, 0, 10);
  ::kill(shim, SIGCONT);
  EXPECT_EQ(wait(), 0);
  EXPECT_TRUE(log().ends_with(base::cat("stdout F ", kLines, "|"))) << log().size();
  EXPECT_EQ(ended().log_lost, 0);
}

TEST_F(ShimTest, OneContainerHasOneShim) {
  start({"sleep", "100"});
  const ShimRunning now = running();
  const pid_t first = shim;
  start({"true"});
  EXPECT_EQ(wait(), EXIT_FAILURE);
  EXPECT_FALSE(std::filesystem::exists(folder + "/ended.json"));
  ::kill(now.pid, SIGKILL);
  shim = first;
  EXPECT_EQ(wait(), 0);
}

TEST_F(ShimTest, RejectsEmptyDirectory) {
  shim = ::fork();
  if (shim == 0) ::_exit(run_shim(folder, base::SystemClock()));
  EXPECT_EQ(wait(), EXIT_FAILURE);
  for (const std::string_view wrong :
       {"{", R"({"schema":2,"argv":["a"]})", R"({"schema":1})", R"({"schema":1,"argv":["a"],"user":-1})"}) {
    EXPECT_FALSE(parse_begin(wrong)) << wrong;
  }
}

TEST_F(ShimTest, ReadsWhatItWrote) {
  begin.argv = {"a", "b \"c\"\n"};
  begin.root = "/r";
  begin.user = 65534;
  begin.oom_score_adj = -5;
  begin.shim_procs = {"x"};
  begin.boot = "b";
  EXPECT_EQ(parse_begin(to_json(begin)).value(), begin);
  const ShimRunning now{7, 8, *base::parse_rfc3339("2026-11-23T20:15:30Z")};
  EXPECT_EQ(parse_running(to_json(now)).value(), now);
  const ShimEnded end{137, 9, "why", now.began, now.began, 4, true};
  EXPECT_EQ(parse_ended(to_json(end)).value(), end);
}

}  // namespace
}  // namespace tidemark::runtime
