// Changes values in a text of the settings, YAML or JSON, and keeps its other lines as they are, comments included.
//
//   change_text("entries:\n- {name: night, cpu: 80}  # agreed with Ann\n", {{"entries", 1}, {"name": "sale", …}})
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::console {

// Keys of mappings and indices of lists, from the top.
using TextPlace = std::vector<std::variant<std::string, std::size_t>>;

struct TextChange {
  TextPlace at;
  std::optional<Json> value;  // nullopt: remove it. An index one behind the last, and an absent key, add it
};

struct ChangedText {
  std::string text;
  Json value;  // of the whole text
};

// The new text always means the old one with the changes: what cannot be changed line by line (a list in one line, an
// anchor) is written anew with what surrounds it, and loses its comments. kInvalid: the text is not YAML, or a place
// does not exist in it.
Result<ChangedText> change_text(std::string text, const std::vector<TextChange>& changes);

}  // namespace tidemark::console
