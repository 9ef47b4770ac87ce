#include "gateway/log_lines.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

TEST(LogLines, ReadsEachLineOfAPodOnce) {
  LogPart part = new_lines("2026-01-01T00:00:01.000000001Z a\n2026-01-01T00:00:01.000000002Z b\n", {});
  EXPECT_EQ(part.text, "a\nb\n");
  // The server answers again from the second of the last line on.
  part = new_lines(
      "2026-01-01T00:00:01.000000001Z a\n2026-01-01T00:00:01.000000002Z b\n2026-01-01T00:00:01.000000002Z c\n"
      "2026-01-01T00:00:03.000000000Z half",
      part.next);
  EXPECT_EQ(part.text, "c\n") << "a line without its end waits";
  EXPECT_EQ(part.next.lines, 2);
  part = new_lines("2026-01-01T00:00:01.000000002Z b\n2026-01-01T00:00:01.000000002Z c\n", part.next);
  EXPECT_EQ(part.text, "");
}

TEST(LogLines, KeepsEmptyLinesOfAPod) {
  EXPECT_EQ(new_lines("2026-01-01T00:00:01.000000001Z \n2026-01-01T00:00:01.000000002Z\n", {}).text, "\n\n");
}

TEST(LogLines, PositionSurvivesItsText) {
  const LogPosition position{"2026-01-01T00:00:01.000000001Z", 3, 17, 0};
  EXPECT_EQ(decode_log_position(encode(position)), position);
  EXPECT_EQ(decode_log_position("x"), LogPosition());
}

TEST(LogLines, PrintsNoBytesThatHarmATerminalOrJson) {
  EXPECT_EQ(printable("a\tb\r\n\x1b[1m\xff\xc3\xa9\x00z"), "a\tb\n?[1m?\xc3\xa9");
  EXPECT_TRUE(base::valid_utf8(printable("\xc3")));
  EXPECT_EQ(printable(std::string("\0z", 2)), "?z");
}

}  // namespace
}  // namespace tidemark::gateway
