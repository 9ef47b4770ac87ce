// What this machine's kernel supports and its CPU topology, detected once at the start.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protect/status.h"
#include "agent/protect/strategies.h"
#include "agent/sampler/facilities.h"
#include "base/log.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "linux/knob_probe.h"

namespace tidemark::agent {

struct MachineSights {
  const linux::Hierarchies& hierarchies;
  const linux::Folder& proc;
  std::string sys_root;
  const linux::Folder* numa = nullptr;  // null: the kernel has no NUMA
  bool own_groups = false;              // of pods: no kubelet writes them
};

// `trial`: the result of linux::probe_knobs() for this kernel. What cannot be detected is logged and counts as missing.
Machinery find_out_machinery(const MachineSights& sights, const Result<linux::KnobReport>& trial, const base::Log& log);

KnobTrials trials_of(const Result<linux::KnobReport>& trial);
// Which facilities this machine has, by agent/sampler/facilities.h.
std::vector<policy::explain::MeasureFound> measures_of(std::span<const FacilityReport> facilities,
                                                       const FeatureGates& gates);

// The kubelet's CPU manager sets the CPUs of containers itself (the policy in `cpu_manager_state`).
bool kubelet_is_static(const std::string& kubelet_dir);

policy::protect::Capabilities capabilities_of(const linux::KnobReport& report);

}  // namespace tidemark::agent
