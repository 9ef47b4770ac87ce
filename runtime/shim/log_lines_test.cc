#include "runtime/shim/log_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/text.h"

namespace tidemark::runtime {
namespace {

const base::WallTime kLogLinesNow{base::parse_rfc3339("2026-11-23T20:15:30Z")->since_epoch + base::Duration(7)};
constexpr std::string_view kHead = "2026-11-23T20:15:30.000000007Z stdout ";

TEST(LogLines, LineHasTimeAndStream) {
  LogLines lines("stdout");
  std::string out;
  lines.take("one\n\ntwo", kLogLinesNow, out);
  EXPECT_EQ(out, base::cat(kHead, "F one\n", kHead, "F \n"));
  out.clear();
  lines.take(" goes on\n", kLogLinesNow, out);
  EXPECT_EQ(out, base::cat(kHead, "F two goes on\n"));
  out.clear();
  lines.take("no end", kLogLinesNow, out);
  EXPECT_EQ(out, "");
  lines.end(kLogLinesNow, out);
  lines.end(kLogLinesNow, out);
  EXPECT_EQ(out, base::cat(kHead, "F no end\n"));
}

TEST(LogLines, SplitsLongLine) {
  LogLines lines("stdout");
  std::string out;
  const std::string part(kLogPartMax, 'x');
  lines.take(part, kLogLinesNow, out);
  EXPECT_EQ(out, "") << "its end may come next";
  lines.take("\n", kLogLinesNow, out);
  EXPECT_EQ(out, base::cat(kHead, "F ", part, "\n"));
  out.clear();
  lines.take(part + "y\n", kLogLinesNow, out);
  EXPECT_EQ(out, base::cat(kHead, "P ", part, "\n", kHead, "F y\n"));
}

// However the bytes come: the same lines.
TEST(LogLines, ChunkSizeDoesNotMatter) {
  base::Random random(5);
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(random.below(i % 20 == 0 ? 40'000 : 100), 'a') + "\n";
  std::string whole, pieces;
  LogLines at_once("stderr"), by_pieces("stderr");
  at_once.take(text, kLogLinesNow, whole);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random.below(5000));
    by_pieces.take(rest.substr(0, size), kLogLinesNow, pieces);
    rest.remove_prefix(size);
  }
  EXPECT_EQ(whole, pieces);
}

}  // namespace
}  // namespace tidemark::runtime
