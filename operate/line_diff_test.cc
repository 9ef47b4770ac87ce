#include "operate/line_diff.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::operate {
namespace {

TEST(LineDiff, ShowsChangesWithContext) {
  EXPECT_EQ(line_diff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nX\ne\nf\ng\n"), R"(  …
    b
    c
  - d
  + X
    e
    f
)");
  EXPECT_EQ(line_diff("same", "same"), "");
  EXPECT_EQ(line_diff("", "new\n"), "  + new\n");
  EXPECT_EQ(line_diff("old\n", ""), "  - old\n");
}

TEST(LineDiff, FormatsJsonFirst) {
  EXPECT_EQ(line_diff(R"({"enable":true,"a":1})", R"({"enable":false,"a":1})"), R"(    {
  -   "enable": true,
  +   "enable": false,
      "a": 1
    }
)");
  EXPECT_EQ(line_diff(R"({"a":1})", R"({ "a": 1 })"), "  (only white space)\n");
}

TEST(LineDiff, LongTextsOnlyDiffer) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line\n";
  EXPECT_EQ(line_diff(text, "x"), "  (3000 lines before, 1 after)\n");
}

}  // namespace
}  // namespace tidemark::operate
