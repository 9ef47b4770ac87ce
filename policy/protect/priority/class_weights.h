// How classes of offline work share its CPU and memory, by the classes of the settings:
//
//    shares     = shares(batch-cpu request) × cpuWeight / 100         within 2 … 262144; contract 7.2's shares
//    memory.low = batch-memory request × memoryLowPercent / 100       none if that is 0
//
// at the own cgroup of each offline pod and task with batch resources. Other offline tasks keep the kubelet's shares,
// because they have no such request. An unknown class has the default weight. Containers inside a pod stay with the
// batch limits.
//
// Two strategies could request the shares of the same cgroup, and the first would always win. So only one does: this
// one if there are classes, otherwise the batch limits (group_shares_of_limits). If offline work runs idle, neither
// does: the kernel accepts no weight of an idle cgroup, all of them run alike. The plan names those cgroups.
//
// memory.low is not set on the parent cgroups, on purpose. The kernel protects a cgroup only as far as its ancestors
// are protected, up to the one whose limit is reached. So this one distinguishes classes of offline work if the cgroup
// directly above them has a memory limit and is at it, and never puts offline work at a disadvantage because of it. If
// no ancestor has a limit, as a kubelet creates them, it has no effect; policy/explain/doctor/node_findings.h reports
// that.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/settings/work_class.h"
#include "model/task.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

struct ClassWeightsInput {
  std::span<const model::Task* const> tasks;
  std::span<const model::WorkClass> classes;  // empty: nothing is wanted; of one name twice the first counts
  bool idle = false;                          // offline_runs_idle()
};

struct ClassWeightsPlan {
  std::vector<Intent> intents;              // by cgroup, then by file
  std::vector<std::string> without_weight;  // cgroups that run idle: their class's weight has no effect
};

// Total.
ClassWeightsPlan class_weights(const ClassWeightsInput& input);

// LimitsInput::group_shares.
bool group_shares_of_limits(std::span<const model::WorkClass> classes, bool idle);

}  // namespace tidemark::policy::protect
