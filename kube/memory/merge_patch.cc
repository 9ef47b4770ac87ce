#include "kube/memory/merge_patch.h"

namespace tidemark::kube::memory {

void apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      target.as_object().erase(key);
    } else {
      apply_merge_patch(target.as_object()[key], value);
    }
  }
}

}  // namespace tidemark::kube::memory
