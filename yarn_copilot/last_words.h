// Writes the last line of a container's log: what ended it, and why. The owner of the job finds it with the rest of the
// log, also in YARN's aggregated logs.
//
//   DIR/APPLICATION/CONTAINER/stderr        DIR of yarn.nodemanager.log-dirs
//
// The container's user can write to that directory, and we may be root: no link is followed, and only a regular file
// with a single link and the owner of the directory is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "yarn_copilot/ends.h"

namespace tidemark::yarn_copilot {

// One line: "2026-01-02T03:04:05Z tidemark: this container was killed: TM-EVICT-001, … (by uid 0 pid 7)"
std::string last_words(std::string_view what_happened, const EndOrder& order, base::WallTime now);

// kNotFound: no such log in any directory. Waits for the disk: call it on a worker.
Result<void> write_last_words(const std::vector<std::string>& folders, std::string_view container,
                              std::string_view line);

}  // namespace tidemark::yarn_copilot
