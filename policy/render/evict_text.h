// What is told of an eviction: to the task's owner, in events, in logs and in the agent's status. Pure.
#pragma once

#include <span>
#include <string>

#include "policy/evict/evict.h"
#include "policy/evict/kubelet_lines.h"

namespace tidemark::policy {

// What was seen: "83 % of 70 %, down to 68 %".
std::string evict_seen(const Gap& gap);

// Why somebody goes, on one line: "TM-EVICT-001: the node's memory use is above the eviction threshold (83 % of 70 %,
// down to 68 %)".
std::string evict_why(const Gap& gap);

// The event of the peer's agent begins like this, and so does ours: "trigger by koordlet feature BEMemoryEvict, …".
std::string evict_event(const Gap& gap);

// How eviction stands: of the features that are on the one that asks for most, and how many are on their way out.
// "TM-EVICT-009: BEMemoryEvict 83 % of 70 %; 2 on their way out"; "" where no feature is on and nobody goes. `spare` is
// written over: who tells it each second hands in the last one, and nothing is allocated.
std::string evict_says(std::span<const EvictVerdict> verdicts, std::size_t leaving, std::string spare = {});

// A line that holds otherwise than it was said: "memory 95 % -> 85 %, since the kubelet evicts from 90 % on";
// "free disk 10 % -> 20 %, since the kubelet evicts below 15 %".
std::string moved_line_text(const LineBeforeKubelet& moved);

}  // namespace tidemark::policy
