// How the agent of a node says on it what it does: a condition of the Node, for whoever looks at it from afar.
#pragma once

#include <string_view>

namespace tidemark::model {

inline constexpr std::string_view kIsolationCondition = "TidemarkIsolation";
// Its reasons. While the node is off its status is True, whatever the reason.
inline constexpr std::string_view kOffLocally = "OffLocally";  // while the switch on the machine is drawn
inline constexpr std::string_view kUnable = "Unable";          // nothing can be written
inline constexpr std::string_view kNoGroups = "NoGroups";      // on a machine of `tidemark up` without cgroups

}  // namespace tidemark::model
