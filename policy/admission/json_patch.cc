#include "policy/admission/json_patch.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::policy {
namespace {

// RFC 6901: "~" is "~0", "/" is "~1".
std::string child(const std::string& path, std::string_view key) {
  std::string out = path + "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

void put(Json::Array& operations, std::string_view op, const std::string& path, const Json* value) {
  Json operation = Json::object({{"op", Json(op)}, {"path", Json(path)}});
  if (value != nullptr) operation["value"] = *value;
  operations.push_back(std::move(operation));
}

void compare(const std::string& path, const Json& before, const Json& after, Json::Array& operations) {
  if (before.is_object() && after.is_object()) {
    for (const auto& [key, value] : before.as_object()) {
      if (!after.as_object().contains(key)) put(operations, "remove", child(path, key), nullptr);
    }
    for (const auto& [key, value] : after.as_object()) {
      const Json* old = before.as_object().find(key);
      if (old == nullptr) {
        put(operations, "add", child(path, key), &value);
      } else {
        compare(child(path, key), *old, value, operations);
      }
    }
    return;
  }
  if (before.is_array() && after.is_array() && before.as_array().size() == after.as_array().size()) {
    for (std::size_t i = 0; i < after.as_array().size(); ++i) {
      compare(base::cat(path, "/", i), before.as_array()[i], after.as_array()[i], operations);
    }
    return;
  }
  if (!(before == after)) put(operations, "replace", path, &after);
}

}  // namespace

Json json_patch(const Json& before, const Json& after) {
  Json::Array operations;
  compare("", before, after, operations);
  return operations;
}

}  // namespace tidemark::policy
