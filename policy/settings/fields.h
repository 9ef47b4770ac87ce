// The fields of each key of the settings, as tables: name, kind, range. walk.cc walks them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace tidemark::policy::settings {

struct SettingsShape;

enum class SettingsKind : std::uint8_t {
  kBool,
  kInteger,  // in lowest … highest
  kNumber,   // above lowest_number or from it on, up to highest_number
  kText,
  kChoice,     // one of `choices`
  kDurations,  // an array of Go durations
  kQuantity,
  kShareOrQuantity,  // a whole number 0 … 100, or a quantity as text
  kObject,           // of `shape`
  kObjects,          // an array of `shape`
  kNumbers,          // a map of numbers in lowest_number … highest_number
  kShapes,           // a map of `shape`
  kBools,            // a map of booleans
  kAnything,
};

inline constexpr std::int64_t kNoHighest = std::numeric_limits<std::int64_t>::max();

struct SettingsField {
  std::string_view name;
  SettingsKind kind = SettingsKind::kAnything;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest = kNoHighest;
  double lowest_number = 0;
  double highest_number = std::numeric_limits<double>::infinity();
  bool above_lowest = false;  // of kNumber: the lowest itself is not allowed
  std::span<const std::string_view> choices{};
  const SettingsShape* shape = nullptr;
  // Koordinator accepts anything here: with its parity a value out of range is only a warning.
  bool ours = false;
};

// Two fields of one object that belong together: `lower` < `upper`.
struct SettingsPair {
  std::string_view lower;
  std::string_view upper;
};

struct SettingsShape {
  std::span<const SettingsField> fields{};
  std::span<const SettingsPair> pairs{};
  bool open = false;  // other members belong to other programs and are no mistakes
};

// How a key is built.
struct SettingsDocument {
  std::string_view key;
  const SettingsShape* strategy = nullptr;
  // {clusterStrategy, nodeStrategies} or the strategy's fields beside nodeConfigs.
  bool nested = false;
  bool ours = false;  // Koordinator's webhook does not check it
};

// In the order in which they are looked at.
std::span<const SettingsDocument> settings_documents();

}  // namespace tidemark::policy::settings
