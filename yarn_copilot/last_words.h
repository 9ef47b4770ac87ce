// The last words in a container's log: who had it ended, and why. Whoever looks after the job finds them with the rest,
// where YARN aggregates logs there too.
//
//   DIR/APPLICATION/CONTAINER/stderr        DIR of yarn.nodemanager.log-dirs
//
// That folder is the container's user's to write, and we may be root: no link is followed, and nothing is written but a
// plain file of one name that belongs to whom the folder does.
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

// kNotFound: it has no such log in any of the folders. Waits for the disk: for a worker.
Result<void> write_last_words(const std::vector<std::string>& folders, std::string_view container,
                              std::string_view line);

}  // namespace tidemark::yarn_copilot
