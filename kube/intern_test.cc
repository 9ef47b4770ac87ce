#include "kube/intern.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tidemark::kube {
namespace {

TEST(Interner, EqualTextsShareOneBlock) {
  Interner interner;
  const std::size_t empty = interner.bytes();
  {
    const Text a = interner.intern("default");
    const Text b = interner.intern("default");
    EXPECT_EQ(a.view().data(), b.view().data());
    EXPECT_EQ(interner.size(), 1u);
    EXPECT_GT(interner.bytes(), empty);
    const Text c = interner.intern("other");
    EXPECT_EQ(interner.size(), 2u);
    EXPECT_NE(a, c);
  }
  EXPECT_EQ(interner.size(), 0u);
  EXPECT_EQ(interner.intern("default").view(), "default");
}

TEST(Interner, BytesReturnToWhatTheyWere) {
  Interner interner;
  std::vector<Text> held;
  for (int i = 0; i < 1000; ++i) held.push_back(interner.intern("label-value-" + std::to_string(i)));
  const std::size_t full = interner.bytes();
  held.clear();
  // The table keeps its buckets; every block and node is gone.
  EXPECT_LT(interner.bytes(), full / 4);
  EXPECT_EQ(interner.size(), 0u);
}

TEST(Interner, OverBudgetTextsAreChargedToTheirHolder) {
  constexpr std::size_t kBudget = 16 * 1024;
  base::Registry metrics;
  const auto gauge = [&] { return metrics.gauge("tidemark_interned_bytes", "", {{"component", "here"}}).value(); };
  Interner interner(metrics, "here", kBudget);
  std::vector<Text> held;
  std::size_t shared = 0;
  for (int i = 0; i < 1000; ++i) {
    held.push_back(interner.intern("label-value-" + std::to_string(i)));
    if (held.back().bytes() == 0) ++shared;
    ASSERT_LE(interner.bytes(), kBudget);
    ASSERT_EQ(gauge(), static_cast<double>(interner.bytes()));
    ASSERT_EQ(interner.full(), held.back().bytes() > 0);
  }
  EXPECT_EQ(interner.size(), shared);
  EXPECT_GT(shared, 50u);
  EXPECT_TRUE(interner.full());
  EXPECT_EQ(metrics.counter("tidemark_interned_refused_total", "", {{"component", "here"}}).value(), 1000 - shared);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(held[static_cast<std::size_t>(i)].view(), "label-value-" + std::to_string(i));
  EXPECT_EQ(interner.intern("label-value-0").bytes(), 0u) << "what is shared already stays so";

  held.clear();
  EXPECT_EQ(interner.size(), 0u);
  EXPECT_EQ(interner.intern("new").bytes(), 0u) << "there is room again";
  EXPECT_FALSE(interner.full());
  EXPECT_EQ(gauge(), static_cast<double>(interner.bytes()));
}

TEST(Interner, TextsOutliveTheInterner) {
  Text kept;
  {
    Interner interner;
    kept = interner.intern("kept");
    EXPECT_EQ(kept.bytes(), 0u) << "a shared block is the interner's cost";
  }
  EXPECT_EQ(kept.view(), "kept");
  EXPECT_GT(kept.bytes(), 0u) << "now the handle's own";
  const Text copy = kept;
  EXPECT_EQ(copy, kept);
}

TEST(Text, EmptyCostsNothingAndMovesLeaveEmpty) {
  Interner interner;
  EXPECT_TRUE(interner.intern("").empty());
  EXPECT_EQ(interner.size(), 0u);
  Text a = Text::plain("uid");
  Text b = std::move(a);
  EXPECT_EQ(b.view(), "uid");
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): that is the contract
  EXPECT_EQ(std::string(b), "uid");
  b = Text();
  EXPECT_EQ(b.view(), "");
  EXPECT_EQ(sizeof(Text), sizeof(void*));
}

TEST(Text, ComparesByContent) {
  Interner interner;
  EXPECT_EQ(interner.intern("a"), Text::plain("a"));
  EXPECT_LT(Text::plain("a"), interner.intern("b"));
  EXPECT_EQ(Text(), Text::plain(""));
}

}  // namespace
}  // namespace tidemark::kube
