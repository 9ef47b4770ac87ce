#include "base/json.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/json_scan.h"

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

// Past this many members a look for duplicates by pairs costs more than sorting; hostile input must not make it
// quadratic.
constexpr std::size_t kPairwiseMembersMax = 12;

}  // namespace

// Children of what is being read wait on a stack, so that arrays and objects are allocated once, in their final size.
class JsonTreeReader {
 public:
  explicit JsonTreeReader(JsonReader& reader) : reader_(reader) {}

  bool value(Json& out) {
    switch (reader_.peek()) {
      case JsonReader::Type::kNull:
        out = nullptr;
        return reader_.literal("null");
      case JsonReader::Type::kBool: {
        bool flag = false;
        const bool read = reader_.boolean(flag);
        out = flag;
        return read;
      }
      case JsonReader::Type::kString: {
        std::string_view text;
        const bool read = reader_.string_view(text);
        out = text;
        return read;
      }
      case JsonReader::Type::kNumber:
        return reader_.any_number(out);
      case JsonReader::Type::kArray:
        return array(out);
      case JsonReader::Type::kObject:
        return object(out);
      case JsonReader::Type::kError:
        break;
    }
    return reader_.refuse(reader_.at_, kJsonWantedValue);
  }

 private:
  bool array(Json& out) {
    const std::size_t first = elements_.size();
    const bool read = reader_.array([&] {
      Json element;
      value(element);
      elements_.push_back(std::move(element));
    });
    const auto begin = elements_.begin() + static_cast<std::ptrdiff_t>(first);
    out = Json::Array(std::move_iterator(begin), std::move_iterator(elements_.end()));
    elements_.erase(begin, elements_.end());
    return read;
  }

  bool object(Json& out) {
    const std::size_t first = members_.size();
    const bool read = reader_.object([&](std::string_view key) {
      // The name first: reading the value may overwrite what `key` points to.
      JsonObject::Member member(key, nullptr);
      value(member.second);
      members_.push_back(std::move(member));
    });
    keep_last_of_duplicates(first);
    JsonObject object;
    object.reserve(members_.size() - first);
    for (std::size_t i = first; i < members_.size(); ++i) {
      object.append_unchecked(std::move(members_[i].first), std::move(members_[i].second));
    }
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(first), members_.end());
    out = std::move(object);
    return read;
  }

  bool any_duplicate(std::span<const JsonObject::Member> members) const {
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i].first == members[j].first) return true;
      }
    }
    return false;
  }

  // Of members of one name the last value stays, in the place of the first.
  void keep_last_of_duplicates(std::size_t first) {
    const std::span<JsonObject::Member> members = std::span(members_).subspan(first);
    if (members.size() <= kPairwiseMembersMax && !any_duplicate(members)) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = members[a].first.compare(members[b].first);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> dropped(members.size());
    bool any_dropped = false;
    for (std::size_t i = 0; i < order.size();) {
      std::size_t next = i + 1;
      for (; next < order.size() && members[order[next]].first == members[order[i]].first; ++next) {
        dropped[order[next]] = any_dropped = true;
      }
      if (next > i + 1) members[order[i]].second = std::move(members[order[next - 1]].second);
      i = next;
    }
    if (!any_dropped) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (dropped[i]) continue;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(first + kept), members_.end());
  }

  JsonReader& reader_;
  std::vector<Json> elements_;
  std::vector<JsonObject::Member> members_;
};

bool JsonReader::value(Json& out) {
  Json value;
  if (!JsonTreeReader(*this).value(value)) return false;
  out = std::move(value);
  return true;
}

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

void JsonObject::reserve(std::size_t members) {
  members_.reserve(members);
}

void JsonObject::append_unchecked(std::string key, Json value) {
  members_.emplace_back(std::move(key), std::move(value));
}

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(std::int64_t{value}) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(Array value) : value_(std::move(value)) {}
Json::Json(JsonObject value) : value_(std::move(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

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
