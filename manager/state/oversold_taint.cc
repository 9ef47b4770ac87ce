#include "manager/state/oversold_taint.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "model/oversold.h"

namespace tidemark::manager {
namespace {

// Another effect under our key belongs to another owner.
bool is_ours(const Json& taint) {
  return taint.text_at("key") == model::kOversoldTaint && taint.text_at("effect") == model::kOversoldEffect;
}

}  // namespace

bool has_oversold_taint(const kube::Node& node) {
  return std::ranges::any_of(node.taints, [](const kube::Taint& each) {
    return each.key == model::kOversoldTaint && each.effect == kube::TaintEffect::kNoSchedule;
  });
}

bool has_oversold_mark(const kube::Node& node) {
  return node.meta.annotations.has(model::kOversoldAnnotation);
}

Result<std::optional<std::string>> taint_patch(std::string_view node_bytes, bool wanted) {
  TM_TRY(const Json node, Json::parse(node_bytes));
  const Json* taints = node.at("spec", "taints");
  Json after = Json::array();
  bool had = false;
  if (taints != nullptr && taints->is_array()) {
    for (const Json& each : taints->as_array()) {
      if (is_ours(each)) {
        had = true;
      } else {
        after.as_array().push_back(each);
      }
    }
  }
  if (had == wanted) return std::nullopt;
  if (wanted) {
    after.as_array().push_back(
        Json::object({{"key", Json(model::kOversoldTaint)}, {"effect", Json(model::kOversoldEffect)}}));
  }
  Json patch = Json::object(
      {{"metadata", Json::object({{"resourceVersion", Json(node.text_at("metadata", "resourceVersion"))}})},
       {"spec", Json::object()}});
  patch["spec"]["taints"] = after.as_array().empty() ? Json(nullptr) : std::move(after);
  return patch.dump();
}

}  // namespace tidemark::manager
