// Keeps evictions across agent restarts: an agent that restarts in the same boot continues the count of the hour and
// the promised deadlines (policy/evict/stored.h). A file in the run directory, in memory; written when it changes,
// which is seldom. Without the boot id its age is unknown: if the id cannot be read at the start, that is logged, and
// it is read again at the next save.
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

  // Returns the initial state. What cannot be read is logged and ignored.
  policy::evict::EvictState begin(base::MonotonicTime now);
  void keep(const policy::evict::EvictState& state);

 private:
  Result<void> know_boot();
  base::Log log_;
  std::string folder_;
  std::string path_;
  std::string proc_root_;
  std::string boot_id_;             // "": not read yet
  policy::evict::EvictState kept_;  // as in the file; without pauses if there is no file
  bool troubled_ = false;           // and it was logged
};

}  // namespace tidemark::agent
