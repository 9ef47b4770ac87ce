// Measures what YARN's applications hold in the NodeManager's local directories (yarn.nodemanager.local-dirs):
//
//   DIR/usercache/USER/appcache/APPLICATION/CONTAINER/…   of one container
//   DIR/usercache/USER/appcache/APPLICATION/…             shared by its containers here: shuffle files, Spark blocks
//   DIR/…                                                 localized for all, and the NodeManager's own files
//
// Users can write below usercache/USER, also with misleading names: an entry counts only for applications of that user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"

namespace tidemark::yarn_copilot {

struct LocalLook {
  std::size_t entries = 400'000;  // files and directories, in total
  base::Duration time = std::chrono::seconds(5);
};

struct LocalApplication {
  std::string user;
  std::string application;
  auto operator<=>(const LocalApplication&) const = default;
};

struct LocalPart {
  std::int64_t bytes = 0, inodes = 0;
};

struct LocalUse {
  std::map<std::string, std::int64_t, std::less<>> containers;  // bytes of their own; of `running` applications
  std::map<std::string, std::map<std::uint64_t, LocalPart>, std::less<>> devices;  // the same by filesystem
  std::map<LocalApplication, std::int64_t> applications;                           // including their containers
  std::int64_t bytes = 0;                                                          // total in the directories
  bool whole = true;                // false: there is more, beyond the limits or unreadable
  std::vector<std::string> absent;  // missing or unreadable directories
};

// Last known values of each directory, and where the next pass starts. A pass that reaches its limits is continued by
// the next one, so that on a large node every directory gets its turn.
struct LocalMemory {
  std::vector<std::optional<LocalUse>> folders;  // nullopt: not seen yet
  std::size_t next = 0;
};

struct LocalSight {
  LocalUse use;  // of all directories; those not reached in this pass with remembered values
  LocalMemory memory;
};

// Waits for the disks: call it on a worker, with a thread-safe clock. Follows no link, so containers cannot lead it
// elsewhere. `running`: applications that are counted separately; the rest counts only in the sum.
LocalSight look_at_local_dirs(const std::vector<std::string>& folders, const std::set<LocalApplication>& running,
                              LocalMemory memory, const LocalLook& look, const base::Clock& clock);

}  // namespace tidemark::yarn_copilot
