// Whether an external word can be used as one path component.
#pragma once

#include <cstddef>
#include <string_view>

namespace tidemark::agent {

inline constexpr std::size_t kFileNameMax = 255;  // NAME_MAX

inline bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kFileNameMax && !name.contains('/') &&
         !name.contains('\0');
}

}  // namespace tidemark::agent
