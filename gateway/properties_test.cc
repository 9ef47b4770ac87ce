#include "gateway/properties.h"

#include <gtest/gtest.h>

#include <random>

namespace tidemark::gateway {
namespace {

TEST(Properties, EscapesAsJavaDoes) {
  EXPECT_EQ(to_properties({{"spark.master", "k8s://http://127.0.0.1:6443"}}),
            "spark.master=k8s\\://http\\://127.0.0.1\\:6443\n");
  EXPECT_EQ(to_properties({{"a b", " c d"}}), "a\\ b=\\ c d\n");
  EXPECT_EQ(to_properties({{"k", "ä\n😀"}}), "k=\\u00E4\\n\\uD83D\\uDE00\n");
}

TEST(Properties, ReadsWhatJavaReads) {
  const auto read = parse_properties("# comment\n\n  a : b\\\n   c\nkey\nx=y=z\n! more\nu=\\u00e4\\q\nlast=1");
  EXPECT_EQ(read.at("a"), "bc");
  EXPECT_EQ(read.at("key"), "");
  EXPECT_EQ(read.at("x"), "y=z");
  EXPECT_EQ(read.at("u"), "äq");
  EXPECT_EQ(read.at("last"), "1");
  EXPECT_EQ(read.size(), 5U);
}

TEST(Properties, AnyTextReadsBack) {
  std::mt19937_64 random(7);
  const std::string letters = "ab =:#!\\\n\r\t\f\"'$";
  const auto text = [&] {
    std::string out;
    for (auto n = random() % 12; n > 0; --n) out += letters[random() % letters.size()];
    return out;
  };
  for (int i = 0; i < 5'000; ++i) {
    std::map<std::string, std::string> pairs;
    for (auto n = random() % 4; n > 0; --n) pairs["k" + text()] = text();
    EXPECT_EQ(parse_properties(to_properties(pairs)), pairs) << to_properties(pairs);
  }
}

}  // namespace
}  // namespace tidemark::gateway
