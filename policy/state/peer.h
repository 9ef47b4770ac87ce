// Finds Koordinator's agent among the tasks of a node: beside it, Tidemark's agent only observes.
//
// Every user who may create a pod may choose its container names and image. The namespace is restricted, so only a pod
// in Koordinator's namespace counts, and no offline work.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "model/task.h"

namespace tidemark::policy::state {

inline constexpr std::string_view kPeersContainer = "koordlet";
inline constexpr std::string_view kPeersNamespace = "koordinator-system";  // where its chart installs it

// Its container is recreated after each crash and upgrade: it counts as present for this long after it was last seen
// running, so that values are not restored and set again each time. A kubelet waits for up to five minutes before it
// restarts a crashing container (CrashLoopBackOff).
inline constexpr base::Duration kPeerStays = std::chrono::minutes(6);

bool runs_peers_agent(const model::Task& task, std::string_view peers_namespace);

// The same outside of pods, started by systemd or a person: no list of pods contains it. All processes of the machine
// are checked for it, at the start and at this interval.
inline constexpr base::Duration kPeerLook = std::chrono::minutes(5);
static_assert(kPeerLook < kPeerStays, "a process found by each check counts as present between two checks");

// A process by that name. Any user can choose a name: only root's processes in the host's own pid namespace count,
// which only trusted pods can enter (Pod Security Standards: hostPID).
struct NamedProcess {
  std::int64_t uid = 0;
  bool ended = false;
  bool nested = false;  // in a pid namespace below the machine's
};
bool is_peers_agent(const NamedProcess& process);

}  // namespace tidemark::policy::state
