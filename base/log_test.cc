#include "base/log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/testing/clock.h"

namespace tidemark::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct LogTest : ::testing::Test {
  testing::Clock clock;
  std::vector<std::string> lines;

  Log make(LogFormat format = LogFormat::kText, LogLevel level = LogLevel::kInfo) {
    return Log(clock, {level, format, [this](std::string_view line) { lines.emplace_back(line); }});
  }
  std::string last() const { return lines.empty() ? "" : lines.back(); }
};

TEST_F(LogTest, TextLineIsTimeLevelComponentMessageFields) {
  clock.advance(milliseconds(5'678));
  make().named("manager").info("node patched", {{"node", "n1"}, {"batch_cpu_milli", 7800}, {"first", true}});
  EXPECT_EQ(last(), "2026-01-01T00:00:05.678Z INFO manager node patched node=n1 batch_cpu_milli=7800 first=true\n");
}

TEST_F(LogTest, TextQuotesOnlyValuesThatNeedIt) {
  make().info("m",
              {{"plain", "a/b:c,d-é"}, {"empty", ""}, {"blank", "a b"}, {"equals", "a=b"}, {"quote", R"(say "x")"}});
  EXPECT_EQ(last(),
            "2026-01-01T00:00:00.000Z INFO m plain=a/b:c,d-é empty=\"\" blank=\"a b\" equals=\"a=b\" "
            "quote=\"say \\\"x\\\"\"\n");
}

TEST_F(LogTest, OneEventIsOneLineWhateverIsInIt) {
  std::string nasty = "a\nb\r\t\x1b[31m\x7f\\";
  nasty += '\0';
  nasty += "\xe2\x80\xa8\xc2\x85\xff";  // line separator, next line, no UTF-8
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    make(format).named("x\ny").warn(nasty, {{"value", nasty}, {"k\ney=", "v"}});
    const std::string line = last();
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    for (const char c : line.substr(0, line.size() - 1)) EXPECT_GE(static_cast<unsigned char>(c), 0x20u) << line;
    EXPECT_EQ(line.find("\xe2\x80\xa8"), std::string::npos);
    EXPECT_EQ(line.find('\xff'), std::string::npos);
  }
  EXPECT_EQ(lines[0],
            "2026-01-01T00:00:00.000Z WARN x\\ny a\\nb\\r\\t\\u001b[31m\\u007f\\\\u0000\\u2028\\u0085\\xff "
            "value=\"a\\nb\\r\\t\\u001b[31m\\u007f\\\\\\u0000\\u2028\\u0085\\xff\" k_ey_=v\n");
  const auto parsed = Json::parse(lines[1]);
  ASSERT_TRUE(parsed) << lines[1];
  EXPECT_EQ(parsed->text_at("component"), "x\ny");
  EXPECT_EQ(parsed->text_at("k\ney="), "v");
  EXPECT_TRUE(parsed->text_at("message").starts_with("a\nb\r\t\x1b[31m\x7f\\"));
}

TEST_F(LogTest, JsonLineIsAnObjectWithTypedValues) {
  make(LogFormat::kJson)
      .named("manager")
      .error("patch failed", {{"node", "n1"},
                              {"milli", 7800},
                              {"big", std::numeric_limits<std::uint64_t>::max()},
                              {"ratio", 0.5},
                              {"nan", std::nan("")},
                              {"again", false}});
  EXPECT_EQ(last(),
            R"({"time":"2026-01-01T00:00:00.000Z","level":"error","component":"manager","message":"patch failed",)"
            R"("node":"n1","milli":7800,"big":18446744073709551615,"ratio":0.5,"nan":"nan","again":false})"
            "\n");
  EXPECT_TRUE(Json::parse(last()));
}

TEST_F(LogTest, JsonFieldCannotStandInForTheHead) {
  make(LogFormat::kJson).info("m", {{"level", "error"}, {"time", 1}});
  const auto parsed = Json::parse(last());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->text_at("level"), "info");
  EXPECT_EQ(parsed->text_at("field_level"), "error");
  EXPECT_EQ(parsed->member("field_time")->get_int(), 1);
}

TEST_F(LogTest, ErrorsTellKindMessageAndCode) {
  make().error("list failed", {{"error", Error{ErrorKind::kExhausted, "slow down", 429, 0}}});
  EXPECT_NE(last().find("slow down (code 429)\""), std::string::npos) << last();
  EXPECT_NE(last().find(to_string(ErrorKind::kExhausted)), std::string::npos) << last();
}

TEST_F(LogTest, LongValuesAreCutWithTheirLength) {
  const std::string big(Log::kValueMax + 10, 'x');
  make().info("m", {{"v", big}});
  EXPECT_LT(last().size(), Log::kValueMax + 100);
  EXPECT_TRUE(last().ends_with("x... (10 bytes more)\"\n")) << last().substr(last().size() - 40);
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  const Log log = make(LogFormat::kText, LogLevel::kWarn);
  EXPECT_FALSE(log.enabled(LogLevel::kInfo));
  EXPECT_TRUE(log.enabled(LogLevel::kError));
  log.debug("no");
  log.info("no");
  log.warn("yes");
  log.error("yes");
  EXPECT_EQ(lines.size(), 2u);
  lines.clear();
  make(LogFormat::kText, LogLevel::kDebug).debug("yes");
  EXPECT_EQ(last(), "2026-01-01T00:00:00.000Z DEBUG yes\n");
}

TEST_F(LogTest, RepeatsPastTheBurstAreDroppedAndCounted) {
  const Log log = make().named("manager");
  for (int i = 0; i < Log::kBurst + 7; ++i) log.warn("patch failed", {{"attempt", i}});
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(Log::kBurst));
  EXPECT_EQ(last(), "2026-01-01T00:00:00.000Z WARN manager patch failed attempt=9\n");

  clock.advance(Log::kWindow - milliseconds(1));
  log.warn("patch failed");
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(Log::kBurst)) << "the window is not over";

  clock.advance(milliseconds(1));
  log.warn("patch failed", {{"attempt", 99}});
  EXPECT_EQ(last(), "2026-01-01T00:00:30.000Z WARN manager patch failed attempt=99 repeats_dropped=8\n");
  log.warn("patch failed");
  EXPECT_EQ(last(), "2026-01-01T00:00:30.000Z WARN manager patch failed\n");
}

TEST_F(LogTest, OtherMessagesComponentsAndInfoAreNotHeldBack) {
  const Log log = make();
  for (int i = 0; i < 100; ++i) log.named("a").error("same");
  lines.clear();
  log.named("b").error("same");
  log.named("a").error("other");
  EXPECT_EQ(lines.size(), 2u);
  for (int i = 0; i < 100; ++i) log.named("a").info("same");
  EXPECT_EQ(lines.size(), 102u);
}

TEST_F(LogTest, DropsOfAFinishedStormAreReportedByALaterLine) {
  const Log log = make(LogFormat::kJson).named("manager");
  for (int i = 0; i < Log::kBurst + 5; ++i) log.error("storm");
  lines.clear();
  clock.advance(2 * Log::kWindow);
  log.info("all well");
  ASSERT_EQ(lines.size(), 2u);
  const auto told = Json::parse(lines[0]);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->text_at("level"), "error");
  EXPECT_EQ(told->text_at("component"), "manager");
  EXPECT_EQ(told->text_at("message"), "storm");
  EXPECT_EQ(told->member("repeats_dropped")->get_int(), 5);
  clock.advance(2 * Log::kWindow);
  log.info("all well");
  EXPECT_EQ(lines.size(), 3u) << "reported once";
}

TEST_F(LogTest, KeysPastTheLimitShareOneBudget) {
  const Log log = make();
  for (std::size_t i = 0; i < Log::kKeysMax + 500; ++i) log.warn(cat("message ", i));
  EXPECT_EQ(lines.size(), Log::kKeysMax + Log::kBurst);
  clock.advance(2 * Log::kWindow);
  lines.clear();
  log.warn("message 1");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "2026-01-01T00:01:00.000Z WARN further messages repeats_dropped=490\n");
}

TEST(ConcurrentLog, LinesFromManyThreadsStayWhole) {
  testing::Clock clock;
  std::vector<std::string> lines;
  const Log log(clock, {LogLevel::kInfo, LogFormat::kJson, [&](std::string_view line) { lines.emplace_back(line); }});
  constexpr int kThreads = 4, kLines = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&log, t] {
      const Log mine = log.named(cat("thread-", t));
      for (int i = 0; i < kLines; ++i) {
        mine.info("line", {{"i", i}});
        mine.warn("noise");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kThreads * (kLines + Log::kBurst)));
  for (const std::string& line : lines) ASSERT_TRUE(Json::parse(line)) << line;
}

}  // namespace
}  // namespace tidemark::base
