// `tidemark off --local`: a file on the machine that keeps its agent off, whatever the cluster says, over restarts of
// the agent and of the machine, until `tidemark on --local` removes it.
//
//   {"schema":1,"by":"root@web-1","why":"disk is full","since":"2026-11-22T03:00:00Z"}
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::agent {

inline constexpr std::string_view kLatchDefault = "/var/lib/tidemark/latch";

// The latch that the agent checks every second is in its run directory, in memory. The other one survives a reboot and
// is copied there at the start.
std::string run_latch(const std::string& run_dir);

struct Latch {
  std::string by;
  std::string why;
  std::optional<base::WallTime> since;
  std::string trouble;  // the file exists but cannot be read: it counts anyway
  bool operator==(const Latch&) const = default;
};

// nullopt: no latch.
std::optional<Latch> read_latch(const std::string& path);
// The same for callers that may not be root or may lack a descriptor: an unreadable latch counts only if the file
// exists. Error: a parent directory cannot be searched, so the state is unknown; for root, which something else then
// blocks, the latch counts as set.
Result<std::optional<Latch>> see_latch(const std::string& path, bool as_root);
Latch parse_latch(std::string_view text);

// On success the latch is on disk. Creates the directory.
Result<void> set_latch(const std::string& path, const Latch& latch);
// For a machine on which nothing can be written: a full disk takes an empty file, and that counts as a latch.
Result<void> set_empty_latch(const std::string& path);
Result<bool> clear_latch(const std::string& path);  // false: there was none

}  // namespace tidemark::agent
