#include "agent/protect/machinery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/enforcer/enforcer.h"
#include "base/json.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

// Anolis: 0 if the kernel could tell groups apart by bvt but does not.
bool identity_switched_off(const linux::Folder& proc) {
  linux::Buffer buffer(64);
  const auto text = proc.read("sys/kernel/sched_group_identity_enabled", buffer);
  return text && *text && base::trim(**text) == "0";
}

}  // namespace

bool kubelet_is_static(const std::string& kubelet_dir) {
  linux::Buffer buffer;
  const auto text = linux::read_path(kubelet_dir + "/cpu_manager_state", buffer);
  if (!text || !*text) return false;
  const auto state = Json::parse(**text);
  return state && state->text_at("policyName") == "static";
}

policy::protect::Capabilities capabilities_of(const linux::KnobReport& report) {
  policy::protect::Capabilities out;
  for (std::size_t index = 0; index < policy::protect::kKnobs; ++index) {
    const linux::File file = file_of(static_cast<policy::protect::Knob>(index));
    const auto trial = std::ranges::find(report.trials, file, &linux::KnobTrial::file);
    if (trial == report.trials.end()) continue;
    out.effective.set(index, trial->effective);
    const bool v2 = trial->version == linux::Version::kV2;
    if (file == linux::File::kCpusetCpus) out.nested_cpuset = !v2;
    if (file == linux::File::kCpuQuota) out.nested_quota = !v2;
  }
  return out;
}

KnobTrials trials_of(const Result<linux::KnobReport>& trial) {
  if (!trial) return {{}, trial.error().message};
  KnobTrials out;
  for (std::size_t index = 0; index < policy::protect::kKnobs; ++index) {
    const auto knob = static_cast<policy::protect::Knob>(index);
    const auto one = std::ranges::find(trial->trials, file_of(knob), &linux::KnobTrial::file);
    if (one == trial->trials.end()) continue;
    out.found.push_back({knob, one->exists, one->accepted, one->effective, one->why});
  }
  return out;
}

std::vector<policy::explain::MeasureFound> measures_of(std::span<const FacilityReport> facilities,
                                                       const FeatureGates& gates) {
  std::vector<policy::explain::MeasureFound> out;
  for (const FacilityReport& each : facilities) {
    out.push_back({std::string(to_string(each.facility)), each.there, is_read(each.facility, gates), each.why});
  }
  return out;
}

Machinery find_out_machinery(const MachineSights& sights, const Result<linux::KnobReport>& trial,
                             const base::Log& log) {
  Machinery out;
  if (!trial) {
    log.warn("cannot test which cgroup files this kernel accepts", {{"error", trial.error().message}});
  } else {
    out.capabilities = capabilities_of(*trial);
    for (const linux::KnobTrial& one : trial->trials) {
      if (one.effective) continue;
      log.info("not supported here", {{"file", found_name(one.file)}, {"why", one.why}});
    }
    if (!trial->left.empty()) log.warn("cannot remove a cgroup of the kernel probe", {{"what", trial->left}});
  }
  linux::Buffer buffer;
  const auto cpus = linux::Folder::open(sights.sys_root + "/devices/system/cpu");
  auto topology =
      cpus ? linux::read_topology(*cpus, sights.numa, buffer) : Result<linux::Topology>(std::unexpected(cpus.error()));
  if (topology) {
    out.topology = std::move(*topology);
  } else {
    log.warn("cannot read the CPU topology", {{"error", topology.error().message}});
  }
  out.identity_switched_off = identity_switched_off(sights.proc);
  out.own_groups = sights.own_groups;
  return out;
}

}  // namespace tidemark::agent
