#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <limits>
#include <random>

#include "base/result.h"
#include "base/utf8.h"

namespace tidemark::base {
namespace {

TEST(Cat, JoinsEveryKindOfPart) {
  EXPECT_EQ(cat("node ", std::string("n1"), ' ', 3, " of ", std::uint64_t{18446744073709551615U}, " is ", true),
            "node n1 3 of 18446744073709551615 is true");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(Cat, ALiteralIsTextAndNotABool) {
  const char* pointer = "pointer";
  EXPECT_EQ(cat("literal ", pointer), "literal pointer");
}

TEST(Cat, DoublesReadBackToTheSameValue) {
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(-2.5e-300), "-2.5e-300");
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) {
      EXPECT_EQ(parse_double(cat(value)), value);
    }
  }
}

TEST(Join, PutsTheSeparatorBetween) {
  const std::vector<std::string> parts = {"a", "", "b"};
  EXPECT_EQ(join(parts, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string_view>{"", ""}));
}

TEST(Trim, TakesAsciiBlanksAtBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Lower, ChangesAsciiOnly) {
  EXPECT_EQ(lower("AbZ[@\xC3\x84"), "abz[@\xC3\x84");
}

TEST(ParseInt, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int("007"), 7);
  for (const std::string_view wrong :
       {"", "-", "+1", " 1", "1 ", "1a", "0x10", "1.0", "1e3", "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_EQ(parse_int(wrong), std::nullopt) << wrong;
  }
}

TEST(ParseUint, HasNoSign) {
  EXPECT_EQ(parse_uint("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const std::string_view wrong : {"", "-1", "+1", "18446744073709551616", "1 "}) {
    EXPECT_EQ(parse_uint(wrong), std::nullopt) << wrong;
  }
}

TEST(ParseDouble, TakesFiniteNumbersOnly) {
  EXPECT_EQ(parse_double("-1.5e3"), -1500.0);
  EXPECT_EQ(parse_double("0"), 0.0);
  for (const std::string_view wrong : {"", "+1", "1.5x", " 1", "inf", "nan", "-infinity", "1e999", "0x1p3"}) {
    EXPECT_EQ(parse_double(wrong), std::nullopt) << wrong;
  }
}

TEST(Nearest, FindsASlipAndNothingElse) {
  constexpr std::string_view kFlags[] = {"kubeconfig", "listen", "data-dir", "v"};
  EXPECT_EQ(nearest("kubeconfg", kFlags), "kubeconfig");
  EXPECT_EQ(nearest("listn", kFlags), "listen");
  EXPECT_EQ(nearest("datadir", kFlags), "data-dir");
  EXPECT_EQ(nearest("listen", kFlags), "listen");
  EXPECT_EQ(nearest("metrics", kFlags), std::nullopt);
  EXPECT_EQ(nearest("x", kFlags), std::nullopt) << "every letter replaced is another word";
  EXPECT_EQ(nearest("", kFlags), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'k'), kFlags), std::nullopt);
}

TEST(Base64, FollowsTheTestVectorsOfRfc4648) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
    EXPECT_EQ(base64_decode(text).has_value(), true);
    if (text.ends_with('=')) EXPECT_EQ(base64_decode(text.substr(0, text.find('='))), std::nullopt) << "no padding";
  }
}

TEST(Base64, RoundTripsAnyBytes) {
  std::mt19937 random(3);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  }
}

TEST(Base64, RefusesWhatIsNotIt) {
  for (const std::string_view wrong :
       {"Z", "Zg=", "Zg===", "====", "=", "Zm 9", "Zm-_", "Z=g=", "Zm9v=", "Zm9vY", "Zg==Zg=="}) {
    EXPECT_EQ(base64_decode(wrong), std::nullopt) << wrong;
  }
}

TEST(Quoted, ShowsForeignTextSafely) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(in_quotes("a\"b\\c\nd\re\tf"), R"("a\"b\\c\nd\re\tf")");
  EXPECT_EQ(in_quotes(std::string_view("\0\x1b[2J\x7f", 6)), R"("\x00\x1b[2J\x7f")");
  EXPECT_EQ(in_quotes("gr\xC3\xBC\xC3\x9F \xFF"), "\"gr\xC3\xBC\xC3\x9F \\xff\"");
}

TEST(Quoted, CutsAtTheLimitButNotInsideACharacter) {
  EXPECT_EQ(in_quotes("abcdef", 3), "\"abc\"...");
  EXPECT_EQ(in_quotes("abc", 3), "\"abc\"");
  EXPECT_EQ(in_quotes("ab\xE2\x82\xACx", 4), "\"ab\"...");
  EXPECT_EQ(in_quotes("ab\xE2\x82\xACx", 5), "\"ab\xE2\x82\xAC\"...");
}

TEST(ValidUtf8, HoldsToRfc3629) {
  for (const std::string_view right :
       {"", "plain ascii of more than eight bytes", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "01234567\xC3\xA4"}) {
    EXPECT_TRUE(valid_utf8(right)) << in_quotes(right);
  }
  for (const std::string_view wrong :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF",
        "0123456\xC3", "01234567\xC3"}) {
    EXPECT_FALSE(valid_utf8(wrong)) << in_quotes(wrong);
  }
}

TEST(Utf8Prefix, CutsNoCharacterInTwo) {
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("abc", 2), "ab");
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xACx", 3), "a");
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xACx", 4), "a\xE2\x82\xAC");
  EXPECT_EQ(utf8_prefix("\xFF\xFF\xFF", 2), "\xFF\xFF") << "what is no character counts by the byte";
  EXPECT_EQ(utf8_prefix("", 0), "");
}

TEST(ErrorText, AnErrnoIsNamedWithWhatWasBeingDone) {
  const Result<void> result = fail_errno(ENOENT, "open /x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kIo);
  EXPECT_EQ(result.error().code, ENOENT);
  EXPECT_EQ(result.error().message, "open /x: No such file or directory");
  EXPECT_EQ(result.error().within("reading the config").message,
            "reading the config: open /x: No such file or directory");
}

TEST(ErrorText, EveryKindHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind) {
    names.push_back(to_string(static_cast<ErrorKind>(kind)));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::count(names.begin(), names.end(), "unknown"), 0);
}

TEST(SwitchedOn, TheFirstWordOnANameCountsElseTheStar) {
  using Strings = std::vector<std::string>;
  EXPECT_TRUE(switched_on("a", Strings{"a"}));
  EXPECT_FALSE(switched_on("b", Strings{"a"}));
  EXPECT_TRUE(switched_on("b", Strings{"-a", "*"}));
  EXPECT_FALSE(switched_on("a", Strings{"*", "-a", "a"}));
  EXPECT_TRUE(switched_on("a", Strings{"a", "-a"}));
  EXPECT_FALSE(switched_on("a", Strings{}));
}

TEST(GoBool, IsStrict) {
  EXPECT_EQ(parse_go_bool("T"), true);
  EXPECT_EQ(parse_go_bool("0"), false);
  for (const char* text : {"", "yes", "tRUE", " true"}) EXPECT_EQ(parse_go_bool(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tidemark::base
