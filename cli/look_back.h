// What the manager's journal tells: the decision that was in force on a node at a time, and every decision made again.
// Files only: no API server is asked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "operate/explain.h"

namespace tidemark::cli {

// "2026-11-20T22:15:00Z", or how long ago: "90m". nullopt: neither.
std::optional<base::WallTime> parse_moment(std::string_view text, base::WallTime now);

struct LookBack {
  std::string directory;
  std::string node;
  base::WallTime at;
  bool json = false;
};
// kNotFound where the journal does not reach; the error says how far it does.
Result<std::string> explain_node_at(const LookBack& options);

// By the last decision in the journal: for a decision as the manager would make it now. An error says why it is
// unknown: nothing is recorded, another process led since, or the silence is too long.
Result<operate::Remembered> remembered_of(const std::string& directory, const std::string& node, base::WallTime now);

struct ReplayOptions {
  std::string directory;
  std::string node;  // empty: all
  std::optional<base::WallTime> since;
  std::optional<base::WallTime> until;
  std::size_t shown_max = 20;  // decisions that differ, told one by one
  bool json = false;
};
struct ReplayReport {
  std::string text;
  bool exact = false;  // every decision came out the same, and every one could be read
};
Result<ReplayReport> replay_journal(const ReplayOptions& options);

}  // namespace tidemark::cli
