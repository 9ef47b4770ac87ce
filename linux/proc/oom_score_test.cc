#include "linux/proc/oom_score.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <string>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

std::string stat_line(std::int64_t start) {
  return base::cat("7 (a b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ", start, " 0 0\n");
}

TEST(OomScore, ANumberInItsRangeOrNothing) {
  EXPECT_EQ(parse_oom_score_adj("-997\n").value(), -997);
  EXPECT_EQ(parse_oom_score_adj("1000").value(), 1000);
  for (const char* text : {"", "\n", "1001\n", "-1001\n", "1 2\n", "x\n"})
    EXPECT_FALSE(parse_oom_score_adj(text)) << text;
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 6, '\0');
    for (char& each : text) each = "-0123456789\n x"[random() % 14];
    const auto value = parse_oom_score_adj(text);
    if (value) EXPECT_TRUE(*value >= -1000 && *value <= 1000) << text;
  }
}

TEST(OomScore, AProcessIsReadAndWrittenThroughItsFolder) {
  testing::Tree tree;
  tree.write("7/stat", stat_line(42));
  tree.write("7/oom_score_adj", "-5\n");
  const auto proc = Folder::open(tree.root());
  ASSERT_TRUE(proc);
  Buffer buffer;
  EXPECT_EQ(read_oom_score_adj(*proc, 7, buffer).value(), -5);
  EXPECT_EQ(read_oom_score_adj(*proc, 8, buffer).value(), std::nullopt);
  EXPECT_FALSE(HeldProcess::open(*proc, 8).value());
  const auto process = HeldProcess::open(*proc, 7);
  ASSERT_TRUE(process && *process);
  EXPECT_EQ((*process)->start_ticks(buffer).value(), 42);
  EXPECT_TRUE((*process)->set_oom_score_adj(1000).value());
  EXPECT_EQ((*process)->oom_score_adj(buffer).value(), 1000);
  tree.remove("7");
  EXPECT_EQ((*process)->oom_score_adj(buffer).value(), std::nullopt);
  EXPECT_FALSE((*process)->set_oom_score_adj(0).value());
}

TEST(OomScore, KnowsWhetherLoweringIsAllowed) {
  testing::Tree tree;
  const auto proc = Folder::open(tree.root());
  ASSERT_TRUE(proc);
  Buffer buffer;
  EXPECT_FALSE(may_lower_oom_scores(*proc, buffer));
  tree.write("self/status", "Name:\tagent\nCapEff:\t0000000001000000\nSeccomp:\t0\n");
  EXPECT_TRUE(may_lower_oom_scores(*proc, buffer).value());
  tree.write("self/status", "CapEff:\t000001fffeffffff\n");
  EXPECT_FALSE(may_lower_oom_scores(*proc, buffer).value());
  tree.write("self/status", "CapEff:\tzz\n");
  EXPECT_FALSE(may_lower_oom_scores(*proc, buffer));
}

// On the machine's kernel: the score of a child is raised and restored; a child that has ended is reported as ended
// through the directory that was opened before.
TEST(OomScoreOnMachine, RaisesAndRestoresOwnProcess) {
  const auto proc = Folder::open("/proc");
  ASSERT_TRUE(proc);
  Buffer buffer;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto process = HeldProcess::open(*proc, child);
  ASSERT_TRUE(process && *process);
  const auto found = (*process)->oom_score_adj(buffer);
  ASSERT_TRUE(found && *found);
  const auto raised = (*process)->set_oom_score_adj(1000);
  const auto stands = read_oom_score_adj(*proc, child, buffer);
  const auto back = (*process)->set_oom_score_adj(**found);
  const auto stands_then = read_oom_score_adj(*proc, child, buffer);
  const bool may_lower = may_lower_oom_scores(*proc, buffer).value();
  const auto under = (*process)->set_oom_score_adj(-1000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(raised && *raised);
  EXPECT_EQ(stands.value(), 1000);
  EXPECT_TRUE(back && *back);
  EXPECT_EQ(stands_then.value(), **found);
  if (**found > -1000) {
    EXPECT_EQ(under.has_value(), may_lower);
    if (!under) EXPECT_EQ(under.error().kind, ErrorKind::kDenied);
  }
  EXPECT_EQ((*process)->oom_score_adj(buffer).value(), std::nullopt);
  EXPECT_FALSE((*process)->set_oom_score_adj(0).value());
}

}  // namespace
}  // namespace tidemark::linux
