// The mark of a node on which two schedulers sold more than it has (policy/sell):
//
//    annotation  tidemark.io/oversold   {"schema":1,"since":"2026-03-01T02:00:00Z"}
//                written with its amounts; the node's agent checks only that it exists
//    taint       tidemark.io/oversold:NoSchedule
//                follows the annotation, if the node's pool wants it
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
// nullopt: it has no time. The mark counts by its existence, with any text.
std::optional<base::WallTime> oversold_since(std::string_view text);

}  // namespace tidemark::model
