#include "kube/memory/sqlite_log.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/text.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;

class SqliteLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/sqlite_log_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = cat(folder_, "/objects.db");
  }
  void TearDown() override {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink(cat(path_, suffix).c_str());
    rmdir(folder_.c_str());
  }
  static LogRecord put(std::string key, std::int64_t revision, std::string body) {
    return {"pods", std::move(key), revision, net::make_buffer(std::move(body))};
  }
  std::map<std::string, std::string> contents(SqliteLog& log, std::int64_t& revision) {
    std::map<std::string, std::string> held;
    const auto read =
        log.read([&](std::string_view storage, std::string_view key, std::string_view body) -> Result<void> {
          held[cat(storage, " ", key)] = body;
          return {};
        });
    EXPECT_TRUE(read) << read.error().message;
    revision = read.value_or(-1);
    return held;
  }
  void change(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SqliteLogTest, FileIsReadableByItsOwnerOnly) {
  auto log = SqliteLog::open(path_);
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_TRUE((*log)->write({put("a/b", 2, "secret")}));
  for (const char* suffix : {"", "-wal"}) {
    struct stat status{};
    ASSERT_EQ(stat(cat(path_, suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(SqliteLogTest, KeepsWrittenRecords) {
  {
    auto log = SqliteLog::open(path_);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE((*log)->write({put("a", 2, "1"), put("b", 3, "2")}));
    ASSERT_TRUE((*log)->write({put("a", 4, "3"), {"pods", "b", 5, nullptr}}));
  }
  auto log = SqliteLog::open(path_);
  ASSERT_TRUE(log);
  std::int64_t revision = 0;
  EXPECT_EQ(contents(**log, revision), (std::map<std::string, std::string>{{"pods a", "3"}}));
  EXPECT_EQ(revision, 5);
}

TEST_F(SqliteLogTest, KillLosesNoAcknowledgedWrite) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto log = SqliteLog::open(path_);
    for (std::int64_t i = 1;; ++i) {
      if (!log || !(*log)->write({put(cat("k", i), i, "x")})) _exit(1);
      if (write(pipe_fds[1], &i, sizeof i) != sizeof i) _exit(1);
    }
  }
  close(pipe_fds[1]);
  std::int64_t acknowledged = 0;
  for (std::int64_t i = 0; acknowledged < 50 && read(pipe_fds[0], &i, sizeof i) == sizeof i;) acknowledged = i;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (std::int64_t i = 0; read(pipe_fds[0], &i, sizeof i) == sizeof i;) acknowledged = i;
  close(pipe_fds[0]);
  ASSERT_GE(acknowledged, 50);
  auto log = SqliteLog::open(path_);
  ASSERT_TRUE(log) << log.error().message;
  std::int64_t revision = 0;
  EXPECT_GE(contents(**log, revision).size(), static_cast<std::size_t>(acknowledged));
  EXPECT_GE(revision, acknowledged);
}

TEST_F(SqliteLogTest, BatchIsAtomic) {
  {
    ASSERT_TRUE(SqliteLog::open(path_));
  }
  change("CREATE TRIGGER no BEFORE INSERT ON objects WHEN NEW.key='bad' BEGIN SELECT RAISE(ABORT, 'no'); END");
  auto log = SqliteLog::open(path_);
  ASSERT_TRUE(log);
  const auto written = (*log)->write({put("good", 2, "1"), put("bad", 3, "1")});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find(path_), std::string::npos);
  std::int64_t revision = 0;
  EXPECT_TRUE(contents(**log, revision).empty());
  EXPECT_EQ(revision, 1);
  EXPECT_TRUE((*log)->write({put("good", 2, "1")}));
}

TEST_F(SqliteLogTest, FullDiskIsAnErrorAndWritesNothing) {
  auto log = SqliteLog::open(path_, 20);
  ASSERT_TRUE(log);
  const auto written = (*log)->write({put("big", 2, std::string(1'000'000, 'x'))});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kExhausted);
  std::int64_t revision = 0;
  EXPECT_TRUE(contents(**log, revision).empty());
}

TEST_F(SqliteLogTest, RefusesUnknownFiles) {
  {
    ASSERT_TRUE(SqliteLog::open(path_));
  }
  change("PRAGMA user_version=99");
  const auto newer = SqliteLog::open(path_);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(newer.error().message.find("99"), std::string::npos);
  change("PRAGMA user_version=1");
  change("PRAGMA application_id=7");
  EXPECT_EQ(SqliteLog::open(path_).error().kind, ErrorKind::kInvalid);
}

TEST_F(SqliteLogTest, RefusesADamagedFileWithItsPath) {
  std::ofstream(path_) << std::string(8192, 'x');
  const auto log = SqliteLog::open(path_);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find(path_), std::string::npos);
  EXPECT_NE(log.error().message.find("damaged"), std::string::npos) << log.error().message;
}

TEST_F(SqliteLogTest, TwoServersDoNotShareAFile) {
  auto first = SqliteLog::open(path_);
  ASSERT_TRUE(first);
  const auto second = SqliteLog::open(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable) << second.error().message;
}

}  // namespace
}  // namespace tidemark::kube::memory
