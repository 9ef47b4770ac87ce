#include "base/json.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark::base {
namespace {

// Past this many members, objects in different orders are compared by sorting their names, not by look-up.
constexpr std::size_t kLookUpMembersMax = 16;

std::vector<const JsonObject::Member*> by_name(const JsonObject& object) {
  std::vector<const JsonObject::Member*> members;
  members.reserve(object.size());
  for (const JsonObject::Member& member : object) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  return members;
}

bool same_members(const JsonObject& a, const JsonObject& b) {
  if (a.size() != b.size()) return false;
  const bool same_order =
      std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.first == y.first; });
  if (same_order) {
    return std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.second == y.second; });
  }
  if (a.size() <= kLookUpMembersMax) {
    return std::all_of(a.begin(), a.end(), [&b](const auto& member) {
      const Json* other = b.find(member.first);
      return other != nullptr && member.second == *other;
    });
  }
  const auto sorted_a = by_name(a);
  const auto sorted_b = by_name(b);
  return std::equal(sorted_a.begin(), sorted_a.end(), sorted_b.begin(),
                    [](const auto* x, const auto* y) { return x->first == y->first && x->second == y->second; });
}

}  // namespace

const Json* JsonObject::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* JsonObject::find(std::string_view key) {
  return const_cast<Json*>(std::as_const(*this).find(key));
}

Json& JsonObject::operator[](std::string_view key) {
  if (Json* found = find(key)) return *found;
  return members_.emplace_back(key, nullptr).second;
}

void JsonObject::set(std::string_view key, Json value) {
  (*this)[key] = std::move(value);
}

bool JsonObject::erase(std::string_view key) {
  return std::erase_if(members_, [key](const Member& member) { return member.first == key; }) > 0;
}

void JsonObject::append_unchecked(std::string key, Json value) {
  members_.emplace_back(std::move(key), std::move(value));
}

Json Json::object(std::initializer_list<std::pair<std::string_view, Json>> members) {
  JsonObject object;
  for (const auto& [name, value] : members) object.set(name, value);
  return object;
}

Json Json::array(std::initializer_list<Json> elements) {
  return Array(elements);
}

Result<Json> Json::parse(std::string_view text) {
  JsonReader reader(text);
  Json value;
  reader.value(value);
  TM_TRY_VOID(reader.finish());
  return value;
}

std::optional<std::string_view> Json::get_string() const {
  if (!is_string()) return std::nullopt;
  return as_string();
}

std::optional<std::int64_t> Json::get_int() const {
  if (!is_int()) return std::nullopt;
  return as_int();
}

std::optional<bool> Json::get_bool() const {
  if (!is_bool()) return std::nullopt;
  return as_bool();
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = JsonObject();
  TM_CHECK(is_object(), "members belong to objects");
  return as_object()[key];
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
  // As doubles: a double above 2^53 is written with its shortest digits and may come back as an integer that is not
  // exactly it but reads back to it.
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  if (a.is_object() && b.is_object()) return same_members(a.as_object(), b.as_object());
  return a.value_.index() == b.value_.index() && [&] {
    if (a.is_string()) return a.as_string() == b.as_string();
    if (a.is_array()) return a.as_array() == b.as_array();
    return a.is_null() || a.as_bool() == b.as_bool();
  }();
}

}  // namespace tidemark::base
