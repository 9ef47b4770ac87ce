// The limited tasks of this machine, and their limits: from the record of its agent (agent/record/recorder.h). Needs no
// server.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/local/tasks.h"
#include "model/node_record.h"

namespace tidemark::cli {

// From here on a task counts as held back, in thousandths of the time.
inline constexpr std::int64_t kHeldFrom = 50;

// The last line of DATA_DIR/agent; nullopt where there is none, or it is older than a few of them would be.
std::optional<model::NodeRecord> last_record(const std::string& data_dir, base::WallTime now);

// Offline tasks that were held to a quota or waited for processors, and those that ran while offline work as a whole
// used all that it has, or all processors were in use; by their pods' uids. Pure.
HeldBack held_back(const model::NodeRecord& record);

}  // namespace tidemark::cli
