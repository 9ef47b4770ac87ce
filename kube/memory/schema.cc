#include "kube/memory/schema.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "kube/json_index.h"
#include "kube/memory/formats.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

// Bounds against an answer as long as the request.
constexpr std::size_t kUnknownMax = 100;
constexpr std::size_t kCausesMax = 200;
constexpr std::size_t kEnumShownMax = 100;

std::string below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : cat(path, ".", name);
}

std::string_view type_word(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_int()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_whole(const Json& value) {
  return value.is_int() || (value.is_double() && std::trunc(value.as_double()) == value.as_double());
}

}  // namespace

void Schema::prune(Json& value, std::vector<std::string>& unknown) const {
  prune_at(value, "", true, unknown);
}

void Schema::prune_at(Json& value, const std::string& path, bool top, std::vector<std::string>& unknown) const {
  if (value.is_array()) {
    if (items_ == nullptr) return;
    std::size_t index = 0;
    for (Json& element : value.as_array()) items_->prune_at(element, cat(path, "[", index++, "]"), false, unknown);
    return;
  }
  if (!value.is_object()) return;
  JsonObject kept;  // not erased one by one: a hostile object has very many members
  for (auto& [key, member] : value.as_object()) {
    const bool head = (top || embedded_resource_) && (key == "apiVersion" || key == "kind" || key == "metadata");
    if (const auto at = properties_.find(key); !head && at != properties_.end()) {
      at->second->prune_at(member, below(path, key), false, unknown);
    } else if (!head && additional_ != nullptr) {
      additional_->prune_at(member, below(path, key), false, unknown);
    } else if (!head && !additional_any_ && !preserve_unknown_) {
      if (unknown.size() < kUnknownMax) unknown.push_back(below(path, key));
      continue;
    }
    kept.append_unchecked(std::move(key), std::move(member));
  }
  value = std::move(kept);
}

void Schema::apply_defaults(Json& value) const {
  if (value.is_array() && items_ != nullptr) {
    for (Json& element : value.as_array()) items_->apply_defaults(element);
    return;
  }
  if (!value.is_object()) return;
  {
    JsonMembers members(value.as_object());
    for (const auto& [name, schema] : properties_) {
      Json* member = members.find(name);
      if (member != nullptr && member->is_null() && !schema->nullable_) {
        if (schema->default_) {
          *member = *schema->default_;
        } else {
          members.erase(name);  // null for a field that cannot be null is an absent field
          continue;
        }
      } else if (member == nullptr && schema->default_) {
        members.add(name, *schema->default_);
        member = members.find(name);
      }
      if (member != nullptr) schema->apply_defaults(*member);
    }
  }
  if (additional_ != nullptr)
    for (auto& [key, member] : value.as_object()) additional_->apply_defaults(member);
}

void Schema::validate(const Json& value, std::vector<Cause>& causes) const {
  validate_at(value, "", causes);
}

bool Schema::accepts_kind(const Json& value) const {
  if (int_or_string_) return value.is_string() || is_whole(value);
  if (type_.empty()) return true;
  if (type_ == "integer") return is_whole(value);
  if (type_ == "number") return value.is_number();
  return type_word(value) == type_;
}

void Schema::validate_at(const Json& value, const std::string& path, std::vector<Cause>& causes) const {
  if ((value.is_null() && (nullable_ || type_.empty())) || causes.size() >= kCausesMax) return;
  if (!accepts_kind(value)) {
    const std::string wanted = int_or_string_ ? "integer,string" : type_;
    causes.push_back({"FieldValueTypeInvalid",
                      cat("Invalid value: \"", type_word(value), "\": ", path, " in body must be of type ", wanted,
                          ": \"", type_word(value), "\""),
                      path});
    return;
  }
  if (!enum_.empty() && !enum_set_.contains(json_identity(value))) {
    std::vector<std::string> allowed;
    for (std::size_t i = 0; i < std::min(enum_.size(), kEnumShownMax); ++i)
      allowed.push_back(enum_[i].is_string() ? enum_[i].as_string() : enum_[i].dump());
    causes.push_back(unsupported_value(path, value.dump(), allowed));
  }
  if (value.is_string())
    validate_text(value.as_string(), path, causes);
  else if (value.is_number())
    validate_number(value, path, causes);
  else if (value.is_array())
    validate_list(value, path, causes);
  else if (value.is_object())
    validate_object(value, path, causes);
  validate_logic(value, path, causes);
}

void Schema::validate_text(const std::string& text, const std::string& path, std::vector<Cause>& causes) const {
  const std::string shown = Json(text).dump();
  const auto length = static_cast<std::int64_t>(code_points(text));
  if (max_length_ && length > *max_length_)
    causes.push_back({"FieldValueTooLong", cat("Too long: may not be more than ", *max_length_, " bytes"), path});
  if (min_length_ && length < *min_length_)
    causes.push_back(
        invalid_value(path, shown, cat(path, " in body should be at least ", *min_length_, " chars long")));
  // The library would stop reading at a NUL.
  if (regex_ && (text.find('\0') != std::string::npos || regexec(&*regex_, text.c_str(), 0, nullptr, 0) != 0))
    causes.push_back(invalid_value(path, shown, cat(path, " in body should match '", pattern_, "'")));
  if (!fits_format(format_, text))
    causes.push_back(invalid_value(path, shown, cat(path, " in body must be of type ", format_, ": ", shown)));
}

void Schema::validate_number(const Json& value, const std::string& path, std::vector<Cause>& causes) const {
  const double number = value.as_double();
  const std::string shown = value.dump();
  if (minimum_ && (number < *minimum_ || (exclusive_minimum_ && number == *minimum_)))
    causes.push_back(invalid_value(
        path, shown,
        cat(path, " in body should be greater than ", exclusive_minimum_ ? "" : "or equal to ", *minimum_)));
  if (maximum_ && (number > *maximum_ || (exclusive_maximum_ && number == *maximum_)))
    causes.push_back(invalid_value(
        path, shown, cat(path, " in body should be less than ", exclusive_maximum_ ? "" : "or equal to ", *maximum_)));
  if (multiple_of_ && *multiple_of_ > 0 && std::fmod(number, *multiple_of_) != 0)
    causes.push_back(invalid_value(path, shown, cat(path, " in body should be a multiple of ", *multiple_of_)));
  const bool fits32 = number >= -2147483648.0 && number <= 2147483647.0;
  if (format_ == "int32" && !fits32)
    causes.push_back(invalid_value(path, shown, cat(path, " in body must be of type int32: \"", shown, "\"")));
}

void Schema::validate_list(const Json& value, const std::string& path, std::vector<Cause>& causes) const {
  const auto& list = value.as_array();
  const auto size = static_cast<std::int64_t>(list.size());
  if (max_items_ && size > *max_items_)
    causes.push_back(
        {"FieldValueTooMany", cat("Too many: ", size, ": must have at most ", *max_items_, " items"), path});
  if (min_items_ && size < *min_items_)
    causes.push_back(
        invalid_value(path, cat(size), cat(path, " in body should have at least ", *min_items_, " items")));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = cat(path, "[", i, "]");
    if (items_ != nullptr) items_->validate_at(list[i], at, causes);
    if (list_type_ == "map" && list[i].is_object()) {
      Json key = Json::object();
      for (const std::string& name : list_keys_)
        if (const Json* member = list[i].at(name)) key[name] = *member;
      if (!seen.insert(key.dump()).second) causes.push_back(duplicate_value(at, key.dump()));
    } else if (list_type_ == "set" || unique_items_) {
      if (!seen.insert(list[i].dump()).second) causes.push_back(duplicate_value(at, list[i].dump()));
    }
  }
}

void Schema::validate_object(const Json& value, const std::string& path, std::vector<Cause>& causes) const {
  const JsonObject& object = value.as_object();
  const auto size = static_cast<std::int64_t>(object.size());
  if (!required_.empty()) {
    const JsonIndex index(object);
    for (const std::string& name : required_)
      if (index.find(name) == nullptr && causes.size() < kCausesMax)
        causes.push_back(required_value(below(path, name)));
  }
  if (max_properties_ && size > *max_properties_)
    causes.push_back(
        {"FieldValueTooMany", cat("Too many: ", size, ": must have at most ", *max_properties_, " items"), path});
  if (min_properties_ && size < *min_properties_)
    causes.push_back(
        invalid_value(path, cat(size), cat(path, " in body should have at least ", *min_properties_, " properties")));
  for (const auto& [key, member] : object) {
    if (path.empty() && key == "metadata") continue;
    if (const auto at = properties_.find(key); at != properties_.end())
      at->second->validate_at(member, below(path, key), causes);
    else if (additional_ != nullptr)
      additional_->validate_at(member, below(path, key), causes);
  }
  if (embedded_resource_) {
    for (const char* name : {"apiVersion", "kind"})
      if (value.text_at(name).empty()) causes.push_back(required_value(below(path, name), "must not be empty"));
  }
}

void Schema::validate_logic(const Json& value, const std::string& path, std::vector<Cause>& causes) const {
  for (const auto& schema : all_of_) schema->validate_at(value, path, causes);
  const auto fitting = [&](const std::vector<std::shared_ptr<const Schema>>& list) {
    return std::count_if(list.begin(), list.end(), [&](const auto& schema) {
      std::vector<Cause> wrong;
      schema->validate_at(value, path, wrong);
      return wrong.empty();
    });
  };
  // Places of "must validate" carry no value: it may be the whole object.
  if (!any_of_.empty() && fitting(any_of_) == 0)
    causes.push_back(invalid_value(path, "\"\"", cat(path, " in body must validate at least one schema (anyOf)")));
  if (!one_of_.empty() && fitting(one_of_) != 1)
    causes.push_back(invalid_value(path, "\"\"", cat(path, " in body must validate one and only one schema (oneOf)")));
  if (not_ != nullptr && fitting({not_}) == 1)
    causes.push_back(invalid_value(path, "\"\"", cat(path, " in body must not validate the schema (not)")));
}

}  // namespace tidemark::kube::memory
