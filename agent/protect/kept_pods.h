// Who of the pods without requests is offline, by the list that an agent kept: for whoever comes when it is dead.
#pragma once

#include <string>
#include <string_view>

#include "agent/enforcer/without_agent.h"
#include "base/result.h"

namespace tidemark::agent {

// `besteffort`: the group that they are in. None: no agent kept a list.
Result<KnownPods> read_kept_pods(const std::string& run_dir, std::string_view besteffort);

}  // namespace tidemark::agent
