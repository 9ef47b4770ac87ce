// Names and ids that cannot be mixed up:
//
//   struct NodeName : base::Strong<NodeName, std::string> { using Strong::Strong; };
//   NodeName node("n1");   node.value == "n1";   node < other;   std::unordered_map<NodeName, …>
//
// There is no way from one strong type to another, nor from the plain value without naming the type.
#pragma once

#include <compare>
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace tidemark::base {

template <class Self, class T>
struct Strong {
  using Value = T;
  using StrongSelf = Self;

  T value{};

  Strong() = default;
  template <class From>
    requires std::constructible_from<T, From> && (!std::derived_from<std::remove_cvref_t<From>, Strong>)
  explicit Strong(From&& from) : value(std::forward<From>(from)) {}

  friend auto operator<=>(const Self& a, const Self& b) { return a.value <=> b.value; }
  friend bool operator==(const Self& a, const Self& b) { return a.value == b.value; }
};

template <class S>
concept StrongType = requires { typename S::StrongSelf; } && std::same_as<typename S::StrongSelf, S> &&
                     std::derived_from<S, Strong<S, typename S::Value>>;

}  // namespace tidemark::base

template <tidemark::base::StrongType S>
struct std::hash<S> {
  std::size_t operator()(const S& strong) const { return std::hash<typename S::Value>()(strong.value); }
};
