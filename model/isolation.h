// The condition of the Node by which its agent reports what it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

inline constexpr std::string_view kIsolationCondition = "TidemarkIsolation";
// Its reasons. While the node is off, the status is True for any reason.
inline constexpr std::string_view kOffLocally = "OffLocally";  // while the latch of the machine is set
inline constexpr std::string_view kUnable = "Unable";          // cannot write
inline constexpr std::string_view kNoGroups = "NoGroups";      // on a machine of `tidemark up` without cgroups

inline constexpr std::string_view kIsolationBetween = "; ";  // between parts of its message
// Then comes the generation of the node's state mark that the agent obeys: the part after the strategies.
inline constexpr std::string_view kIsolationMark = "mark ";

// Whether it is a reason of an agent of this version, or of a machine of `tidemark up`.
bool is_isolation_reason(std::string_view reason);

// Whether the condition says that no kernel file is in force. The chart checks the same before it is uninstalled
// (deploy/chart/templates/agent_uninstall.yaml).
bool says_nothing_in_force(std::string_view reason, std::string_view message);

// The generation of the state mark that the agent had read when it wrote the message. 0: the node had no mark, or the
// agent is of a version that does not report it.
std::int64_t mark_read_by_agent(std::string_view message);

}  // namespace tidemark::model
