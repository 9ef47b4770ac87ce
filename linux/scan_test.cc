#include "linux/scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tidemark::linux {
namespace {

TEST(Scan, LinesWithAndWithoutAnEnd) {
  const auto lines = [](std::string_view text) {
    std::vector<std::string> out;
    Lines all(text);
    for (std::string_view line; all.next(line);) out.emplace_back(line);
    return out;
  };
  EXPECT_EQ(lines(""), std::vector<std::string>{});
  EXPECT_EQ(lines("a\n\nb"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(lines("a\n"), std::vector<std::string>{"a"});
}

TEST(Scan, NumbersAreWholeAndFit) {
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  EXPECT_FALSE(parse_count("9223372036854775808"));
  for (const std::string_view text : {"", "-1", "+1", " 1", "1 ", "0x1", "1\n"})
    EXPECT_FALSE(parse_count(text)) << text;
  EXPECT_EQ(parse_number_file("7\n").value(), 7);
  for (const std::string_view text : {"", "\n", "7\n\n", "max\n", "-1\n"})
    EXPECT_FALSE(parse_number_file(text)) << text;
}

TEST(Scan, MissingFieldsHaveNoValue) {
  std::optional<std::int64_t> one, two;
  ASSERT_TRUE(parse_fields("a 1\nab 2\nother x\n", {{"a", &one}, {"two", &two}}));
  EXPECT_EQ(one, 1);
  EXPECT_FALSE(two);
  const auto bad = parse_fields("a \n", {{"a", &one}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(parse_fields("a", {{"a", &one}})) << "a line that was cut off";
}

TEST(Scan, OverflowingProductIsUnset) {
  EXPECT_EQ(scaled(3, 1000), 3000);
  EXPECT_FALSE(scaled(9223372036854775807, 1000));
}

}  // namespace
}  // namespace tidemark::linux
