// What controllers ask about leadership: whether this process may write, and under which epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace tidemark::manager {

struct Leadership {
  std::function<bool()> leading;
  std::function<std::optional<std::int64_t>()>
      epoch;  // nullopt if there is no leader election: the object's epoch stays unchanged
  std::function<void(std::int64_t seen)> found_higher;  // an object carries the epoch `seen`, above ours
};

// The number of a revision, to tell which of two is older; 0 where it is no number.
inline std::uint64_t revision_number(std::string_view resource_version) {
  return base::parse_uint(resource_version).value_or(0);
}

}  // namespace tidemark::manager
