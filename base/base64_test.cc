#include "base/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace tidemark::base {
namespace {

// What kube-apiserver 1.34.2 says to these as a Secret's data: the bytes, or "illegal base64 data at input byte N".
TEST(ReadBase64, IsGosStdEncoding) {
  constexpr std::pair<std::string_view, std::string_view> kGood[] = {
      {"YQ==", "a"}, {"YQ=\n=", "a"}, {"YW\r\nJj\n", "abc"}, {"YQ==\n", "a"}, {"\n", ""}, {"YR==", "a"}, {"", ""}};
  for (const auto& [text, bytes] : kGood) {
    EXPECT_TRUE(read_base64(text).good) << text;
    EXPECT_EQ(read_base64(text).bytes, bytes) << text;
  }
  constexpr std::pair<std::string_view, std::size_t> kWrong[] = {{"YQ", 0},   {"YQ=", 3},  {"Y Q==", 1},
                                                                 {"====", 0}, {"-_-_", 0}, {"YQ==YQ==", 4}};
  for (const auto& [text, at] : kWrong) {
    EXPECT_FALSE(read_base64(text).good) << text;
    EXPECT_EQ(read_base64(text).wrong_at, at) << text;
  }
}

TEST(ReadBase64, WithoutPaddingNoneIsTaken) {
  constexpr Base64Padding kRaw = Base64Padding::kNone;
  EXPECT_EQ(read_base64("YQ", kRaw).bytes, "a");
  EXPECT_EQ(read_base64("YWI", kRaw).bytes, "ab");
  EXPECT_EQ(read_base64("YWJj", kRaw).bytes, "abc");
  for (const std::string_view wrong : {"YQ==", "Y", "YWJjY"}) EXPECT_FALSE(read_base64(wrong, kRaw).good) << wrong;
}

}  // namespace
}  // namespace tidemark::base
