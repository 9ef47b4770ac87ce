// Whose group is written, of the tasks of a node: the same for everything that an agent wants of groups.
#pragma once

#include <vector>

#include "model/task.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

// It has a group of its own now, and is not over. A host application's group is its owner's to write.
bool may_be_written(const model::Task& task);

// Offline: QoS BE by its own word, or by default with a request of batch or mid resources.
bool is_offline(const model::Task& task);

// Its specification says something of batch resources.
bool has_batch(const model::TaskContainer& container);
bool has_batch(const model::Task& task);

// By group, then by what is wanted of it: in which order tasks came shows nowhere.
void sort_by_group(std::vector<Intent>& intents);

}  // namespace tidemark::policy
