#include "kube/memory/formats.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::kube::memory {
namespace {

// What each format takes is held to the real server by the contract suite (custom.formats_of_texts_are_enforced).
TEST(Formats, HostileTextsDoNotBlock) {
  for (const char* format : {"byte", "cidr", "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6",
                             "mac", "uri", "uuid", "creditcard", "isbn", "ssn", "rgbcolor"}) {
    EXPECT_FALSE(fits_format(format, std::string("\0", 1))) << format;
    for (const char* piece : {"(", "\"", "a@", "1:", "1.", "%", "-", "\xc2\xb5", "\xff", "[", "1h"})
      for (const std::size_t count : {1U, 2U, 63U, 100'000U}) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) text += piece;
        fits_format(format, text);
      }
  }
  EXPECT_TRUE(fits_format("", "x"));
  EXPECT_TRUE(fits_format("unheard-of", "x"));
}

TEST(Formats, RefusesAddressWithTrailingBackslash) {
  EXPECT_FALSE(fits_format("email", "\"\\"));
  EXPECT_FALSE(fits_format("email", "\"a\\"));
  EXPECT_TRUE(fits_format("email", R"("a\"b"@c)"));
}

}  // namespace
}  // namespace tidemark::kube::memory
