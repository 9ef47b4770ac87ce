#include "base/strong.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace tidemark::base {
namespace {

struct NodeName : Strong<NodeName, std::string> {
  using Strong::Strong;
};
struct PodName : Strong<PodName, std::string> {
  using Strong::Strong;
};
struct Epoch : Strong<Epoch, std::int64_t> {
  using Strong::Strong;
};

template <class A, class B>
concept Comparable = requires(const A& a, const B& b) { a == b; };

// What a strong type is for: none of these may compile.
static_assert(!std::is_convertible_v<std::string, NodeName>);
static_assert(!std::is_convertible_v<NodeName, std::string>);
static_assert(!std::is_constructible_v<NodeName, PodName>);
static_assert(!std::is_assignable_v<NodeName&, std::string>);
static_assert(!Comparable<NodeName, PodName>);
static_assert(!Comparable<NodeName, std::string>);
static_assert(Comparable<NodeName, NodeName>);
static_assert(std::is_constructible_v<NodeName, const char*>);

TEST(Strong, OrdersByValue) {
  EXPECT_LT(NodeName("a"), NodeName("b"));
  EXPECT_EQ(NodeName("a"), NodeName(std::string("a")));
  EXPECT_NE(Epoch(1), Epoch(2));
  EXPECT_GT(Epoch(10), Epoch(9));
  EXPECT_EQ(Epoch().value, 0);

  std::map<NodeName, int> map{{NodeName("b"), 2}, {NodeName("a"), 1}};
  EXPECT_EQ(map.begin()->second, 1);
}

TEST(Strong, HashesByValue) {
  std::unordered_set<NodeName> set{NodeName("a"), NodeName("b"), NodeName("a")};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains(NodeName("b")));
}

TEST(Strong, CopiesAndMoves) {
  NodeName from("a-name-longer-than-the-small-string-buffer");
  NodeName copy = from;
  EXPECT_EQ(copy, from);
  NodeName moved = std::move(from);
  EXPECT_EQ(moved, copy);
}

}  // namespace
}  // namespace tidemark::base
