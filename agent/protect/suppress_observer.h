// The input of suppression, from measurements and the values in the kernel's files. The observation is reused each
// second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/protect/node_facts.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/pod_groups.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "linux/topology.h"
#include "policy/protect/knobs.h"
#include "policy/protect/suppress/observation.h"

namespace tidemark::agent {

class SuppressObserver {
 public:
  SuppressObserver(const linux::Hierarchies& hierarchies, const linux::Topology& topology);

  struct Inputs {
    const NodeFacts* facts = nullptr;  // null: the Node is not known yet
    const Measured& measured;
    const TaskSnapshot& tasks;
    const PodGroups& groups;
    const policy::protect::Capabilities& capabilities;
    bool kubelet_static = false;
    bool off = false;
    bool runs_last = false;                         // offline work, by the kernel's priorities
    std::optional<base::WallTime> refuses_since{};  // work that began later gets the least amount
  };
  const policy::protect::SuppressObservation& observe(const Inputs& inputs, base::MonotonicTime now);
  const policy::protect::SuppressObservation& seen() const { return seen_; }  // last

 private:
  void take_tasks(const Inputs& inputs, base::MonotonicTime now);
  void take_groups(const PodGroups& groups);
  void take_besteffort(const PodGroups& groups);
  bool read_besteffort(const PodGroups& groups);

  const linux::Hierarchies& hierarchies_;
  linux::Buffer buffer_{4096};
  policy::protect::SuppressObservation seen_;
  std::optional<linux::Group> besteffort_;
};

}  // namespace tidemark::agent
