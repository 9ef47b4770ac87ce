#include "journal/line_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::journal {
namespace {

using namespace std::chrono_literals;

struct Collector final : net::HttpTransport {
  int status = 200;  // 0: it does not answer
  std::size_t takes = SIZE_MAX;
  int asked = 0;
  std::string taken;
  net::HttpRequest last;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration) override {
    ++asked;
    last = request;
    if (status == 0) co_return fail(ErrorKind::kUnavailable, "nothing listens");
    net::HttpResponse response;
    response.status = status == 200 && request.body.size() > takes ? 413 : status;
    if (response.status == 200) taken += request.body;
    co_return response;
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest, base::Duration) override {
    co_return fail(ErrorKind::kUnsupported, "not here");
  }
};

struct LineStreamTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "stream-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder);
  }
  void start() {
    stop();
    stream = std::make_unique<LineStream>(
        loop, collector, worker, log, metrics, base::Random(1),
        LineStreamOptions{
            {folder + "/audit.jsonl", folder + "/record.jsonl"}, folder + "/stream.json", "/lines", "n1", [this] {
              return token;
            }});
    scope = std::make_unique<net::Scope>(loop);
    scope->spawn(stream->run());
    run_for(1s);
  }
  void stop() {
    scope.reset();
    stream.reset();
  }
  // Rounds wait for a worker, which knows nothing of simulated time.
  void run_for(base::Duration time) {
    const base::MonotonicTime end = clock.monotonic() + time;
    while (true) {
      ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return stream->rests(); }));
      const auto next = loop.next_timer();
      if (!next || *next > end) break;
      clock.advance(*next - clock.monotonic());
      loop.run_ready();
    }
    clock.advance(end - clock.monotonic());
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary | std::ios::app) << text;
  }
  double metric(const std::string& name) const {
    const std::string text = "\n" + metrics.text();
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }

  std::string folder, token, lines;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  net::WorkerPool worker{1, 4};
  Collector collector;
  std::unique_ptr<LineStream> stream;
  std::unique_ptr<net::Scope> scope;
};

TEST_F(LineStreamTest, SendsWhatIsWrittenFromItsStartOn) {
  append("audit.jsonl", "before\n");
  start();
  EXPECT_EQ(collector.asked, 0);
  token = "secret";
  append("audit.jsonl", "a1\na2\n");
  append("record.jsonl", "r1\n");
  run_for(20s);
  EXPECT_EQ(collector.taken, "a1\na2\nr1\n");
  EXPECT_EQ(collector.last.method, "POST");
  EXPECT_EQ(collector.last.target, "/lines");
  EXPECT_EQ(collector.last.headers.get("content-type"), "application/x-ndjson");
  EXPECT_EQ(collector.last.headers.get("x-tidemark-source"), "n1");
  EXPECT_EQ(collector.last.headers.get("authorization"), "Bearer secret");
  EXPECT_EQ(metric("tidemark_stream_lines_total"), 3);
  EXPECT_EQ(metric("tidemark_stream_behind_bytes"), 0);
}

TEST_F(LineStreamTest, NextProcessSendsTheRest) {
  start();
  append("audit.jsonl", "a1\n");
  run_for(20s);
  stop();
  append("audit.jsonl", "a2\n");
  start();
  run_for(20s);
  EXPECT_EQ(collector.taken, "a1\na2\n");
}

TEST_F(LineStreamTest, RetriesAbsentCollectorWithBackoff) {
  start();
  collector.status = 0;
  append("audit.jsonl", "a1\n");
  run_for(1h);
  EXPECT_LE(collector.asked, 25) << "a second, two, four … five minutes";
  EXPECT_GE(collector.asked, 15);
  EXPECT_EQ(lines.find("does not take"), lines.rfind("does not take")) << "told once: " << lines;
  EXPECT_EQ(metric("tidemark_stream_behind_bytes"), 3);
  collector.status = 200;
  run_for(7min);
  EXPECT_EQ(collector.taken, "a1\n");
  EXPECT_NE(lines.find("takes what is written down again"), std::string::npos);
}

TEST_F(LineStreamTest, SplitsTooLargeRequest) {
  start();
  collector.takes = 10'000;
  std::string all;
  for (int i = 0; i < 1000; ++i) all += base::cat("line ", i, std::string(100, '.'), "\n");
  append("audit.jsonl", all);
  run_for(20s);
  EXPECT_EQ(collector.taken, all);
  EXPECT_LT(collector.asked, 30) << "it is known from then on";
}

TEST_F(LineStreamTest, DropsPermanentlyRefusedLines) {
  start();
  collector.status = 422;
  append("audit.jsonl", "a1\na2\n");
  run_for(20s);
  EXPECT_EQ(metric("tidemark_stream_refused_lines_total"), 2);
  collector.status = 401;
  append("audit.jsonl", "a3\n");
  run_for(20s);
  EXPECT_EQ(metric("tidemark_stream_refused_lines_total"), 2) << "a token can be mended";
  collector.status = 204;
  run_for(2min);
  EXPECT_EQ(metric("tidemark_stream_lines_total"), 1);
}

}  // namespace
}  // namespace tidemark::journal
