// A pod as the kubelet or the API server tells of it, as a task without a group; and with the group that is there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/provider.h"
#include "base/result.h"
#include "kube/intern.h"
#include "linux/kubepods.h"
#include "model/task.h"

namespace tidemark::agent {

// Whose word it is.
struct PodSource {
  std::string name = "kubernetes";
  std::string cluster;
  model::TaskProviderKind provider = model::TaskProviderKind::kKubelet;
};

struct PodTask {
  model::Task task;                // no paths in it
  std::vector<std::string> notes;  // what of it cannot be read: "annotation koordinator.sh/eviction-policy: …"
};

// kInvalid for what is no pod; a label or annotation that cannot be read means what the contract says, and is noted.
// The task's id is the uid that the kubelet names the pod's group by: of a static pod that is not the uid which the API
// server shows for it.
Result<PodTask> decode_pod_task(std::string_view bytes, const PodSource& source, kube::Interner& interner);

// The task with the paths of `live`; null: it has no group now. Containers that are there and in no status are added.
model::Task placed(const model::Task& task, const linux::LivePod* live);

}  // namespace tidemark::agent
