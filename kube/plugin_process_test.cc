#include "kube/plugin_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;

struct PluginProcessTest : ::testing::Test {
  void SetUp() override {
    folder =
        std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Result<PluginEnd> run(const std::string& script, base::Duration limit = 30s) {
    const std::string path = folder / "plugin";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0700);
    PluginCommand command;
    command.argv = {path, "get-token", "a b"};
    command.env = {{"REGION", "eu"}, {"HOME", "/nowhere"}};
    return net::testing::run_task(loop, system_plugin_host(loop).run(command, limit));
  }

  std::filesystem::path folder;
  base::SystemClock clock;
  net::EventLoop loop{clock};
};

TEST_F(PluginProcessTest, PluginGetsArgumentsAndEnvironment) {
  const auto end = run("echo \"$1/$2/$REGION/$HOME/${PATH:+path}\"; cat\n");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "get-token/a b/eu//nowhere/path\n") << "standard input is empty";
  EXPECT_EQ(end->exit_code, 0);
}

TEST_F(PluginProcessTest, ReportsTheExitCodeAndStandardError) {
  const auto end = run("echo 'not logged in' >&2; exit 3\n");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->errors, "not logged in\n");
}

TEST_F(PluginProcessTest, ReportsTheSignal) {
  const auto end = run("kill -TERM $$\n");
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->signal, SIGTERM);
}

TEST_F(PluginProcessTest, KillsAHangingPluginAndItsPrograms) {
  const auto end = run("(while :; do echo > " + (folder / "alive").string() + "; sleep 0.01; done) & wait\n", 200ms);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(end.error().message, "it did not exit within 200ms and was killed");
  std::filesystem::remove(folder / "alive");
  net::testing::run_task(loop, [](net::EventLoop& on) -> net::Task<void> { co_await on.sleep(100ms); }(loop));
  EXPECT_FALSE(std::filesystem::exists(folder / "alive"));
}

TEST_F(PluginProcessTest, DoesNotWaitForAProgramThatTheyLeaveBehind) {
  const auto end = run("sleep 5 & echo done\n", 4s);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "done\n");
}

TEST_F(PluginProcessTest, StopsEndlessOutput) {
  const auto end = run("while :; do echo 0123456789012345678901234567890123456789; done\n");
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, ErrorKind::kExhausted);
}

TEST_F(PluginProcessTest, ReportsAMissingProgram) {
  PluginCommand command;
  command.argv = {"tidemark-no-such-plugin"};
  const auto end = net::testing::run_task(loop, system_plugin_host(loop).run(command, 1s));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "cannot start it: No such file or directory");
}

TEST_F(PluginProcessTest, LoopIsFreeWhileThePluginRuns) {
  int turns = 0;
  net::Scope scope(loop);
  scope.spawn([](net::EventLoop& on, int& count) -> net::Task<void> {
    for (;;) {
      co_await on.sleep(1ms);
      ++count;
    }
  }(loop, turns));
  ASSERT_TRUE(run("sleep 0.3\n"));
  EXPECT_GT(turns, 20);
}

}  // namespace
}  // namespace tidemark::kube
