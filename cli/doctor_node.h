// `tidemark doctor node`: what stands in the way of offline work on this machine, or will, and what helps. It needs
// neither API server nor manager, and no agent: where one runs its own words are taken, where none does the kernel is
// tried here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/machine_places.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "linux/cgroup/kill.h"
#include "linux/knob_probe.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::cli {

struct DoctorOptions {
  agent::MachinePlaces places;
  std::string kubelet_root = "/";  // its cgroupRoot
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string runtime_dir = "/var/lib/containerd";
  std::string sys_root = "/sys";
  std::string kernel_log = "/dev/kmsg";
};

// What lies outside, and outlives the examination.
struct DoctorOutside {
  linux::ProbeRim& kernel;
  linux::KillRim& killing;
  net::HttpTransport& kubelet;
  const base::Clock& clock;
  std::string bearer{};  // to ask it with; "" for none
};

enum class TriedBy : std::uint8_t { kNone, kAgent, kCommand };

struct DoctorReport {
  std::vector<policy::explain::NodeFinding> findings;
  bool agent_runs = false;
  TriedBy tried_by = TriedBy::kNone;  // the files of the kernel
  bool heard_settings = false;        // an agent on this machine kept a NodeSLO; else the defaults count
  std::vector<std::string> notes;     // what could not be read on the way
  bool bad() const { return policy::explain::worst(findings) == policy::explain::Severity::kBad; }
};

// An error is of this machine's /proc only: whatever else cannot be had is a finding or a note.
net::Task<Result<DoctorReport>> examine_node(const DoctorOptions& options, DoctorOutside outside);

// The node's name as an agent here heard it last. nullopt: none did, or it may not be read.
std::optional<std::string> kept_node_name(const std::string& run_dir);

std::string render_text(const DoctorReport& report);
// {"severity":…,"findings":[…],"agentRuns":true,"kernelTriedBy":"agent|command|none","settings":"nodeslo|defaults",
//  "notes":[…]}; policy/explain/doctor_text.h has the first two.
Json render_json(const DoctorReport& report);

}  // namespace tidemark::cli
