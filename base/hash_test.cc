#include "base/hash.h"

#include <gtest/gtest.h>

namespace tidemark::base {
namespace {

// The published test values of FNV-1a, 64 bits.
TEST(TextHash, IsFnv1a) {
  EXPECT_EQ(TextHash().hex(), "cbf29ce484222325");
  EXPECT_EQ(TextHash().add("a").hex(), "af63dc4c8601ec8c");
  EXPECT_EQ(TextHash().add("foobar").hex(), "85944171f73967e8");
  EXPECT_EQ(TextHash().add("foo").add("bar").value(), TextHash().add("foobar").value());
  EXPECT_EQ(TextHash().add(std::string_view("\0", 1)).hex(), "af63bd4c8601b7df");
}

}  // namespace
}  // namespace tidemark::base
