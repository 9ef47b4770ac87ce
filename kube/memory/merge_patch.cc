#include "kube/memory/merge_patch.h"

#include "kube/json_index.h"

namespace tidemark::kube::memory {

void apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  JsonMembers members(target.as_object());
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      members.erase(key);
    } else if (Json* held = members.find(key)) {
      apply_merge_patch(*held, value);
    } else {
      Json made;
      apply_merge_patch(made, value);
      members.add(key, std::move(made));
    }
  }
}

}  // namespace tidemark::kube::memory
