#include "cli/local/log_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"

namespace tidemark::cli {
namespace {

struct Shown {
  std::string out, error;
};

Shown shown(LogText::Options options, const std::vector<std::string>& lines) {
  Shown all;
  LogText text(options, [&](LogStream stream, std::string_view bytes) {
    (stream == LogStream::kOut ? all.out : all.error) += bytes;
  });
  for (const std::string& log_text_line : lines) text.take(log_text_line);
  text.flush();
  text.break_off();
  return all;
}

std::string log_text_line(int second, std::string_view rest) {
  return base::cat("2026-11-23T12:00:0", second, ".5Z ", rest);
}

TEST(LogTextTest, JoinsPartsPerStream) {
  const auto all = shown({}, {log_text_line(1, "stdout P a"), log_text_line(2, "stderr F E"),
                              log_text_line(3, "stdout F b"), log_text_line(4, "stdout F ")});
  EXPECT_EQ(all.out, "ab\n\n");
  EXPECT_EQ(all.error, "E\n");
}

TEST(LogTextTest, TerminatesLastLine) {
  EXPECT_EQ(shown({}, {log_text_line(1, "stdout P a")}).out, "a\n");
}

TEST(LogTextTest, ShowsUnknownLinesUnchanged) {
  EXPECT_EQ(shown({}, {"torn", log_text_line(1, "stdout F a")}).out, "torn\na\n");
}

TEST(LogTextTest, TimestampsStartLinesNotParts) {
  EXPECT_EQ(shown({.timestamps = true},
                  {log_text_line(1, "stdout P a"), log_text_line(2, "stdout F b"), log_text_line(3, "stdout F c")})
                .out,
            "2026-11-23T12:00:01.5Z ab\n2026-11-23T12:00:03.5Z c\n");
}

TEST(LogTextTest, SinceSkipsOlderLines) {
  EXPECT_EQ(shown({.since = base::parse_rfc3339("2026-11-23T12:00:02.5Z")},
                  {log_text_line(1, "stdout F a"), log_text_line(2, "stdout F b"), log_text_line(3, "stdout F c")})
                .out,
            "b\nc\n");
}

TEST(LogTextTest, TailCountsLinesOfBothStreams) {
  const std::vector<std::string> lines{log_text_line(1, "stdout F a"), log_text_line(2, "stderr F b"),
                                       log_text_line(3, "stdout P c"), log_text_line(4, "stdout F d"),
                                       log_text_line(5, "stdout F e")};
  EXPECT_EQ(shown({.tail = 2}, lines).out, "cd\ne\n");
  EXPECT_EQ(shown({.tail = 3}, lines).error, "b\n");
  EXPECT_EQ(shown({.tail = 0}, lines).out, "");
  EXPECT_EQ(shown({.tail = 100}, lines).out, "a\ncd\ne\n");
}

TEST(LogTextTest, PartWithoutBeginningIsNotALine) {
  EXPECT_EQ(shown({.tail = 1}, {log_text_line(1, "stdout P a"), log_text_line(2, "stderr F b"),
                                log_text_line(3, "stdout F c"), log_text_line(4, "stderr F d")})
                .error,
            "d\n");
}

TEST(LogTextTest, LinesAfterTailComeAtOnce) {
  std::string out;
  LogText text({.tail = 1}, [&](LogStream, std::string_view bytes) { out += bytes; });
  text.take(log_text_line(1, "stdout F a"));
  text.take(log_text_line(2, "stdout P b"));
  EXPECT_EQ(out, "");
  text.flush();
  text.take(log_text_line(3, "stdout F c"));
  EXPECT_EQ(out, "bc\n");
}

}  // namespace
}  // namespace tidemark::cli
