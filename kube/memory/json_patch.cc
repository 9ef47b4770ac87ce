#include "kube/memory/json_patch.h"

#include <string>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

std::string decode_key(std::string_view part) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
      key += part[++i] == '0' ? '~' : '/';
    } else {
      key += part[i];
    }
  }
  return key;
}

struct Document {
  Json& root;
  std::size_t steps = 0;   // so far, of kJsonPatchStepsMax
  std::size_t copied = 0;  // bytes, of kJsonPatchCopyBytesMax
};

// Where an operation acts: the container, and the member or index in it.
struct Place {
  Json* container = nullptr;  // object or array
  std::string key;
};

// `extra` is 1 for an insertion, which may also name the place after the last element.
std::optional<std::size_t> index_in(const Json::Array& array, std::string_view key, std::size_t extra) {
  const auto number = base::parse_int(key);
  if (!number) return std::nullopt;
  const auto size = static_cast<std::int64_t>(array.size() + extra);
  const std::int64_t index = *number < 0 ? *number + size : *number;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Place find_place(Document& document, std::string_view path) {
  const auto parts = base::split(path, '/');
  if (parts.size() < 2) return {};
  Json* at = &document.root;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::string key = decode_key(parts[i]);
    if (at->is_object()) {
      document.steps += at->as_object().size();
      at = at->as_object().find(key);
    } else if (at->is_array()) {
      const auto index = index_in(at->as_array(), key, 0);
      at = index ? &at->as_array()[*index] : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return {};
  }
  if (!at->is_object() && !at->is_array()) return {};
  // An insertion moves what is behind it, a look-up passes what is before.
  document.steps += at->is_object() ? at->as_object().size() : at->as_array().size();
  return {at, decode_key(parts.back())};
}

std::unexpected<ApiError> does_not_apply(std::string message) {
  return refuse(plain_error(422, "Invalid", std::move(message)));
}

std::unexpected<ApiError> missing(std::string_view op, std::string_view what, std::string_view path) {
  return does_not_apply(cat(op, " operation does not apply: doc is missing ", what, ": ", path, ": missing value"));
}

std::unexpected<ApiError> bad_index(std::string_view op, std::string_view path, std::string_view key) {
  return does_not_apply(cat("error in ", op, " for path: '", path, "': Unable to access invalid index: ", key,
                            ": invalid index referenced"));
}

Answer<void> add_at(Document& document, std::string_view op, std::string_view path, Json value) {
  const Place place = find_place(document, path);
  if (place.container == nullptr) return missing(op, "path", cat("\"", path, "\""));
  if (place.container->is_object()) {
    place.container->as_object().set(place.key, std::move(value));
    return {};
  }
  auto& array = place.container->as_array();
  if (place.key == "-") {
    array.push_back(std::move(value));
    return {};
  }
  const auto index = index_in(array, place.key, 1);
  if (!index) return bad_index(op, path, place.key);
  array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return {};
}

Answer<void> remove_at(Document& document, std::string_view op, std::string_view path) {
  const Place place = find_place(document, path);
  if (place.container == nullptr) return missing(op, "path", cat("\"", path, "\""));
  if (place.container->is_object()) {
    if (place.container->as_object().erase(place.key)) return {};
    return does_not_apply(cat("error in ", op, " for path: '", path, "': Unable to remove nonexistent key: ", place.key,
                              ": missing value"));
  }
  auto& array = place.container->as_array();
  const auto index = index_in(array, place.key, 0);
  if (!index) return bad_index(op, path, place.key);
  array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
  return {};
}

// The value at a path; nullptr where an object lacks the member.
Answer<Json*> member_at(Document& document, std::string_view op, std::string_view path) {
  const Place place = find_place(document, path);
  if (place.container == nullptr) return missing(op, "path", path);
  if (place.container->is_object()) {
    return place.container->as_object().find(place.key);
  }
  const auto index = index_in(place.container->as_array(), place.key, 0);
  if (!index) return bad_index(op, path, place.key);
  return &place.container->as_array()[*index];
}

Answer<void> replace_at(Document& document, std::string_view path, const Json& value) {
  if (path.empty()) {
    if (!value.is_object() && !value.is_array())
      return does_not_apply("replace operation value must be object or array");
    document.root = value;
    return {};
  }
  const Place place = find_place(document, path);
  if (place.container == nullptr) return missing("replace", "path", path);
  if (place.container->is_object()) {
    place.container->as_object().set(place.key, value);
    return {};
  }
  const auto index = index_in(place.container->as_array(), place.key, 0);
  if (!index) return missing("replace", "key", path);
  place.container->as_array()[*index] = value;
  return {};
}

Answer<void> test_at(Document& document, std::string_view path, const Json* value) {
  static const Json null;
  const Json* found = &document.root;
  // Compared in place: a patch may test a large object thousands of times.
  if (!path.empty()) {
    TM_TRY(found, member_at(document, "test", path));
    if (found == nullptr) found = &null;
  }
  if (value != nullptr && *found == *value) return {};
  return does_not_apply(cat("testing value ", path, " failed: test failed"));
}

Answer<void> apply_one(Document& document, const Json& operation) {
  const std::string_view op = operation.text_at("op");
  const Json* path_member = operation.at("path");
  const Json* value = operation.at("value");
  if (path_member == nullptr || !path_member->is_string())
    return does_not_apply(cat(op, " operation failed to decode path: missing value"));
  const std::string& path = path_member->as_string();
  if (op == "test") return test_at(document, path, value);
  if (op == "remove") return remove_at(document, op, path);
  if (op == "add" || op == "replace") {
    if (value == nullptr)
      return refuse(bad_request(cat("the JSON patch operation \"", op, "\" of ", path, " has no value")));
    return op == "add" ? add_at(document, op, path, *value) : replace_at(document, path, *value);
  }
  if (op == "move" || op == "copy") {
    const Json* from = operation.at("from");
    if (from == nullptr || !from->is_string())
      return does_not_apply(cat(op, " operation failed to decode from: missing value"));
    TM_TRY(Json * held, member_at(document, op, from->as_string()));
    Json moved;
    if (op == "move") {
      if (held != nullptr) moved = std::move(*held);
      TM_TRY_VOID(remove_at(document, op, from->as_string()));
    } else {
      if (held != nullptr) moved = *held;
      document.copied += moved.dump().size();
      if (document.copied > kJsonPatchCopyBytesMax)
        return does_not_apply(
            cat("the copy operations of this JSON patch add more than ", kJsonPatchCopyBytesMax, " bytes"));
    }
    return add_at(document, op, path, std::move(moved));
  }
  return does_not_apply(cat("Unexpected kind: ", op));
}

}  // namespace

Answer<void> apply_json_patch(Json& target, const Json& patch) {
  if (!patch.is_array())
    return refuse(bad_request("error decoding patch: a JSON patch must be an array of operations"));
  const auto& operations = patch.as_array();
  if (operations.size() > kJsonPatchOperationsMax)
    return refuse(plain_error(413, "RequestEntityTooLarge",
                              cat("Request entity too large: The allowed maximum operations in a JSON patch is ",
                                  kJsonPatchOperationsMax, ", got ", operations.size())));
  Document document{.root = target};
  for (const Json& operation : operations) {
    if (!operation.is_object())
      return refuse(bad_request("error decoding patch: an operation of a JSON patch must be an object"));
    TM_TRY_VOID(apply_one(document, operation));
    if (document.steps > kJsonPatchStepsMax)
      return refuse(plain_error(413, "RequestEntityTooLarge",
                                cat("Request entity too large: the operations of this JSON patch read more than ",
                                    kJsonPatchStepsMax, " members: use fewer operations, or a merge patch")));
  }
  return {};
}

}  // namespace tidemark::kube::memory
