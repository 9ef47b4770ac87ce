// What YARN's applications have in the local folders of their NodeManager (yarn.nodemanager.local-dirs):
//
//   DIR/usercache/USER/appcache/APPLICATION/CONTAINER/…   a container's own
//   DIR/usercache/USER/appcache/APPLICATION/…             of all its containers here: shuffle files, blocks of Spark
//   DIR/…                                                 what was localized for all, and the NodeManager's own
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tidemark::yarn_copilot {

struct LocalLook {
  std::size_t entries = 400'000;  // files and folders, of all together
  base::Duration time = std::chrono::seconds(5);
};

struct LocalUse {
  std::map<std::string, std::int64_t, std::less<>> containers;    // bytes of their own
  std::map<std::string, std::int64_t, std::less<>> applications;  // those of their containers among them
  std::int64_t bytes = 0;                                         // all there is in the folders
  bool whole = true;                // false: there is more, beyond the limits or where nobody lets us look
  std::vector<std::string> absent;  // folders that are not there, or cannot be opened
};

// Waits for the disks: for a worker, with a clock that any thread may ask. Follows no link: what containers make leads
// nowhere else.
LocalUse look_at_local_dirs(const std::vector<std::string>& folders, const LocalLook& look, const base::Clock& clock);

}  // namespace tidemark::yarn_copilot
