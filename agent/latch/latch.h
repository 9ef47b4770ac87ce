// `tidemark off --local`: a file on the machine that switches its agent off, whatever the cluster says, over restarts
// of the agent and of the machine, until somebody takes it away with `tidemark on --local`.
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

// The one that an agent looks at every second lies in its run folder, in memory; the other one is for the next life of
// the machine, and is copied there at the start.
std::string run_latch(const std::string& run_dir);

struct Latch {
  std::string by;
  std::string why;
  std::optional<base::WallTime> since;
  std::string trouble;  // the file is there and cannot be read: it counts all the same
  bool operator==(const Latch&) const = default;
};

// nullopt: there is none.
std::optional<Latch> read_latch(const std::string& path);
// The same for who may be without root, or without a descriptor left: what cannot be read counts only where it is
// there. An error: a folder on the way may not be searched, and nobody knows; for root, whom something else keeps from
// looking, it is drawn then.
Result<std::optional<Latch>> see_latch(const std::string& path, bool as_root);
Latch parse_latch(std::string_view text);

// Stands on the disk when it answers well; the folder is made.
Result<void> set_latch(const std::string& path, const Latch& latch);
// Where nothing can be written any more: a full disk takes a file without a byte, and that counts all the same.
Result<void> set_empty_latch(const std::string& path);
Result<bool> clear_latch(const std::string& path);  // false: there was none

}  // namespace tidemark::agent
