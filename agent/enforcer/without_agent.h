// What `tidemark off --local` does where no agent runs: offline work that still runs is held to its least, and what an
// agent wrote is put back where nobody runs any more. A group with processes in it, or below it, is never loosened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/enforcer/found_journal.h"
#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"

namespace tidemark::agent {

struct LeftBehind {
  std::string group;
  std::string file;   // as the journal names it
  std::string found;  // before the first write
  std::string why;    // "processes run in it", or what the kernel said
};

struct WithoutAgent {
  std::int64_t put_back = 0;
  std::int64_t gone = 0;  // with their groups, or changed by somebody else since
  std::vector<LeftBehind> left;
};

// `offline_group`: of all BestEffort pods, which is held also where nobody held it so far; "": nobody knows it, or it
// may not be written. kAlreadyExists: an agent runs, and it is its part.
Result<WithoutAgent> off_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                       const std::string& journal_folder, const std::string& boot_id,
                                       const std::string& offline_group, const base::Clock& clock);

}  // namespace tidemark::agent
