#include "manager/state/node_changes.h"

#include <algorithm>

#include "manager/state/oversold_taint.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

bool same_text(const kube::Text* a, const kube::Text* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

}  // namespace

bool mark_changed(const kube::Node* before, const kube::Node& after) {
  const auto& b = after.meta;
  // A new node is not urgent for being new: many of them together would stand before every repair.
  if (before == nullptr) {
    return b.labels.find(model::kStateLabel) != nullptr || b.annotations.find(model::kStateDetailAnnotation) != nullptr;
  }
  const auto& a = before->meta;
  return !same_text(a.labels.find(model::kStateLabel), b.labels.find(model::kStateLabel)) ||
         !same_text(a.annotations.find(model::kStateDetailAnnotation),
                    b.annotations.find(model::kStateDetailAnnotation));
}

bool state_may_change(const kube::Node* before, const kube::Node* after) {
  if (before == nullptr || after == nullptr || mark_changed(before, *after)) return true;
  const auto& a = before->meta;
  const auto& b = after->meta;
  if (!same_text(a.annotations.find(model::kThirdPartyAllocationsAnnotation),
                 b.annotations.find(model::kThirdPartyAllocationsAnnotation))) {
    return true;
  }
  if (has_oversold_mark(*before) != has_oversold_mark(*after) ||
      has_oversold_taint(*before) != has_oversold_taint(*after)) {
    return true;
  }
  const auto same_label = [](const kube::TextMap::Entry& x, const kube::TextMap::Entry& y) {
    return x.key == y.key && x.value == y.value;
  };
  if (!std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(), same_label)) return true;
  const auto* said = before->condition(model::kStateCondition);
  const auto* says = after->condition(model::kStateCondition);
  if (said == nullptr || says == nullptr) return said != says;
  return said->status != says->status || said->reason != says->reason || said->message != says->message;
}

}  // namespace tidemark::manager
