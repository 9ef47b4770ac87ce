#include "linux/trial_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace tidemark::linux {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{60};

CpuSet own_processors() {
  cpu_set_t mine;
  EXPECT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  CpuSet out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mine)) out.add(cpu);
  }
  return out;
}

TEST(TrialProcess, ComputesAndReportsAllowedCpus) {
  const auto spun = spin_in_groups({{}, kPatience, milliseconds(5)});
  ASSERT_TRUE(spun) << spun.error().message;
  EXPECT_EQ(spun->refused, 0);
  EXPECT_GE(spun->ran, milliseconds(5));
  EXPECT_GT(spun->lasted.count(), 0);
  EXPECT_EQ(spun->cpus, own_processors());
}

TEST(TrialProcess, EndsByClockWithoutCpu) {
  const auto spun = spin_in_groups({{}, milliseconds(3), kPatience, kPatience});
  ASSERT_TRUE(spun) << spun.error().message;
  EXPECT_GE(spun->lasted, milliseconds(3));
}

// A pipe stands for the groups: each gets the "0" by which a process puts itself into one.
TEST(TrialProcess, JoinsEachGroupItself) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd from(ends[0]), to(ends[1]);
  const std::array groups = {to.get(), to.get()};
  ASSERT_TRUE(spin_in_groups({groups, kPatience, milliseconds(1)}));
  std::array<char, 8> text{};
  EXPECT_EQ(::read(from.get(), text.data(), text.size()), 2);
  EXPECT_EQ(std::string_view(text.data()), "00");
}

TEST(TrialProcess, ReportsRefusingGroup) {
  const Fd closed(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array groups = {closed.get()};
  const auto spun = spin_in_groups({groups, kPatience, kPatience});
  ASSERT_TRUE(spun) << spun.error().message;
  EXPECT_EQ(spun->refused, EBADF);
  EXPECT_EQ(spun->ran.count(), 0);
}

// It writes into a pipe that is full until its grace is over.
TEST(TrialProcess, KillsHangingChildAndLeavesNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const Fd from(ends[0]), to(ends[1]);
  const std::array<char, 4096> block{};
  while (::write(to.get(), block.data(), block.size()) > 0) {
  }
  ASSERT_EQ(errno, EAGAIN);
  ASSERT_EQ(::fcntl(to.get(), F_SETFL, 0), 0);
  const std::array groups = {to.get()};
  bool released = false;
  const auto spun =
      spin_in_groups({groups, milliseconds(1), milliseconds(1), milliseconds(20), [&] { released = true; }});
  ASSERT_FALSE(spun);
  EXPECT_TRUE(released);
  EXPECT_EQ(spun.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// A pipe stands for the groups: nothing tells the two apart but their turns.
TEST(TrialProcess, TwoShareOneProcessorFromTheHandicapOn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd from(ends[0]), to(ends[1]);
  std::string joined_before;
  bool released = false;
  const auto handicap = [&]() -> Result<void> {
    std::array<char, 8> text{};
    joined_before.assign(text.data(), static_cast<std::size_t>(::read(from.get(), text.data(), text.size())));
    return {};
  };
  const auto raced = race_in_groups(
      {{to.get(), to.get()}, handicap, milliseconds(20), kPatience, kPatience, [&] { released = true; }});
  ASSERT_TRUE(raced) << raced.error().message;
  EXPECT_EQ(raced->refused, 0);
  EXPECT_EQ(joined_before, "00") << "both are there before one has less";
  EXPECT_TRUE(released);
  EXPECT_GE(raced->ran[0] + raced->ran[1], milliseconds(20));
  EXPECT_GT(raced->ran[0].count(), 0) << "none of them waits for the other's end";
  EXPECT_GT(raced->ran[1].count(), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "no child is left";
}

TEST(TrialProcess, ARaceIsOverByTheClockToo) {
  const Fd open(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const auto raced = race_in_groups({{open.get(), open.get()}, {}, kPatience, milliseconds(5), kPatience});
  ASSERT_TRUE(raced) << raced.error().message;
  EXPECT_LT(raced->ran[0] + raced->ran[1], kPatience);
}

TEST(TrialProcess, RaceNeedsBothMembersAndHandicap) {
  const Fd closed(::open("/dev/null", O_RDONLY | O_CLOEXEC)), open(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const auto raced = race_in_groups({{open.get(), closed.get()}, {}, kPatience, kPatience, kPatience});
  ASSERT_TRUE(raced) << raced.error().message;
  EXPECT_EQ(raced->refused, EBADF);
  const auto refuses = [] { return Result<void>(fail(ErrorKind::kIo, "no weight")); };
  const auto without = race_in_groups({{open.get(), open.get()}, refuses, kPatience, kPatience, kPatience});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message, "no weight");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(TrialProcess, MemoryProcessLivesDuringCheck) {
  const Fd open(::open("/dev/null", O_WRONLY | O_CLOEXEC)), closed(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  bool alive = false;
  const auto look = [&] { alive = ::waitpid(-1, nullptr, WNOHANG) == 0; };
  const auto filled = fill_in_group({open.get(), 64, 16, kPatience, look});
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(filled->refused, 0);
  EXPECT_TRUE(filled->whole);
  EXPECT_TRUE(alive);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  const auto refused = fill_in_group({closed.get(), 64, 16, kPatience});
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->refused, EBADF);
  EXPECT_FALSE(refused->whole);
}

TEST(TrialProcess, SignalsAreAsBefore) {
  sigset_t before, after;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  ASSERT_TRUE(spin_in_groups({{}, kPatience, milliseconds(1)}));
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
  }
}

// Whose locks are held by a thread that the child does not have: a child that wanted one would hang.
TEST(TrialProcess, OfAProgramWithThreadsThatAllocate) {
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<std::string> words(100, std::string(100, 'x'));
      ASSERT_FALSE(words.empty());
    }
  });
  for (int turn = 0; turn < 50; ++turn) {
    const auto spun = spin_in_groups({{}, kPatience, milliseconds(1)});
    ASSERT_TRUE(spun) << spun.error().message;
  }
}

}  // namespace
}  // namespace tidemark::linux
