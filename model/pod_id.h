// The identity of a pod across several sources: 128 bits of its namespace and name.
//
// Decisions join pods with their reports and never show a name; code that shows names has the object. So snapshots and
// caches do not carry about fifty bytes of text for each pod. The same id for two pods of one node by accident: one in
// 2^100 clusters. The value is the same in every process and version.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace tidemark::model {

struct PodId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  PodId() = default;
  PodId(std::string_view namespace_name, std::string_view name);
  auto operator<=>(const PodId&) const = default;
};

}  // namespace tidemark::model
