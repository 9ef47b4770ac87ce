// What YARN's applications have in the local folders of their NodeManager (yarn.nodemanager.local-dirs):
//
//   DIR/usercache/USER/appcache/APPLICATION/CONTAINER/…   a container's own
//   DIR/usercache/USER/appcache/APPLICATION/…             of all its containers here: shuffle files, blocks of Spark
//   DIR/…                                                 what was localized for all, and the NodeManager's own
//
// What lies below usercache/USER is that user's to write, names too: only of his own applications it counts as theirs.
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
  std::size_t entries = 400'000;  // files and folders, of all together
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
  std::map<std::string, std::map<std::uint64_t, LocalPart>, std::less<>> devices;  // the same, on each filesystem
  std::map<LocalApplication, std::int64_t> applications;  // those of their containers among them
  std::int64_t bytes = 0;                                 // all there is in the folders
  bool whole = true;                // false: there is more, beyond the limits or where nobody lets us look
  std::vector<std::string> absent;  // folders that are not there, or cannot be opened
};

// What is known of each folder, by the last look that came to it, and where the next one begins. A look that ends at
// its limits is gone on with by the next one: on a large node the last folders have their turn as the first ones have.
struct LocalMemory {
  std::vector<std::optional<LocalUse>> folders;  // nullopt: not seen yet
  std::size_t next = 0;
};

struct LocalSight {
  LocalUse use;  // of all folders; one that this look did not come to counts as it is remembered
  LocalMemory memory;
};

// Waits for the disks: for a worker, with a clock that any thread may ask. Follows no link: what containers make leads
// nowhere else. `running`: whose parts are told apart; what others left counts in the sum alone.
LocalSight look_at_local_dirs(const std::vector<std::string>& folders, const std::set<LocalApplication>& running,
                              LocalMemory memory, const LocalLook& look, const base::Clock& clock);

}  // namespace tidemark::yarn_copilot
