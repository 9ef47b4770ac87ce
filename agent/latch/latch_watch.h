// Follows the latch of the machine for the agent. A latch that survived a reboot is copied to the run directory first,
// so that the machine is off from the first second; if it cannot be copied, it counts where it is.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "agent/latch/latch.h"
#include "agent/machine_places.h"
#include "base/log.h"

namespace tidemark::agent {

class LatchWatch {
 public:
  LatchWatch(const MachinePlaces& places, base::Log log);

  void look();  // logs a change
  const std::optional<Latch>& latch() const { return latch_; }

 private:
  std::optional<Latch> read(const std::string& path);

  base::Log log_;
  std::string run_path_;
  std::string kept_path_;
  std::optional<Latch> latch_;
  bool not_copied_ = false;
  std::set<std::string> unreadable_;  // paths; each is logged once
};

}  // namespace tidemark::agent
