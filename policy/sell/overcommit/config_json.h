// Reads the JSON of the settings as Go does: member names in any case, null is absent, unknown members are ignored, and
// one value of a wrong type rejects the whole document.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "model/selector.h"

namespace tidemark::policy::sell {

inline bool same_name(std::string_view key, std::string_view name) {
  return key.size() == name.size() && (key == name || base::lower(key) == base::lower(name));
}

inline std::unexpected<Error> wrong_type(std::string_view field, std::string_view wanted, const Json& found) {
  return fail(ErrorKind::kInvalid, field, ": wanted ", wanted, ", found ", base::in_quotes(found.dump()));
}

inline Result<bool> boolean(std::string_view field, const Json& value) {
  if (!value.is_bool()) return wrong_type(field, "true or false", value);
  return value.as_bool();
}

inline Result<double> number(std::string_view field, const Json& value) {
  if (!value.is_number()) return wrong_type(field, "a number", value);
  return value.as_double();
}

// The common part of every entry of `nodeConfigs`.
struct EntryHead {
  std::string name;
  model::LabelSelector selector = model::LabelSelector::nothing();
};

inline Result<EntryHead> read_entry_head(const Json& entry) {
  EntryHead head;
  if (entry.is_null()) return head;
  if (!entry.is_object()) return wrong_type("entry", "an object", entry);
  for (const auto& [key, value] : entry.as_object()) {
    if (same_name(key, "name") && !value.is_null()) {
      if (!value.is_string()) return wrong_type("name", "a string", value);
      head.name = value.as_string();
    } else if (same_name(key, "nodeSelector")) {
      TM_TRY(head.selector, model::LabelSelector::from_json(value));
    }
  }
  return head;
}

// Calls read(entry) for the entries of `nodeConfigs` in order; its first error stops the walk and names the entry. A
// list that occurs twice replaces the first: `restart` drops the entries read so far.
template <class Restart, class Read>
Result<void> each_node_config(const Json& document, Restart&& restart, Read&& read) {
  if (!document.is_object()) return {};
  for (const auto& [key, list] : document.as_object()) {
    if (!same_name(key, "nodeConfigs") || list.is_null()) continue;
    if (!list.is_array()) return wrong_type("nodeConfigs", "an array", list);
    restart();
    for (std::size_t i = 0; i < list.as_array().size(); ++i) {
      Result<void> taken = read(list.as_array()[i]);
      if (!taken) return fail(std::move(taken).error().within(base::cat("nodeConfigs[", i, "]")));
    }
  }
  return {};
}

}  // namespace tidemark::policy::sell
