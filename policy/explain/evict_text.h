// Renders an eviction: for the task's owner, in events, in logs and in the agent's status. Pure.
#pragma once

#include <span>
#include <string>

#include "policy/evict/evict.h"
#include "policy/evict/kubelet_lines.h"

namespace tidemark::policy::explain {

// The measurement: "83 % of 70 %, down to 68 %".
std::string evict_seen(const evict::Gap& gap);

// The reason of an eviction, on one line: "TM-EVICT-001: the node's memory use is above the eviction threshold (83 % of
// 70 %, down to 68 %)".
std::string evict_why(const evict::Gap& gap);

// Events of Koordinator's agent begin like this, and so do ours: "trigger by koordlet feature BEMemoryEvict, …".
std::string evict_event(const evict::Gap& gap);

// The state of eviction: the enabled feature with the largest shortage, and the number of leaving tasks. "TM-EVICT-009:
// BEMemoryEvict 83 % of 70 %; 2 leaving"; "" if no feature is on and no task leaves. `spare` is overwritten: a caller
// that needs it each second passes the last text, so that nothing is allocated.
std::string evict_says(std::span<const evict::EvictVerdict> verdicts, std::size_t leaving, std::string spare = {});

// A moved threshold: "memory 95 % -> 85 %, since the kubelet evicts from 90 % on"; "free disk 10 % -> 20 %, since the
// kubelet evicts below 15 %".
std::string moved_line_text(const evict::LineBeforeKubelet& moved);

}  // namespace tidemark::policy::explain
