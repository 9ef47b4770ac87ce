// What the build promises of floating point (cmake/TidemarkModule.cmake): a formula has the same result on every
// processor, to the last bit.
#include <gtest/gtest.h>

namespace tidemark::base {
namespace {

TEST(Rounding, AProductIsRoundedBeforeItIsAdded) {
  // (1 + 2^-27)² is 1 + 2^-26 + 2^-54, and a double near one ends at 2^-52.
  const volatile double above_one = 1 + 0x1p-27;
  const double factor = above_one;
  EXPECT_EQ(factor * factor - (1 + 0x1p-26), 0.0);
}

}  // namespace
}  // namespace tidemark::base
