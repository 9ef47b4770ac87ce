#include "gateway/run_logs.h"

#include <gtest/gtest.h>

#include "gateway/door.h"
#include "gateway/log_lines.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using policy::route::Attempt;
using policy::route::End;
using policy::route::EndClass;
using policy::route::Phase;
using policy::route::Side;

// A side whose driver wrote `output`; it answers a part of it.
class TalkingSide final : public SideClient {
 public:
  explicit TalkingSide(net::EventLoop& l) : loop(l) {}
  net::EventLoop& loop;
  std::string output;
  bool blocked = false;
  bool fails = false;
  std::size_t part = 1000;
  int reads = 0;

  std::string cannot_run(const SparkJob&) const override { return ""; }
  net::Task<Result<policy::route::Reservation>> reserve(const Record&) override {
    co_return policy::route::Reservation{"driver"};
  }
  net::Task<Submission> submit(const Record&) override { co_return Submission{}; }
  policy::route::Observation look(const Record&) const override { return {}; }
  net::Task<Stopped> stop(const Record&) override { co_return Stopped{}; }
  net::Task<Result<void>> release(const Record&, bool) override { co_return Result<void>(); }
  std::string app_id(const Record&) const override { return "application_1"; }
  net::Task<Result<std::string>> read_executor_log(const Record&, std::string) override {
    co_return fail(ErrorKind::kNotFound, "none");
  }
  net::Task<Result<DriverOutput>> read_log(const Record&, std::string position) override {
    ++reads;
    while (blocked) co_await loop.sleep(1ms);
    if (fails) co_return fail(ErrorKind::kNotFound, "not yet");
    const auto from = static_cast<std::size_t>(decode_log_position(position).output_bytes);
    const std::string text = output.substr(from, part);
    const LogPosition next{.output_bytes = static_cast<std::int64_t>(from + text.size())};
    co_return DriverOutput{text, encode(next), from + text.size() < output.size()};
  }
};

class RunLogsTest : public ::testing::Test, public testing::World {
 protected:
  RunLogsTest() {
    log_options.folder = folder + "/logs";
    record.id = 7;
    record.job = testing::job();
    record.run.phase = Phase::kRunning;
    Attempt attempt;
    attempt.side = Side::kYarn;
    attempt.handle = "application_1";
    record.run.attempts.push_back(attempt);
  }
  void end(EndClass how) {
    record.run.attempts.back().end = End{.end_class = how};
    record.run.phase = Phase::kEnding;
  }
  bool update(RunLogs& logs) { return run(logs.update(record, "application_1", &side)); }
  std::string text(RunLogs& logs, std::int64_t from = 0) {
    const auto piece = run(logs.piece(record, "application_1", from));
    EXPECT_TRUE(piece) << (piece ? "" : piece.error().message);
    return piece ? piece->text : "";
  }
  void run_void(net::Task<void> task) {
    run([](net::Task<void> inner) -> net::Task<bool> {
      co_await std::move(inner);
      co_return true;
    }(std::move(task)));
  }

  RunLogsOptions log_options;
  TalkingSide side{loop};
  Record record;
};

TEST_F(RunLogsTest, OutputComesBetweenTheStepsOfAnAttempt) {
  RunLogs logs(loop, log, log_options);
  side.output = "hello\nworld\n";
  side.part = 6;
  end(EndClass::kUser);
  update(logs);
  const std::string all = text(logs);
  const auto begun = all.find("attempt 1: application_1\n");
  const auto output = all.find("hello\nworld\n");
  const auto ended = all.find("attempt 1: the job failed");
  EXPECT_TRUE(begun < output && output < ended && ended != std::string::npos) << all;
}

TEST_F(RunLogsTest, NewOutputIsAddedOnceAlsoAfterARestart) {
  {
    RunLogs logs(loop, log, log_options);
    side.output = "one\n";
    update(logs);
  }
  side.output = "one\ntwo\n";
  RunLogs logs(loop, log, log_options);
  const std::string before = text(logs);
  update(logs);
  EXPECT_EQ(text(logs, static_cast<std::int64_t>(before.size())), "two\n");
}

TEST_F(RunLogsTest, SecondAttemptGoesOnInTheSameText) {
  RunLogs logs(loop, log, log_options);
  side.output = "first driver\n";
  end(EndClass::kInfrastructure);
  update(logs);
  const auto size = static_cast<std::int64_t>(text(logs).size());
  record.run.attempts.push_back(record.run.attempts.back());
  record.run.attempts.back().handle = "application_2";
  side.output = "second driver\n";
  end(EndClass::kSucceeded);
  update(logs);
  EXPECT_TRUE(text(logs).contains("first driver\n"));
  EXPECT_TRUE(text(logs, size).contains("second driver\n"));
}

TEST_F(RunLogsTest, LongOutputIsCutAndItsEndIsStillThere) {
  log_options.bytes_max = 2000;
  RunLogs logs(loop, log, log_options);
  side.output = std::string(10'000, 'x');
  end(EndClass::kUser);
  update(logs);
  const std::string all = text(logs);
  EXPECT_LT(all.size(), 3000U);
  EXPECT_TRUE(all.contains("longer than --log-max-mib"));
  EXPECT_TRUE(all.contains("the job failed"));
}

TEST_F(RunLogsTest, ClientsThatAskOftenReadTheDriverSeldom) {
  RunLogs logs(loop, log, log_options);
  for (int i = 0; i < 10; ++i) update(logs);
  EXPECT_LT(side.reads, 3);
}

TEST_F(RunLogsTest, EndedRunIsReadFromTheArchiveOnceItsFileIsGone) {
  const auto archive = *open_file_store(loop, {}, folder + "/archive");
  RunLogs logs(loop, log, log_options);
  logs.use_archive(archive.get());
  side.output = "kept\n";
  end(EndClass::kSucceeded);
  update(logs);
  record.run.phase = Phase::kDone;
  run_void(logs.archive_run(record));
  std::filesystem::remove_all(log_options.folder);
  update(logs);
  EXPECT_TRUE(text(logs).contains("kept\n"));
}

TEST_F(RunLogsTest, LastOutputIsReadAgainUntilItsSideShowsIt) {
  RunLogs logs(loop, log, log_options);
  side.output = "first\n";
  EXPECT_TRUE(update(logs));
  side.output += "last words\n";
  side.fails = true;
  end(EndClass::kSucceeded);
  EXPECT_FALSE(update(logs));
  record.run.phase = Phase::kDone;
  EXPECT_FALSE(update(logs));
  side.fails = false;
  EXPECT_TRUE(update(logs));
  EXPECT_TRUE(text(logs).contains("last words\n"));
  const int reads = side.reads;
  EXPECT_TRUE(update(logs));
  EXPECT_EQ(side.reads, reads) << "it is whole";
}

TEST_F(RunLogsTest, ClientThatGoesAwayHoldsUpNothing) {
  RunLogs logs(loop, log, log_options);
  side.output = "last words\n";
  side.blocked = true;
  {
    net::Scope scope(loop);
    scope.spawn([](RunLogs& to, Record of, SideClient* from) -> net::Task<void> {
      (void)co_await to.update(std::move(of), "application_1", from);
    }(logs, record, &side));
    EXPECT_TRUE(until([&] { return side.reads == 1; }));
  }
  side.blocked = false;
  end(EndClass::kSucceeded);
  update(logs);
  EXPECT_TRUE(text(logs).contains("last words\n"));
}

TEST_F(RunLogsTest, OffsetInsideOfACharacterIsRefused) {
  RunLogs logs(loop, log, log_options);
  side.output = "\xc3\xa9\n";
  update(logs);
  const auto at = static_cast<std::int64_t>(text(logs).find("\xc3\xa9"));
  EXPECT_FALSE(run(logs.piece(record, "application_1", at + 1)));
  EXPECT_EQ(text(logs, at).substr(0, 3), "\xc3\xa9\n");
}

}  // namespace
}  // namespace tidemark::gateway
