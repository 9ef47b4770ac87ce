#include "kube/go_text.h"

#include <map>

#include "base/text.h"

namespace tidemark::kube {

using base::cat;

std::string go_text(const Json& value) {
  std::string text;
  if (value.is_object()) {
    std::map<std::string_view, const Json*> members;
    for (const auto& [key, member] : value.as_object()) members.emplace(key, &member);
    for (const auto& [key, member] : members) text += cat(text.empty() ? "" : " ", key, ":", go_text(*member));
    return cat("map[", text, "]");
  }
  if (value.is_array()) {
    for (const Json& element : value.as_array()) text += cat(text.empty() ? "" : " ", go_text(element));
    return cat("[", text, "]");
  }
  if (value.is_null()) return "<nil>";
  return value.is_string() ? value.as_string() : value.dump();
}

}  // namespace tidemark::kube
