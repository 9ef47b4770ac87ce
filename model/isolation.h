// The condition of the Node by which its agent reports what it does.
#pragma once

#include <string_view>

namespace tidemark::model {

inline constexpr std::string_view kIsolationCondition = "TidemarkIsolation";
// Its reasons. While the node is off, the status is True for any reason.
inline constexpr std::string_view kOffLocally = "OffLocally";  // while the latch of the machine is set
inline constexpr std::string_view kUnable = "Unable";          // cannot write
inline constexpr std::string_view kNoGroups = "NoGroups";      // on a machine of `tidemark up` without cgroups

}  // namespace tidemark::model
