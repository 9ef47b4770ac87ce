// How the agent of a node says on it what it does: a condition of the Node, for whoever looks at it from afar.
#pragma once

#include <string_view>

namespace tidemark::model {

inline constexpr std::string_view kIsolationCondition = "TidemarkIsolation";
inline constexpr std::string_view kOffLocally = "OffLocally";  // its reason while the switch on the machine is drawn

}  // namespace tidemark::model
