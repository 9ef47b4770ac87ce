// Flags of an agent that select its providers.
#pragma once

#include <string>
#include <vector>

#include "agent/tasks/kubelet_flags.h"
#include "agent/tasks/node_tasks.h"
#include "base/flags.h"
#include "base/result.h"

namespace tidemark::agent {

struct TaskFlags {
  std::string pod_source = "kubelet";
  KubeletFlags kubelet;
  std::string cgroup_driver = "auto";
  std::vector<std::string> copilots;

  void add_to(base::Flags& flags);
  // kInvalid: names the flag and the error.
  Result<NodeTasksConfig> config(std::string node_name) const;
};

}  // namespace tidemark::agent
