// Chooses the containers that end so that at least the given amount becomes free: as few as possible, the newest first,
// and the master of an application last, because all of its other containers end with it.
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
  std::optional<base::WallTime> began;  // nullopt: no processes yet, so it counts as newest
};

// Indexes into `candidates`, in the order of their end. If all are not enough, all that help; empty if nothing is
// wanted.
std::vector<std::size_t> choose_victims(const std::vector<Candidate>& candidates, model::Resources wanted);

}  // namespace tidemark::yarn_copilot
