#include "kube/strategic_merge_patch.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "kube/go_text.h"

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
      if (!is_directive_key(key) && !member.is_null()) out[key] = without_directives(member);
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

std::ptrdiff_t find_by_key(const Json::Array& list, std::string_view key, const Json& value) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const Json& element) {
    const Json* found = element.member(key);
    return found != nullptr && *found == value;
  });
  return at == list.end() ? -1 : at - list.begin();
}

// The identity of a list element: its merge key's value, or itself.
const Json& identity(const Json& element, std::string_view key) {
  static const Json none;
  if (key.empty()) return element;
  const Json* found = element.member(key);
  return found == nullptr ? none : *found;
}

std::ptrdiff_t position(const Json::Array& order, const Json& id, std::string_view key) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (identity(order[i], key) == id) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

// The elements that `order` names stand in its order; the others keep their place relative to where they were. Where
// that says nothing (an element is new), the named one comes first.
Json::Array reorder(Json::Array merged, const Json::Array& order, const Json::Array& before, std::string_view key) {
  struct Ranked {
    std::ptrdiff_t rank;
    Json element;
  };
  std::vector<Ranked> named;
  Json::Array others;
  for (Json& element : merged) {
    const std::ptrdiff_t rank = position(order, identity(element, key), key);
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
    const std::ptrdiff_t left = position(before, identity(others[i], key), key);
    const std::ptrdiff_t right = position(before, identity(named[j].element, key), key);
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
  for (const Json& element : patch) {
    const Json* id = element.member(key);
    const std::string_view directive = element.is_object() ? element.text_at(kDirective) : std::string_view();
    if (id == nullptr)
      return broken_patch(cat("map: ", go_text(element), " does not contain declared merge key: ", key));
    if (!directive.empty() && directive != "delete" && directive != "merge")
      return unknown_directive(directive, element);
    const std::ptrdiff_t at = find_by_key(target, key, *id);
    if (directive == "delete") {
      std::erase_if(target, [&](const Json& held) { return held.member(key) != nullptr && *held.member(key) == *id; });
    } else if (at >= 0) {
      TM_TRY_VOID(merge_object(target[static_cast<std::size_t>(at)], element, type));
    } else {
      target.push_back(without_directives(element));
    }
  }
  return {};
}

Result<void> merge_list(Json& target, const Json& patch, const BuiltinField& field) {
  auto& held = target.as_array();
  const auto& wanted = patch.as_array();
  if (!field.merge_key.empty()) return merge_object_list(held, wanted, field.merge_key, field.type.type);
  for (const Json& element : wanted) {
    if (std::find(held.begin(), held.end(), element) == held.end()) held.push_back(element);
  }
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
  const auto kept = [&](std::string_view key) {
    return std::any_of(keys.as_array().begin(), keys.as_array().end(),
                       [&](const Json& name) { return name.get_string() == key; });
  };
  for (const auto& [key, value] : patch.as_object()) {
    if (!is_directive_key(key) && !value.is_null() && !kept(key))
      return bad_patch("invalid patch format of retainKeys");
  }
  std::vector<std::string> gone;
  for (const auto& [key, value] : target)
    if (!kept(key)) gone.push_back(key);
  for (const std::string& key : gone) target.erase(key);
  return {};
}

Result<void> delete_from_list(JsonObject& target, std::string_view name, const Json& values) {
  if (!values.is_array()) return bad_patch(cat(kDeletePrefix, name, " must be a list"));
  Json* list = target.find(name);
  if (list == nullptr || !list->is_array()) return {};
  const auto& unwanted = values.as_array();
  std::erase_if(list->as_array(), [&](const Json& element) {
    return std::find(unwanted.begin(), unwanted.end(), element) != unwanted.end();
  });
  return {};
}

Result<void> merge_field(JsonObject& target, const std::string& key, const Json& value, const BuiltinType* type) {
  if (value.is_null()) {
    target.erase(key);
    return {};
  }
  const BuiltinField* field = type == nullptr ? nullptr : type->find(key);
  Json* held = target.find(key);
  if (held == nullptr || held->is_null()) {
    target.set(key, without_directives(value));
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
  for (const auto& [key, value] : patch.as_object()) {
    if (key.starts_with(kDeletePrefix)) {
      TM_TRY_VOID(delete_from_list(object, std::string_view(key).substr(kDeletePrefix.size()), value));
    } else if (!is_directive_key(key)) {
      TM_TRY_VOID(merge_field(object, key, value, type));
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
