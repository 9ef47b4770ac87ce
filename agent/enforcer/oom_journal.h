// The original oom_score_adj of each process that the agent changed. It is stored beside the journal of files
// (found_journal.h) and under its lock: written whole, on tmpfs, before the kernel is written.
//
//   {"schema":1,"boot":"6d0b…"}
//   {"pid":4711,"start":123456,"group":"yarn/container_1","found":-997,"wrote":1000,"before":960}
//
// `before` is a value of ours too: it stands if the writer died between this line and the kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::agent {

inline constexpr std::int64_t kOomSchema = 1;
inline constexpr std::size_t kOomProcessesMax = 20'000;

struct OomEntry {
  std::int64_t start_ticks = 0;  // with the pid, it identifies a process
  std::string group;             // the process's group
  std::int64_t found = 0;        // before the first write; a child of a written process has its parent's
  std::int64_t wrote = 0;
  std::optional<std::int64_t> wrote_before{};  // our value that stood when `wrote` was about to be written
  bool is_ours(std::int64_t value) const { return value == wrote || value == wrote_before; }
  bool operator==(const OomEntry&) const = default;
};

using OomEntries = std::map<pid_t, OomEntry>;

std::string oom_journal_text(const OomEntries& entries, std::string_view boot_id);
// Empty if it is from before a reboot. kUnsupported: written by a newer version. Invalid lines are skipped.
Result<OomEntries> parse_oom_journal(std::string_view text, std::string_view boot_id);

// Empty without a file.
Result<OomEntries> read_oom_journal(const std::string& folder, std::string_view boot_id);
Result<void> write_oom_journal(const std::string& folder, const OomEntries& entries, std::string_view boot_id);

}  // namespace tidemark::agent
