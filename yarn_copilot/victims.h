// Which containers go so that at least so much comes free: no more of them than it takes, the newest first, and the
// master of an application last, since all of its other containers go with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"

namespace tidemark::yarn_copilot {

struct Candidate {
  std::string id;
  model::Resources holds;
  bool master = false;
  std::optional<base::WallTime> began;  // nullopt: its processes are not there yet, so it is newer than any other
};

// Their places in `candidates`, in the order in which they are to go. All that help where even that is not enough; none
// where nothing is wanted.
std::vector<std::size_t> choose_victims(const std::vector<Candidate>& candidates, model::Resources wanted);

}  // namespace tidemark::yarn_copilot
