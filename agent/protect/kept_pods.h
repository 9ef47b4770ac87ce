// Which BestEffort pods are offline, by the list that an agent saved; for commands that run without an agent.
#pragma once

#include <string>
#include <string_view>

#include "agent/enforcer/without_agent.h"
#include "base/result.h"

namespace tidemark::agent {

// `besteffort`: the group of these pods. None: no agent saved a list.
Result<KnownPods> read_kept_pods(const std::string& run_dir, std::string_view besteffort);

}  // namespace tidemark::agent
