// Koordinator's agent among what runs on a node: where it runs, ours only observes.
//
// Whoever may begin a pod may call its containers and its image what he likes. What he may not choose is the namespace,
// so only a pod of the peer's own counts, and none of offline work.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "model/task.h"

namespace tidemark::policy {

inline constexpr std::string_view kPeersContainer = "koordlet";
inline constexpr std::string_view kPeersNamespace = "koordinator-system";  // where its chart installs it

// Its container is made anew after each crash and each upgrade: it counts as there for so long after it was seen
// running last, so that nothing is put back and set again with each of them. A kubelet waits for up to five minutes
// before it begins one anew that ends again and again (CrashLoopBackOff).
inline constexpr base::Duration kPeerStays = std::chrono::minutes(6);

bool runs_peers_agent(const model::Task& task, std::string_view peers_namespace);

}  // namespace tidemark::policy
