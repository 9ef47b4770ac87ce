// What `tidemark off --local` and `tidemark on --local` do where no agent runs.
//
// Off: offline work that still runs is held to its least, and what an agent wrote is put back where no offline work
// runs any more. A group that holds some back, with processes in it or below it, is never loosened, and no process that
// is to end first is made to end later. What cannot be looked at or written stops nothing else.
//
// Who is offline is known by the pods that the agent kept, and by its journal: some files are written of offline work
// alone. Where all of the BestEffort pods are, their group is held; beside others (kube-proxy, what collects logs) each
// by itself. Whom nobody knows is not held, and told.
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
  std::string why;    // "processes run in it", or what the kernel said
};

struct WithoutAgent {
  std::int64_t put_back = 0;
  std::int64_t gone = 0;  // with their groups, or changed by somebody else since
  std::vector<LeftBehind> left;
  std::vector<LeftBehind> not_held;  // wanted narrower, and not so: offline work runs on there with what it had
  std::vector<Error> troubles;       // what could not be looked at or done beside that
};

// Groups of BestEffort pods, by what they were when an agent kept their list. One in neither began since.
struct KnownPods {
  std::set<std::string, std::less<>> offline, online;
};

// Where an agent was.
struct AgentGone {
  std::string proc_root;
  std::string journal_folder;
  std::string boot_id;
  // Of all BestEffort pods, which is held also where nobody held it so far; "": nobody knows it, or it may not be
  // written.
  std::string offline_group;
  KnownPods pods{};
};

// Of both kAlreadyExists: an agent runs, and it is its part.
Result<WithoutAgent> off_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                       const AgentGone& gone, const base::Clock& clock);

// What was narrowed to its least has what it had before: by an agent, or without one. Nothing else is touched.
Result<WithoutAgent> on_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                      const AgentGone& gone, const base::Clock& clock);

// What processes have of ours as their oom_score_adj, a line for each value found in a group.
std::vector<LeftBehind> oom_scores_left(const OomEntries& entries, std::string_view why);

}  // namespace tidemark::agent
