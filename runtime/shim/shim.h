// The process between a container and the runtime: it starts the container's process, keeps its output, and records its
// exit. It is small and needs no other process: the runtime may die and return meanwhile.
#pragma once

#include <csignal>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tidemark::runtime {

// `tidemark container-shim FOLDER DESCRIPTOR`
inline constexpr std::string_view kShimCommand = "container-shim";

// The commands of the runtime to a shim, as signals that are rarely sent by mistake; the shim ignores all others.
//
//   asked   the container is asked to end. Its process may end at once (a shell does) and leave others that are putting
//           things away: they are waited for, and it is over when the last one has ended. Without groups the shim asks
//           them too: those in the process group of the container's process
//   over    the time for that is over: what is left is killed
inline int end_asked_signal() {
  return SIGRTMIN;
}
inline int end_over_signal() {
  return SIGRTMIN + 1;
}

// Runs in the folder (shim_files.h) until the container has ended. Answers the exit code of this process: 0 where
// ended.json is written. `told` (-1: none) is closed as soon as running.json or ended.json is there.
int run_shim(const std::string& folder, const base::Clock& clock, int told = -1);

}  // namespace tidemark::runtime
