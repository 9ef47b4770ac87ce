// Evictions outlast the agent that began them: an agent that starts anew on the same life of the machine counts the
// hour on, and keeps to the deadlines that were told (policy/evict/stored.h). A file in the run folder, in memory of
// the machine; written when something of it changes, which it rarely does. Without the machine's boot id nobody can
// tell whether it is of this life: where it cannot be read at the start that is told, and it is read again when
// something is to be kept.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {

class EvictMemory {
 public:
  EvictMemory(const base::Log& log, const std::string& run_dir, std::string proc_root);

  // What to begin with. What cannot be read is told, and nothing of it counts.
  policy::EvictState begin(base::MonotonicTime now);
  void keep(const policy::EvictState& state);

 private:
  Result<void> know_boot();
  base::Log log_;
  std::string folder_;
  std::string path_;
  std::string proc_root_;
  std::string boot_id_;      // "": it could not be read yet
  policy::EvictState kept_;  // as the file has it; no pauses where there is none
  bool troubled_ = false;    // and it was told
};

}  // namespace tidemark::agent
