#include "base/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/testing/clock.h"

namespace tidemark::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Long enough for a thread to be scheduled on a busy machine; reached only where something is wrong.
constexpr Duration kPatience = seconds(30);

// A pipe with as little room as the kernel gives (one page).
class Pipe {
 public:
  static constexpr std::size_t kRoom = 4096;

  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out = ends[0];
    in = ends[1];
    EXPECT_EQ(::fcntl(in, F_SETPIPE_SZ, kRoom), static_cast<int>(kRoom));
  }
  ~Pipe() {
    close_reader();
    ::close(in);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_reader() {
    if (out >= 0) ::close(out);
    out = -1;
  }
  std::string read_line() {
    std::string text;
    char c = 0;
    while (c != '\n') {
      if (::read(out, &c, 1) <= 0) return text + "(end of file)";
      text.push_back(c);
    }
    return text;
  }

  int out = -1;
  int in = -1;
};

std::string missing(std::uint64_t lines) {
  return cat("missing ", lines, "\n");
}

std::string line(int number) {
  return cat("line ", number, " ", std::string(50, '.'), "\n");
}

TEST(LineWriter, LinesComeInOrderAndWhole) {
  Pipe pipe;
  Counter dropped;
  LineWriter writer(pipe.in, missing, dropped, {});
  for (int i = 0; i < 1000; ++i) writer.write(line(i));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(pipe.read_line(), line(i));
  EXPECT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(dropped.value(), 0u);
}

TEST(LineWriter, APipeWithoutReaderDelaysNothingAndLossIsReportedInPlace) {
  Pipe pipe;
  Counter dropped;
  constexpr std::size_t kQueue = 10'000;
  LineWriter writer(pipe.in, missing, dropped, {.queue_bytes = kQueue});
  // Far more than pipe and queue hold: none of these may wait.
  for (int i = 0; i < 1000; ++i) writer.write(line(i));
  EXPECT_FALSE(writer.flush(milliseconds(0)));
  const std::uint64_t lost = dropped.value();
  EXPECT_GE(lost, 1000 - (kQueue + Pipe::kRoom) / line(0).size() - 1);
  EXPECT_LT(lost, 1000u);

  // When the pipe is read again, queued lines arrive, with the number of lost lines in their place and no further line.
  std::uint64_t told = 0;
  for (int next = 0; next < 1000;) {
    const std::string text = pipe.read_line();
    if (text.starts_with("missing ")) {
      const int gap = std::stoi(text.substr(8));
      told += static_cast<std::uint64_t>(gap);
      next += gap;
    } else {
      ASSERT_EQ(text, line(next));
      ++next;
    }
  }
  EXPECT_EQ(told, lost);
  EXPECT_TRUE(writer.flush(kPatience));
  writer.write("on again\n");
  EXPECT_EQ(pipe.read_line(), "on again\n") << "the loss is reported once";
  EXPECT_EQ(dropped.value(), lost);
}

TEST(LineWriter, WhatIsQueuedAtTheEndIsWritten) {
  Pipe pipe;
  Counter dropped;
  std::string last;
  std::thread reader([&] {
    for (int i = 0; i < 500; ++i) last = pipe.read_line();
  });
  {
    LineWriter writer(pipe.in, missing, dropped, {});
    for (int i = 0; i < 500; ++i) writer.write(line(i));
  }
  EXPECT_TRUE(LineWriter::wait_until_written(Duration(0)));
  reader.join();
  EXPECT_EQ(last, line(499));
}

TEST(LineWriter, StopsAfterAWhileWithoutAReader) {
  Pipe pipe;
  Counter dropped;
  {
    LineWriter writer(pipe.in, missing, dropped, {.flush = milliseconds(10)});
    writer.write(std::string(3 * Pipe::kRoom, 'x') + "\n");
    EXPECT_FALSE(LineWriter::wait_until_written(milliseconds(5)));
  }
  EXPECT_TRUE(LineWriter::wait_until_written(Duration(0))) << "what was let go of waits no more";
}

TEST(LineWriter, AReaderThatIsGoneCostsTheLinesAndNothingElse) {
  Pipe pipe;
  pipe.close_reader();
  Counter dropped;
  LineWriter writer(pipe.in, missing, dropped, {});
  writer.write("one\ntwo\n");
  EXPECT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(dropped.value(), 2u);
  writer.write("three\n");
  EXPECT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(dropped.value(), 3u) << "the notice does not count as a lost line";
}

TEST(LineWriter, AFullDiskIsTheSame) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  Counter dropped;
  {
    LineWriter writer(full, missing, dropped, {});
    writer.write("one\n");
    EXPECT_TRUE(writer.flush(kPatience));
  }
  EXPECT_EQ(dropped.value(), 1u);
  ::close(full);
  LineWriter nowhere(-1, missing, dropped, {});
  nowhere.write("two\n");
  EXPECT_TRUE(nowhere.flush(kPatience));
  EXPECT_EQ(dropped.value(), 2u);
}

TEST(LineWriter, ALogWritesThroughIt) {
  Pipe pipe;
  Counter dropped;
  testing::Clock clock;
  LineWriter writer(pipe.in,
                    [&](std::uint64_t lines) {
                      return log_line(clock.wall(), LogFormat::kText, LogLevel::kWarn, "log", "lines dropped",
                                      {{"lines", lines}});
                    },
                    dropped, {.queue_bytes = 200});
  const Log log(clock, {LogLevel::kInfo, LogFormat::kText, [&](std::string_view text) { writer.write(text); }});
  log.info("short");
  EXPECT_EQ(pipe.read_line(), "2026-01-01T00:00:00.000Z INFO short\n");
  log.info(std::string(500, 'x'));
  EXPECT_EQ(pipe.read_line(), "2026-01-01T00:00:00.000Z WARN log lines dropped lines=1\n");
}

TEST(LineWriterDeathTest, AFailedCheckComesAfterWhatTheLogSaidLast) {
  const auto fail_late = [] {
    Counter dropped;
    LineWriter writer(STDERR_FILENO, missing, dropped, {});
    for (int i = 0; i < 100; ++i) writer.write(line(i));
    TM_CHECK(dropped.value() > 0, "on purpose");
  };
  EXPECT_DEATH(fail_late(), "line 99 \\.+\n[^\n]*check failed: dropped.value\\(\\) > 0 \\(on purpose\\)");
}

TEST(LineWriterConcurrent, ManyWritersOneSlowReader) {
  Pipe pipe;
  Counter dropped;
  constexpr int kThreads = 4;
  constexpr int kLines = 2000;
  LineWriter writer(pipe.in, missing, dropped, {.queue_bytes = 20'000});
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> told{0};
  std::thread reader([&] {
    for (std::string one; one != "end\n"; one = pipe.read_line()) {
      if (one.starts_with("line ")) seen.fetch_add(1);
      if (one.starts_with("missing ")) told.fetch_add(std::stoull(one.substr(8)));
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kLines; ++i) writer.write(line(i));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(writer.flush(kPatience));
  writer.write("end\n");
  reader.join();
  EXPECT_EQ(seen + told, static_cast<std::uint64_t>(kThreads) * kLines);
  EXPECT_EQ(told, dropped.value());
}

}  // namespace
}  // namespace tidemark::base
