#include "kube/json_index.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tidemark::kube {

using base::JsonObject;

namespace {

constexpr std::size_t kScannedMax = 32;  // members up to which going through all is the faster way

void append_identity(std::string& out, const Json& value) {
  if (value.is_object()) {
    std::vector<const JsonObject::Member*> members;
    for (const JsonObject::Member& member : value.as_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    out += '{';
    for (const JsonObject::Member* member : members) {
      base::append_json_string(out, member->first);
      out += ':';
      append_identity(out, member->second);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const Json& element : value.as_array()) {
      append_identity(out, element);
      out += ',';
    }
    out += ']';
  } else if (value.is_double() && value.as_double() == 0) {
    out += '0';  // not "-0"
  } else {
    value.append_to(out);
  }
}

}  // namespace

JsonIndex::JsonIndex(const JsonObject& object) : object_(object) {
  if (object.size() <= kScannedMax) return;
  places_.reserve(object.size());
  for (const auto& [name, value] : object) places_.emplace(name, &value);
}

const Json* JsonIndex::find(std::string_view name) const {
  if (places_.empty()) return object_.find(name);
  const auto at = places_.find(name);
  return at == places_.end() ? nullptr : at->second;
}

void JsonMembers::index() {
  indexed_ = true;
  places_.reserve(object_.size());
  gone_.assign(object_.size(), false);
  std::size_t place = 0;
  for (const auto& [name, value] : object_) places_.emplace(name, place++);
}

Json* JsonMembers::find(std::string_view name) {
  if (!indexed_ && object_.size() <= kScannedMax) return object_.find(name);
  if (!indexed_) index();
  const auto at = places_.find(std::string(name));
  return at == places_.end() ? nullptr : &(object_.begin() + static_cast<std::ptrdiff_t>(at->second))->second;
}

void JsonMembers::erase(std::string_view name) {
  if (!indexed_ && object_.size() <= kScannedMax) {
    object_.erase(name);
    return;
  }
  if (!indexed_) index();
  const auto at = places_.find(std::string(name));
  if (at == places_.end()) return;
  gone_[at->second] = true;
  places_.erase(at);
}

void JsonMembers::add(std::string_view name, Json value) {
  object_.append_unchecked(std::string(name), std::move(value));
  if (!indexed_) return;
  places_.emplace(std::string(name), object_.size() - 1);
  gone_.push_back(false);
}

JsonMembers::~JsonMembers() {
  if (std::find(gone_.begin(), gone_.end(), true) == gone_.end()) return;
  JsonObject left;
  std::size_t place = 0;
  for (auto& [name, value] : object_)
    if (!gone_[place++]) left.append_unchecked(std::move(name), std::move(value));
  object_ = std::move(left);
}

std::string json_identity(const Json& value) {
  std::string out;
  append_identity(out, value);
  return out;
}

}  // namespace tidemark::kube
