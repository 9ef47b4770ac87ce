// The progress and the proof of `off --evict`, as text.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "operate/evict.h"
#include "operate/off_progress.h"

namespace tidemark::cli {

// One line; with a bar if it is for a terminal.
std::string progress_text(const operate::OffProgress& progress, bool terminal);

// Of a dry run.
std::string preview_text(const operate::EvictPreview& would);
Json preview_json(const operate::EvictPreview& would);

// The sums, and each node that has something left with the reason.
std::string proof_text(const operate::OffProgress& progress);

// All that is stored.
std::string stored_text(const std::vector<operate::OffProgress>& all, base::WallTime now);

}  // namespace tidemark::cli
