// Koordinator's agent among what runs on a node: where it runs, ours only observes.
//
// Whoever may begin a pod may call its containers and its image what he likes. What he may not choose is the namespace,
// so only a pod of the peer's own counts, and none of offline work.
#pragma once

#include <chrono>
#include <cstdint>
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

// The same beside the pods, begun by systemd or a person: no list of pods tells of it. All processes of the machine are
// looked at for it, at the start and so often.
inline constexpr base::Duration kPeerLook = std::chrono::minutes(5);
static_assert(kPeerLook < kPeerStays, "who is seen with each look is there all the time");

// A process by that name. Names are free for all: what counts is root's, in the machine's own pid namespace, where
// nobody may begin a pod who is not trusted with the machine anyhow (Pod Security Standards: hostPID).
struct NamedProcess {
  std::int64_t uid = 0;
  bool ended = false;
  bool nested = false;  // in a pid namespace below the machine's
};
bool is_peers_agent(const NamedProcess& process);

}  // namespace tidemark::policy
