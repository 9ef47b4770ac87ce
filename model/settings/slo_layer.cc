#include "model/settings/slo_layer.h"

#include <algorithm>

namespace tidemark::model {

using base::JsonObject;

const JsonObject* SloLayer::of(SloPart part) const {
  const auto& found = parts[static_cast<std::size_t>(part)];
  return found ? &*found : nullptr;
}

bool SloLayer::empty() const {
  return std::ranges::none_of(parts, [](const auto& part) { return part.has_value(); });
}

bool SloLayer::operator==(const SloLayer& other) const {
  return std::ranges::equal(parts, other.parts, [](const auto& a, const auto& b) {
    return a.has_value() == b.has_value() && (!a || Json(*a) == Json(*b));
  });
}

}  // namespace tidemark::model
