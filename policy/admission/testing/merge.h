// A stand-in for the rules of merging, which belong to a higher layer: maps merge, null removes, lists of named
// elements merge by name, other lists are replaced.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace tidemark::policy::testing {

inline Result<void> merge_simply(Json& target, const Json& patch) {
  if (!patch.is_object()) return fail(ErrorKind::kInvalid, "a patch must be an object");
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.as_object()) {
    Json* held = target.as_object().find(key);
    if (value.is_null()) {
      target.as_object().erase(key);
    } else if (value.is_object()) {
      TM_TRY_VOID(merge_simply(target[key], value));
    } else if (value.is_array() && held != nullptr && held->is_array() && !value.as_array().empty() &&
               value.as_array().front().is_object() && value.as_array().front().member("name") != nullptr) {
      for (const Json& element : value.as_array()) {
        Json* found = nullptr;
        for (Json& each : held->as_array()) {
          if (each.text_at("name") == element.text_at("name")) found = &each;
        }
        if (found == nullptr) {
          held->as_array().push_back(element);
        } else {
          TM_TRY_VOID(merge_simply(*found, element));
        }
      }
    } else {
      target[key] = value;
    }
  }
  return {};
}

}  // namespace tidemark::policy::testing
