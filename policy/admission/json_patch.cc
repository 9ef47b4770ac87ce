#include "policy/admission/json_patch.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/admission/members.h"

namespace tidemark::policy::admission {
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

void count(std::size_t* steps, const MemberIndex& a, const MemberIndex& b) {
  if (steps != nullptr) *steps += a.steps() + b.steps();
}

void compare(const std::string& path, const Json& before, const Json& after, Json::Array& operations,
             std::size_t* steps) {
  if (before.is_object() && after.is_object()) {
    MemberIndex was(before.as_object());
    MemberIndex is(after.as_object());
    for (const auto& [key, value] : before.as_object()) {
      if (is.find(key) == nullptr) put(operations, "remove", child(path, key), nullptr);
    }
    for (const auto& [key, value] : after.as_object()) {
      const Json* old = was.find(key);
      if (old == nullptr) {
        put(operations, "add", child(path, key), &value);
      } else {
        compare(child(path, key), *old, value, operations, steps);
      }
    }
    count(steps, was, is);
    return;
  }
  if (before.is_array() && after.is_array() && before.as_array().size() == after.as_array().size()) {
    for (std::size_t i = 0; i < after.as_array().size(); ++i) {
      compare(base::cat(path, "/", i), before.as_array()[i], after.as_array()[i], operations, steps);
    }
    return;
  }
  if (!(before == after)) put(operations, "replace", path, &after);
}

}  // namespace

Json json_patch(const Json& before, const Json& after, std::size_t* steps) {
  Json::Array operations;
  compare("", before, after, operations, steps);
  return operations;
}

Json merge_patch(const Json& before, const Json& after, std::size_t* steps) {
  if (!before.is_object() || !after.is_object()) return after;
  base::JsonObject patch;
  MemberIndex was(before.as_object());
  MemberIndex is(after.as_object());
  for (const auto& [key, value] : before.as_object()) {
    if (is.find(key) == nullptr) patch.append_unchecked(key, nullptr);
  }
  for (const auto& [key, value] : after.as_object()) {
    const Json* old = was.find(key);
    if (old == nullptr) {
      patch.append_unchecked(key, value);
    } else if (!(*old == value)) {
      patch.append_unchecked(key, merge_patch(*old, value, steps));
    }
  }
  count(steps, was, is);
  return patch;
}

}  // namespace tidemark::policy::admission
