#include "cli/screen.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidemark::cli {
namespace {

TEST(ScreenTest, ChineseCharactersTakeTwoColumns) {
  EXPECT_EQ(text_width("web-1"), 5U);
  EXPECT_EQ(text_width("水位线"), 6U);
  EXPECT_EQ(text_width("é"), 1U);
  EXPECT_EQ(cut_to("水位线", 5), "水位") << "no half of a character";
  EXPECT_EQ(padded_to("水位线", 5), "水位 ");
  EXPECT_EQ(right_in("水", 4), "  水");
  EXPECT_EQ(cut_to("\xff\xfe", 1), "\xff");
}

TEST(ScreenTest, WrapsAtBlanksAndKeepsTheIndent) {
  EXPECT_EQ(wrapped("  a bb ccc", 6), (std::vector<std::string>{"  a bb", "  ccc"}));
  EXPECT_EQ(wrapped("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrapped("", 10), std::vector<std::string>{""});
  for (std::size_t width = 0; width < 8; ++width) {
    for (const std::string& line : wrapped("   水 位 web-1 x", width))
      EXPECT_LE(text_width(line), std::max<std::size_t>(width, 2));
  }
}

TEST(ScreenTest, BarKeepsItsWidthForEveryAmount) {
  EXPECT_EQ(bar_text({{'o', 5}, {'b', 3}}, 10, 9, 10), "[ooooobbb.|]");
  EXPECT_EQ(bar_text({{'o', INT64_MAX}, {'b', INT64_MAX}}, INT64_MAX, std::nullopt, 4), "[oooo]");
  EXPECT_EQ(bar_text({{'o', -1}}, 0, 5, 4), "[|...]");
  EXPECT_EQ(bar_text({}, 10, 5, 0), "[]");
}

TEST(ScreenTest, ReadsTheKeysOfATerminal) {
  const std::vector<Key> keys = parse_keys("q\033[A\033OB\r\x7f\033[6~\033[1;5C水\033");
  const std::vector<Key> wanted{{KeyKind::kText, "q"},  {KeyKind::kUp},        {KeyKind::kDown},
                                {KeyKind::kEnter},      {KeyKind::kBackspace}, {KeyKind::kPageDown},
                                {KeyKind::kText, "水"}, {KeyKind::kEscape}};
  EXPECT_EQ(keys, wanted);
  EXPECT_TRUE(parse_keys("\x01\xff").empty());
}

}  // namespace
}  // namespace tidemark::cli
