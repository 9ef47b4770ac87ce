// Flags of an agent that say where it learns what runs on its node.
#pragma once

#include <string>
#include <vector>

#include "agent/tasks/node_tasks.h"
#include "base/flags.h"
#include "base/result.h"

namespace tidemark::agent {

struct TaskFlags {
  std::string kubelet_endpoint = "https://127.0.0.1:10250";
  std::string kubelet_ca_file;
  std::string kubelet_server_name;
  bool kubelet_insecure = false;
  std::string pod_source = "kubelet";
  std::string kubelet_cgroup_root = "/";
  std::string cgroup_driver = "auto";
  std::vector<std::string> copilots;

  void add_to(base::Flags& flags);
  // kInvalid: what is wrong with which flag.
  Result<NodeTasksConfig> config(std::string node_name) const;
};

}  // namespace tidemark::agent
