// What all answers of the API write alike: times are seconds since 1970, null means unknown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace tidemark::console {

inline constexpr std::int64_t kSchema = 1;

inline std::int64_t seconds(base::Duration length) {
  return std::chrono::floor<std::chrono::seconds>(length).count();
}
inline std::int64_t seconds(base::WallTime at) {
  return seconds(at.since_epoch);
}

inline void optional_value(base::JsonWriter& json, const std::optional<std::int64_t>& value) {
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}
inline void optional_member(base::JsonWriter& json, std::string_view name, const std::optional<std::int64_t>& value) {
  json.key(name);
  optional_value(json, value);
}
template <class Value>  // a time or a length
void seconds_member(base::JsonWriter& json, std::string_view name, const std::optional<Value>& value) {
  optional_member(json, name, value ? std::optional(seconds(*value)) : std::nullopt);
}
inline void text_member(base::JsonWriter& json, std::string_view name, std::string_view text) {  // "" is unknown
  json.key(name);
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}

}  // namespace tidemark::console
