// The mark of a node of which two schedulers sold more than it has to give (policy/arbitrate):
//
//   annotation  tidemark.io/oversold   {"schema":1,"since":"2026-03-01T02:00:00Z"}
//               written with the amounts that go with it; the node's agent goes by its being there
//   taint       tidemark.io/oversold:NoSchedule
//               follows the annotation, where the node's pool wants it
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tidemark::model {

inline constexpr std::string_view kOversoldAnnotation = "tidemark.io/oversold";
inline constexpr std::string_view kOversoldTaint = "tidemark.io/oversold";
inline constexpr std::string_view kOversoldEffect = "NoSchedule";

std::string format_oversold(base::WallTime since);
// nullopt: it does not say. The mark stands by being there, whatever its text is.
std::optional<base::WallTime> oversold_since(std::string_view text);

}  // namespace tidemark::model
