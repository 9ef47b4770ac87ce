#include "kube/strategic_merge_patch.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "kube/go_text.h"
#include "kube/json_index.h"

namespace tidemark::kube {

using base::cat;
using base::JsonObject;

namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

bool is_directive_key(std::string_view key) {
  return key == kDirective || key == kRetainKeys || key.starts_with(kDeletePrefix) || key.starts_with(kOrderPrefix);
}

// What is taken over whole from a patch must not bring its directives along.
Json without_directives(const Json& value) {
  if (value.is_object()) {
    Json out = Json::object();
    for (const auto& [key, member] : value.as_object()) {
      if (!is_directive_key(key) && !member.is_null())
        out.as_object().append_unchecked(key, without_directives(member));
    }
    return out;
  }
  if (value.is_array()) {
    Json::Array out;
    for (const Json& element : value.as_array()) {
      if (element.is_object() && element.text_at(kDirective) == "delete") continue;
      if (element.is_object() && element.as_object().size() == 1 && element.at(kDirective) != nullptr) continue;
      out.push_back(without_directives(element));
    }
    return out;
  }
  return value;
}

Result<void> merge_object(Json& target, const Json& patch, const BuiltinType* type);

// The identity of a list element: its merge key's value, or itself.
const Json& identity(const Json& element, std::string_view key) {
  static const Json none;
  if (key.empty()) return element;
  const Json* found = element.member(key);
  return found == nullptr ? none : *found;
}

// Where in a list the first element of an identity stands.
class Places {
 public:
  Places(const Json::Array& list, std::string_view key) {
    places_.reserve(list.size());
    std::ptrdiff_t place = 0;
    for (const Json& element : list) places_.emplace(json_identity(identity(element, key)), place++);
  }
  std::ptrdiff_t of(const Json& id) const {
    const auto at = places_.find(json_identity(id));
    return at == places_.end() ? -1 : at->second;
  }

 private:
  std::unordered_map<std::string, std::ptrdiff_t> places_;
};

// The elements that `order` names stand in its order; the others keep their place relative to where they were. Where
// that says nothing (an element is new), the named one comes first.
Json::Array reorder(Json::Array merged, const Json::Array& order, const Json::Array& before, std::string_view key) {
  struct Ranked {
    std::ptrdiff_t rank;
    Json element;
  };
  const Places wanted(order, key);
  const Places was(before, key);
  std::vector<Ranked> named;
  Json::Array others;
  for (Json& element : merged) {
    const std::ptrdiff_t rank = wanted.of(identity(element, key));
    if (rank >= 0) {
      named.push_back({rank, std::move(element)});
    } else {
      others.push_back(std::move(element));
    }
  }
  // Identities are unique in a merged list, so ranks are too.
  std::sort(named.begin(), named.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  Json::Array out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < others.size() && j < named.size()) {
    const std::ptrdiff_t left = was.of(identity(others[i], key));
    const std::ptrdiff_t right = was.of(identity(named[j].element, key));
    const bool left_first = right >= 0 && left >= 0 && left < right;
    out.push_back(std::move(left_first ? others[i++] : named[j++].element));
  }
  while (i < others.size()) out.push_back(std::move(others[i++]));
  while (j < named.size()) out.push_back(std::move(named[j++].element));
  return out;
}

// Refusals that the real server has no code for are "internal" there, and so here.
std::unexpected<Error> broken_patch(std::string message) {
  return fail(Error{ErrorKind::kInternal, std::move(message), 500, 0});
}
std::unexpected<Error> bad_patch(std::string message) {
  return fail(Error{ErrorKind::kInvalid, std::move(message), 400, 0});
}

std::unexpected<Error> unknown_directive(std::string_view word, const Json& patch) {
  return broken_patch(cat("unknown patch type: ", word, " in map: ", go_text(patch)));
}

Result<void> merge_object_list(Json::Array& target, const Json::Array& patch, std::string_view key,
                               const BuiltinType* type) {
  bool replace = false;
  for (const Json& element : patch) {
    if (element.is_object() && element.text_at(kDirective) == "replace") replace = true;
  }
  if (replace) {
    Json::Array out;
    for (const Json& element : patch) {
      if (element.is_object() && element.at(kDirective) != nullptr && element.as_object().size() == 1) continue;
      out.push_back(without_directives(element));
    }
    target = std::move(out);
    return {};
  }
  std::unordered_map<std::string, std::size_t> places;  // of the first element with that key
  for (std::size_t i = 0; i < target.size(); ++i)
    if (const Json* id = target[i].member(key)) places.emplace(json_identity(*id), i);
  std::unordered_map<std::string, std::size_t> deleted;  // all elements with that key before that place
  for (const Json& element : patch) {
    const Json* id = element.member(key);
    const std::string_view directive = element.is_object() ? element.text_at(kDirective) : std::string_view();
    if (id == nullptr)
      return broken_patch(cat("map: ", go_text(element), " does not contain declared merge key: ", key));
    if (!directive.empty() && directive != "delete" && directive != "merge")
      return unknown_directive(directive, element);
    std::string name = json_identity(*id);
    const auto at = places.find(name);
    if (directive == "delete") {
      if (at != places.end()) places.erase(at);
      deleted[std::move(name)] = target.size();
    } else if (at != places.end()) {
      TM_TRY_VOID(merge_object(target[at->second], element, type));
    } else {
      places.emplace(std::move(name), target.size());
      target.push_back(without_directives(element));
    }
  }
  if (deleted.empty()) return {};
  Json::Array left;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Json* id = target[i].member(key);
    const auto at = id == nullptr ? deleted.end() : deleted.find(json_identity(*id));
    if (at == deleted.end() || i >= at->second) left.push_back(std::move(target[i]));
  }
  target = std::move(left);
  return {};
}

std::unordered_set<std::string> identities(const Json::Array& list) {
  std::unordered_set<std::string> out;
  for (const Json& element : list) out.insert(json_identity(element));
  return out;
}

Result<void> merge_list(Json& target, const Json& patch, const BuiltinField& field) {
  auto& held = target.as_array();
  const auto& wanted = patch.as_array();
  if (!field.merge_key.empty()) return merge_object_list(held, wanted, field.merge_key, field.type.type);
  std::unordered_set<std::string> there = identities(held);
  for (const Json& element : wanted)
    if (there.insert(json_identity(element)).second) held.push_back(element);
  return {};
}

// Whether the elements of a patch come in the order that its $setElementOrder wants; deleted ones need not be in it.
bool follows(const Json::Array& patch, const Json::Array& order, std::string_view key) {
  std::size_t at = 0;
  for (const Json& element : patch) {
    if (element.is_object() && element.member(kDirective) != nullptr) continue;
    while (at < order.size() && identity(order[at], key) != identity(element, key)) ++at;
    if (at++ == order.size()) return false;
  }
  return true;
}

Result<void> retain_keys(JsonObject& target, const Json& patch, const Json& keys) {
  if (!keys.is_array()) return bad_patch("$retainKeys must be a list of field names");
  std::unordered_set<std::string_view> kept;
  for (const Json& name : keys.as_array())
    if (name.is_string()) kept.insert(name.as_string());
  for (const auto& [key, value] : patch.as_object()) {
    if (!is_directive_key(key) && !value.is_null() && !kept.contains(key))
      return bad_patch("invalid patch format of retainKeys");
  }
  JsonObject left;
  for (auto& [key, value] : target)
    if (kept.contains(key)) left.append_unchecked(std::move(key), std::move(value));
  target = std::move(left);
  return {};
}

Result<void> delete_from_list(JsonMembers& target, std::string_view name, const Json& values) {
  if (!values.is_array()) return bad_patch(cat(kDeletePrefix, name, " must be a list"));
  Json* list = target.find(name);
  if (list == nullptr || !list->is_array()) return {};
  const auto unwanted = identities(values.as_array());
  std::erase_if(list->as_array(), [&](const Json& element) { return unwanted.contains(json_identity(element)); });
  return {};
}

Result<void> merge_field(JsonMembers& target, const std::string& key, const Json& value, const BuiltinType* type) {
  if (value.is_null()) {
    target.erase(key);
    return {};
  }
  const BuiltinField* field = type == nullptr ? nullptr : type->find(key);
  Json* held = target.find(key);
  if (held == nullptr) {
    target.add(key, without_directives(value));
    return {};
  }
  if (held->is_object() && value.is_object()) {
    // A map of plain values has no type of its own; what is inside merges by key.
    const bool typed = field != nullptr && field->type.shape.empty() && field->type.code == '@';
    return merge_object(*held, value, typed ? field->type.type : nullptr);
  }
  if (held->is_array() && value.is_array() && field != nullptr && field->merge) return merge_list(*held, value, *field);
  *held = without_directives(value);
  return {};
}

Result<void> merge_object(Json& target, const Json& patch, const BuiltinType* type) {
  const Json* directive = patch.member(kDirective);
  if (directive != nullptr) {
    const std::string_view word = directive->get_string().value_or("");
    if (word == "replace") {
      target = without_directives(patch);
      return {};
    }
    if (word == "delete") {
      target = Json::object();
      return {};
    }
    if (word != "merge") return unknown_directive(word, patch);
  }
  if (!target.is_object()) target = Json::object();
  auto& object = target.as_object();
  if (const Json* keys = patch.member(kRetainKeys)) TM_TRY_VOID(retain_keys(object, patch, *keys));

  struct Order {
    Json::Array wanted;  // by $setElementOrder, or that of the patch's own list
    Json::Array before;
  };
  std::map<std::string, Order> orders;  // of the lists that merge
  for (const auto& [key, value] : patch.as_object()) {
    const bool directs = key.starts_with(kOrderPrefix);
    if (directs && !value.is_array()) return bad_patch(cat(key, " must be a list"));
    if (!value.is_array() || key.starts_with(kDeletePrefix) || key == kRetainKeys) continue;
    const std::string name = directs ? key.substr(kOrderPrefix.size()) : key;
    const BuiltinField* field = type == nullptr ? nullptr : type->find(name);
    if (field == nullptr || !field->merge) continue;
    const Json* own = patch.member(name);
    if (directs && own != nullptr && own->is_array() && !follows(own->as_array(), value.as_array(), field->merge_key))
      return broken_patch(cat("The order in patch list:\n", go_text(*own), "\n doesn't match $setElementOrder list:\n",
                              go_text(value), "\n"));
    if (!directs && patch.member(cat(kOrderPrefix, name)) != nullptr) continue;
    const Json* list = object.find(name);
    orders[name] = {value.as_array(), list != nullptr && list->is_array() ? list->as_array() : Json::Array()};
  }
  {
    JsonMembers members(object);
    for (const auto& [key, value] : patch.as_object()) {
      if (key.starts_with(kDeletePrefix)) {
        TM_TRY_VOID(delete_from_list(members, std::string_view(key).substr(kDeletePrefix.size()), value));
      } else if (!is_directive_key(key)) {
        TM_TRY_VOID(merge_field(members, key, value, type));
      }
    }
  }
  for (auto& [name, order] : orders) {
    Json* list = object.find(name);
    if (list == nullptr || !list->is_array() || order.before.empty()) continue;
    *list = reorder(std::move(list->as_array()), order.wanted, order.before, type->find(name)->merge_key);
  }
  return {};
}

}  // namespace

Result<void> apply_strategic_merge_patch(Json& target, const Json& patch, const BuiltinType* type) {
  if (!patch.is_object()) return bad_patch("a strategic merge patch must be an object");
  return merge_object(target, patch, type);
}

}  // namespace tidemark::kube
