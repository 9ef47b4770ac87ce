#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "policy/sell/offer/testing/life.h"

namespace tidemark::policy::sell {
namespace {

// Never negative, never above the ceiling, monotone in use, the order of pods irrelevant, growth in steps, cuts at
// once: for whatever settings, states, books and times.
TEST(OfferProperty, HoldsThroughAnyLifeOfANode) {
  int looks = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> bytes(6'000);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    testing::Life life(bytes);
    const std::string wrong = life.live();
    ASSERT_EQ(wrong, "") << "seed " << seed;
    looks += life.looks();
  }
  EXPECT_GT(looks, 10'000);
}

}  // namespace
}  // namespace tidemark::policy::sell
