// What processes had as oom_score_adj before this agent gave them another one, beside the journal of files
// (found_journal.h) and under its lock: written whole, on tmpfs, before any of it is written to the kernel.
//
//   {"schema":1,"boot":"6d0b…"}
//   {"pid":4711,"start":123456,"group":"yarn/container_1","found":-997,"wrote":1000,"before":960}
//
// `before` is a value of ours too: it stands there where the writer died between this line and the kernel.
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
  std::int64_t start_ticks = 0;  // with the number it names a process for good
  std::string group;             // that it was in
  std::int64_t found = 0;        // before the first write; of a child of one that was written to, that one's
  std::int64_t wrote = 0;
  std::optional<std::int64_t> wrote_before{};  // what of ours stood there when `wrote` was to be written
  bool is_ours(std::int64_t value) const { return value == wrote || value == wrote_before; }
  bool operator==(const OomEntry&) const = default;
};

using OomEntries = std::map<pid_t, OomEntry>;

std::string oom_journal_text(const OomEntries& entries, std::string_view boot_id);
// Nothing where it is of another life of the machine. kUnsupported: of a newer version. A line that says nothing is
// passed over.
Result<OomEntries> parse_oom_journal(std::string_view text, std::string_view boot_id);

// Nothing where there is none.
Result<OomEntries> read_oom_journal(const std::string& folder, std::string_view boot_id);
Result<void> write_oom_journal(const std::string& folder, const OomEntries& entries, std::string_view boot_id);

}  // namespace tidemark::agent
