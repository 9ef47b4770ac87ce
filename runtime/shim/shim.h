// The process that stands between a container and whoever started it: it begins the container's process, keeps what
// that writes, and writes down how it ended. Small, alone, and of no help from anybody: the runtime may die and come
// back meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace tidemark::runtime {

// `tidemark container-shim FOLDER DESCRIPTOR`
inline constexpr std::string_view kShimCommand = "container-shim";

// Runs in the folder (shim_files.h) until the container has ended. Answers the exit code of this process: 0 where
// ended.json is written. `told` (-1: none) is closed as soon as running.json or ended.json is there.
int run_shim(const std::string& folder, const base::Clock& clock, int told = -1);

}  // namespace tidemark::runtime
