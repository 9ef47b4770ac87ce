#include "cli/local/log_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::cli {
namespace {

std::string line(int second, std::string_view text) {
  return base::cat("2026-11-23T12:00:", second < 10 ? "0" : "", second, "Z stdout F ", text, "\n");
}

class LogFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) { tree.write(path, text); }
  void append(const std::string& path, const std::string& text) {
    std::ofstream(tree.path(path), std::ios::app | std::ios::binary) << text;
  }
  void move(const std::string& from, const std::string& to) {
    ASSERT_EQ(std::rename(tree.path(from).c_str(), tree.path(to).c_str()), 0);
  }

  LogSubject job(std::string name = "fit") {
    LogSubject subject{tree.root(), "default", std::move(name), true, {}, {}, {}, ""};
    return subject;
  }
  // The texts of what was not read before, "|" before the first of an attempt.
  std::string look(const LogSubject& subject) {
    std::string out;
    const auto attempts = find_attempts(subject);
    EXPECT_TRUE(attempts) << attempts.error().message;
    if (attempts) {
      files.look(*attempts, [&](std::string_view text, bool first) {
        out += base::cat(first ? "|" : "", text.substr(text.rfind(' ') + 1), " ");
      });
    }
    return out;
  }

  linux::testing::Tree tree;
  LogFiles files;
};

TEST_F(LogFilesTest, ReadsRotatedFilesAttemptsAndPodsInOrder) {
  write("default_fit-zzzzz_u1/main/0.log.2", line(1, "a"));
  write("default_fit-zzzzz_u1/main/0.log.1", line(2, "b"));
  write("default_fit-zzzzz_u1/main/0.log", line(3, "c"));
  write("default_fit-zzzzz_u1/main/1.log", line(4, "d"));
  write("default_fit-aaaaa_u2/main/0.log", line(5, "e"));
  write("default_fit-bbbbb_u3/main/0.log", "");
  EXPECT_EQ(look(job()), "|a b c |d |e ");
  EXPECT_EQ(look(job()), "");
}

// As the runtime removes them, milliseconds after the end.
TEST_F(LogFilesTest, ReadsLastLinesOfGonePod) {
  write("default_fit-aaaaa_u1/main/0.log", line(1, "a"));
  EXPECT_EQ(look(job()), "|a ");
  append("default_fit-aaaaa_u1/main/0.log", line(2, "bye"));
  tree.remove("default_fit-aaaaa_u1");
  write("default_fit-bbbbb_u2/main/0.log", line(3, "b"));
  EXPECT_EQ(look(job()), "bye |b ");
  EXPECT_EQ(look(job()), "");
}

TEST_F(LogFilesTest, TruncatesLongNameOfPods) {
  const std::string name(63, 'n');
  write(base::cat("default_", name.substr(0, 57), "-aaaaa_u1/main/0.log"), line(1, "a"));
  EXPECT_EQ(look(job(name)), "|a ");
}

TEST_F(LogFilesTest, ReadsOnlyItsOwnPods) {
  write("default_fit-aaaaa_u1/main/0.log", line(1, "its"));
  write("other_fit-aaaaa_u2/main/0.log", line(1, "namespace"));
  write("default_fit-aaaaaa_u3/main/0.log", line(1, "longer"));
  write("default_fit-a-bbb_u4/main/0.log", line(1, "job"));
  write("default_fit_u5/main/0.log", line(1, "pod"));
  write("default_fit-ccccc_u6/main/0.log", line(1, "told"));
  write("nonsense/main/0.log", line(1, "folder"));
  write("default_fit-aaaaa_u1/main/status", line(1, "file"));
  LogSubject subject = job();
  subject.others = {"u6"};
  EXPECT_EQ(look(subject), "|its ");
}

TEST_F(LogFilesTest, RecreatedJobExcludesOldLogs) {
  write("default_fit-aaaaa_u1/main/0.log", line(1, "before"));
  write("default_fit-bbbbb_u2/main/0.log", line(9, "now"));
  LogSubject subject = job();
  subject.since_created = *base::parse_rfc3339("2026-11-23T12:00:05Z");
  EXPECT_EQ(look(subject), "|now ");
}

TEST_F(LogFilesTest, LastPodOfSameNameWins) {
  write("default_web_u2/main/0.log", line(1, "before"));
  write("default_web_u1/main/0.log", line(9, "now"));
  LogSubject subject = job("web");
  subject.job = false;
  EXPECT_EQ(look(subject), "|now ");
}

TEST_F(LogFilesTest, FollowsRotationsWithoutLoss) {
  const std::string path = "default_fit-aaaaa_u1/main/0.log";
  write(path, line(1, "a"));
  EXPECT_EQ(look(job()), "|a ");
  append(path, line(2, "b"));
  move(path, path + ".1");
  write(path, line(3, "c"));
  EXPECT_EQ(look(job()), "b c ");
  append(path, line(4, "d"));
  move(path + ".1", path + ".2");
  move(path, path + ".1");
  write(path, line(5, "e"));
  move(path + ".2", path + ".3");
  move(path + ".1", path + ".2");
  move(path, path + ".1");
  write(path, line(6, "f"));
  EXPECT_EQ(look(job()), "d e f ") << "moved twice between two looks";
  append(path, line(7, "g"));
  tree.remove(path + ".3");
  tree.remove(path + ".2");
  tree.remove(path + ".1");
  tree.remove(path);
  write(path, line(8, "h"));
  EXPECT_EQ(look(job()), "g h ") << "what went away was held";
}

TEST_F(LogFilesTest, WaitsForCompleteLine) {
  const std::string path = "default_fit-aaaaa_u1/main/0.log";
  write(path, "2026-11-23T12:00:01Z stdout F hal");
  EXPECT_EQ(look(job()), "");
  append(path, "f\n");
  EXPECT_EQ(look(job()), "|half ");
}

TEST_F(LogFilesTest, SplitsEndlessLine) {
  write("default_fit-aaaaa_u1/main/0.log", std::string(kLogLineMax * 2, 'x'));
  std::size_t pieces = 0;
  files.look(*find_attempts(job()), [&](std::string_view text, bool) {
    ++pieces;
    EXPECT_LE(text.size(), kLogLineMax + (std::size_t{64} << 10));
  });
  EXPECT_EQ(pieces, 2u);
}

TEST_F(LogFilesTest, ManyAttemptsUseFewDescriptors) {
  for (int i = 0; i < 40; ++i) write(base::cat("default_fit-aaaaa_u1/main/", i, ".log"), line(i, base::cat(i)));
  EXPECT_TRUE(look(job()).starts_with("|0 |1 "));
  append("default_fit-aaaaa_u1/main/0.log", line(50, "late"));
  append("default_fit-aaaaa_u1/main/39.log", line(50, "on"));
  EXPECT_EQ(look(job()), "on ");
}

TEST_F(LogFilesTest, SeveralContainersNeedAName) {
  write("default_fit-aaaaa_u1/main/0.log", line(1, "a"));
  write("default_fit-aaaaa_u1/side/0.log", line(1, "b"));
  const auto none = find_attempts(job());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("--container names one of main, side"), std::string::npos)
      << none.error().message;
  LogSubject subject = job();
  subject.container = "side";
  EXPECT_EQ(look(subject), "|b ");
}

TEST_F(LogFilesTest, MissingDirectoryIsNoLog) {
  LogSubject subject = job();
  subject.root = tree.path("nowhere");
  EXPECT_EQ(look(subject), "");
}

}  // namespace
}  // namespace tidemark::cli
