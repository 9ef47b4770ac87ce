// Flags of an agent that say where it learns what runs on its node.
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
  // kInvalid: what is wrong with which flag.
  Result<NodeTasksConfig> config(std::string node_name) const;
};

}  // namespace tidemark::agent
