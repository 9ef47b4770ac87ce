// How kinds of offline work share what all of it gets: by the classes of the settings, against each other.
//
//   shares     = shares(batch-cpu request) × cpuWeight / 100         within 2 … 262144; contract 7.2's shares
//   memory.low = batch-memory request × memoryLowPercent / 100       none where that is 0
//
// at the own group of each offline pod and task of batch resources. What is paid with none of them keeps the shares
// that the kubelet gave it: there is no request to go by. A class that nobody knows here has the default weight. What
// is asked inside a pod, of its containers, stays with the batch limits.
//
// Two strategies could ask for the shares of the same group, and the first would always have it. So one of them does:
// with classes it is this one, without it the batch limits (group_shares_of_limits). Where offline work runs idle it is
// neither: a kernel takes no weight of an idle group, all of them run alike. The plan names those groups.
//
// memory.low is not asked of the groups above, on purpose. The kernel protects a group no further than the groups above
// it are, up to the one whose limit is reached: so this one tells kinds of offline work apart where the group directly
// above them has a limit of memory and is at it, and never makes online work give way to it. Where no group above has
// one, as a kubelet makes them, it has no effect; policy/doctor/node_findings.h tells so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/task.h"
#include "policy/knobs/intent.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

struct ClassWeightsInput {
  std::span<const model::Task* const> tasks;
  std::span<const WorkClass> classes;  // empty: nothing is wanted; of one name twice the first counts
  bool idle = false;                   // offline_runs_idle()
};

struct ClassWeightsPlan {
  std::vector<Intent> intents;              // by group, then by what is wanted
  std::vector<std::string> without_weight;  // groups that run idle: their class's weight has no effect
};

// Total.
ClassWeightsPlan class_weights(const ClassWeightsInput& input);

// LimitsInput::group_shares.
bool group_shares_of_limits(std::span<const WorkClass> classes, bool idle);

}  // namespace tidemark::policy
