// Who a pod is, where several sources speak of it: 128 bits of its namespace and name.
//
// Decisions join pods with what is reported of them and never show a name; whoever shows one has the object. So neither
// snapshots nor caches carry some fifty bytes of text for each pod of each node. Two pods of one node with the same id
// by accident: one in 2^100 clusters. The value is the same in every process and version.
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
