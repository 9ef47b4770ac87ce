// Implements `tidemark off --local` and `tidemark on --local` for a machine without a running agent.
//
// Off: offline work that still runs is limited to its least, and values of the agent are restored where no offline work
// runs any more. A group with processes whose limit we hold is never loosened, and the OOM kill order of a process is
// not relaxed. What cannot be read or written stops nothing else.
//
// Offline work is known from the pods that the agent saved, and from the journal: some files are written only for
// offline work. If the BestEffort group has only offline pods, the group is limited; beside online pods (kube-proxy, a
// log collector) each offline pod is limited alone. Unknown pods are not limited, but reported.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enforcer/found_journal.h"
#include "agent/enforcer/oom_journal.h"
#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"

namespace tidemark::agent {

struct LeftBehind {
  std::string group;
  std::string file;   // as the journal names it
  std::string found;  // before the first write
  std::string why;    // "processes run in it", or the kernel's error
};

struct WithoutAgent {
  std::int64_t put_back = 0;
  std::int64_t gone = 0;  // the group is gone, or another program changed the file
  std::vector<LeftBehind> left;
  std::vector<LeftBehind> not_held;  // tightening failed: offline work keeps what it had
  std::vector<Error> troubles;       // other failures to read or write
};

// Groups of BestEffort pods, by their kind when an agent saved the list. One in neither list started since.
struct KnownPods {
  std::set<std::string, std::less<>> offline, online;
};

// The places of an agent that no longer runs.
struct AgentGone {
  std::string proc_root;
  std::string journal_folder;
  std::string boot_id;
  // The group of all BestEffort pods, limited even if the agent did not limit it. "": unknown, or it may not be
  // written.
  std::string offline_group;
  KnownPods pods{};
};

// Both return kAlreadyExists if an agent runs: it must do it.
Result<WithoutAgent> off_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                       const AgentGone& gone, const base::Clock& clock);

// What was tightened to its least gets its previous value, whether an agent tightened it or not. Nothing else changes.
Result<WithoutAgent> on_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                      const AgentGone& gone, const base::Clock& clock);

// Our oom_score_adj values of processes: a line for each original value in a group.
std::vector<LeftBehind> oom_scores_left(const OomEntries& entries, std::string_view why);

}  // namespace tidemark::agent
