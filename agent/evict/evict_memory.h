// Evictions outlast the agent that began them: an agent that starts anew on the same life of the machine counts the
// hour on, and keeps to the deadlines that were told (policy/evict/stored.h). A file in the run folder, in memory of
// the machine; written when something of it changes, which it rarely does.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {

class EvictMemory {
 public:
  EvictMemory(const base::Log& log, const std::string& run_dir, std::string boot_id);

  // What to begin with. What cannot be read is told, and nothing of it counts.
  policy::EvictState begin(base::MonotonicTime now);
  void keep(const policy::EvictState& state);

 private:
  base::Log log_;
  std::string folder_;
  std::string path_;
  std::string boot_id_;
  policy::EvictState kept_;  // as the file has it; no pauses where there is none
  bool troubled_ = false;    // and it was told
};

}  // namespace tidemark::agent
