// Converts a pod from the kubelet or the API server into a task without a group, and adds the existing group.
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

// The source of the pod.
struct PodSource {
  std::string name = "kubernetes";
  std::string cluster;
  model::TaskProviderKind provider = model::TaskProviderKind::kKubelet;
};

struct PodTask {
  model::Task task;                // without paths
  std::vector<std::string> notes;  // what could not be read: "annotation koordinator.sh/eviction-policy: …"
};

// kInvalid if it is no pod; an unreadable label or annotation has the meaning that the contract defines, and is noted.
// The task's id is the uid in the name of the pod's group: for a static pod it differs from the uid at the API server.
Result<PodTask> decode_pod_task(std::string_view bytes, const PodSource& source, kube::Interner& interner);

// The task with the paths of `live`; null: it has no group now. Containers that exist without a status are added.
model::Task placed(const model::Task& task, const linux::LivePod* live);

}  // namespace tidemark::agent
