// Which cgroups of the tasks of a node are written: the same for every strategy of the agent.
#pragma once

#include <vector>

#include "model/task.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

// It has its own cgroup now, and is not terminal. The owner of a host application writes its cgroup.
bool may_be_written(const model::Task& task);

// Offline: QoS BE by its own label, or by default with a request of batch or mid resources.
bool is_offline(const model::Task& task);

// Its specification has batch resources.
bool has_batch(const model::TaskContainer& container);
bool has_batch(const model::Task& task);

// By cgroup, then by intent, so that the order of tasks has no effect.
void sort_by_group(std::vector<Intent>& intents);

}  // namespace tidemark::policy::protect
