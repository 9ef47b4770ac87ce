#include "kube/builtin_types.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::kube {

const BuiltinField* BuiltinType::find(std::string_view field) const {
  const auto at = std::lower_bound(fields.begin(), fields.end(), field,
                                   [](const BuiltinField& a, std::string_view b) { return a.name < b; });
  return at != fields.end() && at->name == field ? &*at : nullptr;
}

BuiltinTypes::BuiltinTypes() {
  for (const char* const* line = kBuiltinTypeLines; *line != nullptr; ++line) {
    const std::string_view text = *line;
    types_.push_back({text.substr(0, text.find(' ')), {}});
    by_name_[types_.back().name] = &types_.back();
  }
  std::size_t row = 0;
  for (const char* const* line = kBuiltinTypeLines; *line != nullptr; ++line, ++row) {
    const auto words = base::split(*line, ' ');
    for (std::size_t i = 1; i < words.size(); ++i) {
      BuiltinField field;
      std::string_view word = words[i];
      const std::size_t colon = word.find(':');
      TM_CHECK(colon != std::string_view::npos, "a field of the type table reads name:code");
      field.name = word.substr(0, colon);
      word.remove_prefix(colon + 1);
      if (const std::size_t slash = word.find("/r"); slash != std::string_view::npos) {
        field.retain_keys = true;
        word = word.substr(0, slash);
      }
      if (const std::size_t slash = word.find("/m"); slash != std::string_view::npos) {
        field.merge = true;
        field.merge_key = word.substr(slash + 2);
        word = word.substr(0, slash);
      }
      if (word.ends_with('!')) {
        field.required = true;
        word.remove_suffix(1);
      }
      const std::size_t leaf = word.find_first_not_of("[{");
      field.type.shape = word.substr(0, leaf);
      field.type.code = word[leaf];
      if (field.type.code == '@') {
        field.type.type = find(word.substr(leaf + 1));
        TM_CHECK(field.type.type != nullptr, "the type table names a type that it does not have");
      }
      types_[row].fields.push_back(field);
    }
    std::sort(types_[row].fields.begin(), types_[row].fields.end(),
              [](const BuiltinField& a, const BuiltinField& b) { return a.name < b.name; });
  }
}

const BuiltinType* BuiltinTypes::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

const BuiltinTypes& builtin_types() {
  static const BuiltinTypes table;
  return table;
}

}  // namespace tidemark::kube
