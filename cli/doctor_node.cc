#include "cli/doctor_node.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "agent/evict/pods_room.h"
#include "agent/latch/latch.h"
#include "agent/protect/host_peer.h"
#include "agent/protect/kept_objects.h"
#include "agent/protect/machinery.h"
#include "agent/protect/status.h"
#include "agent/sampler/facilities.h"
#include "agent/tasks/group_watch.h"
#include "agent/tasks/kubelet_question.h"
#include "base/text.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/limit.h"
#include "linux/filesystem.h"
#include "linux/kernel_files.h"
#include "linux/kubepods.h"
#include "linux/proc/memory_info.h"
#include "linux/psi.h"
#include "policy/explain/doctor_text.h"
#include "policy/protect/node_rules.h"
#include "policy/settings/nodeslo/lines_held.h"
#include "policy/settings/nodeslo/read_rules.h"
#include "policy/state/permits.h"

namespace tidemark::cli {
namespace {

policy::explain::GroupLayout layout_of(linux::Layout layout) {
  switch (layout) {
    case linux::Layout::kV1:
      return policy::explain::GroupLayout::kV1;
    case linux::Layout::kHybrid:
      return policy::explain::GroupLayout::kHybrid;
    case linux::Layout::kV2:
      return policy::explain::GroupLayout::kV2;
  }
  return policy::explain::GroupLayout::kNone;
}

policy::explain::AgentFound said_by(const agent::AgentStatus& status) {
  policy::explain::AgentFound out;
  for (const agent::StrategyStatus& each : status.strategies) {
    out.strategies.push_back({each.strategy, each.permit, each.reason, each.in_force, each.says});
    out.waits |= agent::awaits(each);
  }
  out.trouble = status.trouble;
  out.ordered_by = status.by;
  out.ordered_why = status.why;
  out.refused = std::max<std::int64_t>(status.refused - status.oom.refused, 0);  // the rest are no files
  out.oom = status.oom;
  out.left = status.left;
  out.unmet = status.unmet;
  out.copilots = status.copilots;
  out.online_in_besteffort = status.online_in_besteffort;
  return out;
}

class Examination {
 public:
  Examination(const DoctorOptions& options, const DoctorOutside& outside)
      : options_(options), kernel_(outside.kernel), killing_(outside.killing), now_(outside.clock.wall()) {}

  Result<void> look() {
    TM_TRY(const auto proc, linux::Folder::open(options_.places.proc_root));
    look_at_memory(proc);
    found_.node_pressure = linux::read_pressure(proc, "pressure/cpu", buffer_).has_value();
    look_at_agent();
    look_at_settings();
    look_at_groups(proc);
    look_at_disks();
    return {};
  }

  void hear_kubelet(Result<policy::evict::KubeletFound> said) {
    if (said) {
      found_.kubelet = *std::move(said);
    } else {
      found_.kubelet_silent = said.error().message;
    }
  }

  DoctorReport report() && {
    // btrfs, for one, has no number of inodes: no kubelet misses any there.
    if (found_.kubelet && found_.ours.disk.capacity > 0 && found_.ours.disk_inodes.capacity == 0) {
      found_.kubelet->hard.nodefs_inodes.reset();
      found_.kubelet->soft.nodefs_inodes.reset();
    }
    if (found_.kubelet && found_.ours.runtime_disk.capacity > 0 && found_.ours.runtime_inodes.capacity == 0) {
      found_.kubelet->hard.imagefs_inodes.reset();
      found_.kubelet->soft.imagefs_inodes.reset();
    }
    report_.findings = policy::explain::node_findings(found_);
    return std::move(report_);
  }

 private:
  void note(const Error& error, std::string_view what) {
    report_.notes.push_back(base::cat(what, ": ", error.message));
  }

  void look_at_memory(const linux::Folder& proc) {
    const auto memory = linux::read_memory_info(proc, buffer_);
    if (!memory) return note(memory.error(), "the machine's memory is not known");
    found_.ours.memory.capacity = memory->total;
    memory_used_ = memory->used();
    found_.swap_bytes = memory->swap_total.value_or(0);
  }

  bool is_drawn(const std::string& latch) {
    const auto seen = agent::see_latch(latch, ::geteuid() == 0);
    if (!seen) note(seen.error(), "cannot read the latch");
    return seen && *seen;
  }

  // Of an agent that is gone the status is of then.
  void look_at_agent() {
    const std::string& run_dir = options_.places.run_dir;
    found_.latched = is_drawn(agent::run_latch(run_dir)) || is_drawn(options_.places.latch_file);
    look_for_peer();
    report_.agent_runs = agent::FoundJournal::is_held(run_dir);
    if (!report_.agent_runs) return;
    auto status = agent::read_status(run_dir);
    if (!status) return note(status.error(), "what the agent here says of itself cannot be read");
    if (!*status) return;
    found_.koordlet = (*status)->peer_present || found_.koordlet.value_or(false);
    found_.holds = (*status)->holding;
    found_.agent = said_by(**status);
    found_.protection.group = (*status)->offline_group;
    trials_ = std::move((*status)->trials);
    found_.measures = std::move((*status)->measures);
    if (!(*status)->gates_without_effect.empty())
      report_.notes.push_back(
          base::cat("feature gates on, without effect with Tidemark's agent: ", (*status)->gates_without_effect));
  }

  // Beside the pods; which pods there are only an agent knows.
  void look_for_peer() {
    const auto process = agent::find_host_peer(options_.places.proc_root);
    if (!process) note(process.error(), "whether Koordinator's agent runs beside the pods is not known");
    found_.koordlet = process && *process ? std::optional(true) : std::nullopt;
  }

  void look_at_groups(const linux::Folder& proc) {
    const auto groups = agent::see_groups(options_.places);
    if (groups) {
      found_.layout = layout_of(groups->layout());
      found_.group_pressure = found_.node_pressure && groups->home(linux::File::kCpuPressure) != nullptr;
      look_at_driver(*groups);
      look_at_pods_limit(*groups);
      if (found_.ours.protects_memory) look_at_protection(*groups);
      if (const auto can = linux::can_kill_groups(*groups, killing_); !can) found_.no_kills = can.error().message;
      if (found_.measures.empty()) look_at_measures(*groups, proc);
    }
    report_.tried_by = TriedBy::kAgent;
    if (!trials_.any()) {
      trials_ = agent::trials_of(groups ? linux::probe_knobs(*groups, proc, "", kernel_)
                                        : Result<linux::KnobReport>(std::unexpected(groups.error())));
      report_.tried_by = TriedBy::kCommand;
    }
    if (!trials_.not_tried.empty()) report_.tried_by = TriedBy::kNone;
    found_.knobs = std::move(trials_.found);
    found_.not_tried = std::move(trials_.not_tried);
  }

  // As an agent that starts now would read them, with the user's rights: root of the machine sees more than a pod.
  void look_at_measures(const linux::Hierarchies& groups, const linux::Folder& proc) {
    const auto numa = linux::Folder::open(options_.sys_root + "/devices/system/node");
    found_.measures =
        agent::measures_of(agent::probe_facilities({groups, proc, numa ? &*numa : nullptr, options_.kernel_log}), {});
  }

  void look_at_driver(const linux::Hierarchies& groups) {
    const std::size_t hierarchy = agent::watched_hierarchy(groups);
    const linux::Place place{groups.all()[hierarchy].path, {}, {}};
    const auto driver = linux::detect_driver(groups.directory(hierarchy), options_.kubelet_root, place);
    if (!driver) return note(driver.error(), "cannot read the cgroups of pods");
    if (!*driver) return;
    found_.driver = **driver == linux::CgroupDriver::kSystemd ? policy::evict::GroupDriver::kSystemd
                                                              : policy::evict::GroupDriver::kCgroupfs;
  }

  // Of the kubelet here; "" where no pod has a group yet.
  std::string group_of(linux::KubeQos qos) const {
    if (!found_.driver) return {};
    const bool systemd = *found_.driver == policy::evict::GroupDriver::kSystemd;
    const auto driver = systemd ? linux::CgroupDriver::kSystemd : linux::CgroupDriver::kCgroupfs;
    return linux::Kubepods(driver, options_.kubelet_root).qos_path(qos);
  }

  void look_at_pods_limit(const linux::Hierarchies& groups) {
    const std::string all_pods = group_of(linux::KubeQos::kGuaranteed);
    if (all_pods.empty() || !memory_used_) return;
    const auto left = agent::PodsRoom(groups).look(all_pods);
    if (!left) return note(left.error(), "what pods have left of the memory of all of them is not known");
    if (*left) found_.ours.memory.full_for_pods = *memory_used_ + (*left)->value;
  }

  // The kubelet's group for BestEffort, unless an agent here names another.
  void look_at_protection(const linux::Hierarchies& groups) {
    policy::explain::ProtectionFound& found = found_.protection;
    if (found.group.empty()) found.group = group_of(linux::KubeQos::kBestEffort);
    const auto* home = groups.home(linux::File::kMemoryLow);
    found.handed_down = home != nullptr && groups.all()[home->hierarchy].hands_down_memory;
    if (found.group.empty()) return;
    const auto group = linux::Group::open(groups, found.group);
    if (!group) return note(group.error(), "the group above offline pods cannot be read");
    if (!*group) return;
    for (const linux::File file : {linux::File::kMemoryHigh, linux::File::kMemoryLimit}) {
      const auto limit = linux::read_value(**group, file, buffer_);
      if (limit && *limit && **limit != linux::kUnlimited)
        found.limit_bytes = std::min(**limit, found.limit_bytes.value_or(**limit));
    }
  }

  // As an agent here would go by them if it began now. One that runs has its own moment within --line-ends-within after
  // the end of a raised line.
  void look_at_settings() {
    const auto spec = kept_spec();
    report_.heard_settings = spec.has_value();
    const auto step = policy::settings::next_node_rules({}, spec);
    for (const policy::settings::RulesProblem& each : step.problems) {
      report_.notes.push_back(base::cat("of the NodeSLO ", each.part, " cannot be used: ", each.why));
    }
    if (auto text = policy::protect::without_effect_text(step.rules); !text.empty())
      report_.notes.push_back(std::move(text));
    const policy::settings::LinesHeld held = policy::settings::lines_held(step.rules, now_);
    found_.ours.go_by(held.rules);
    found_.lines_ended = to_string(held);
    found_.lines_forgotten = now_ - held.since >= policy::settings::kManagerPatience;
  }

  std::optional<std::string> kept_spec() {
    constexpr std::string_view kUnread = "the NodeSLO that an agent here heard last cannot be read";
    const auto bytes = agent::KeptObjects(options_.places.run_dir).read(agent::KeptObject::kNodeSlo);
    if (!bytes) note(bytes.error(), kUnread);
    if (!bytes || !*bytes) return std::nullopt;
    kube::Interner interner;
    auto slo = kube::decode_node_slo(**bytes, {}, interner);
    if (!slo) note(slo.error(), kUnread);
    return slo ? std::optional(std::move(slo->spec)) : std::nullopt;
  }

  void look_at_disks() {
    const auto space = [&](const std::string& folder, std::string_view trouble) {
      auto found = linux::filesystem_space(folder);
      if (!found) note(found.error(), trouble);
      return found ? *found : std::nullopt;
    };
    const auto kubelet = space(options_.kubelet_dir, "the kubelet's disk is not known");
    auto runtime = space(options_.runtime_dir, "the container runtime's disk is not known");
    if (!runtime) runtime = kubelet;  // as where both are one
    if (kubelet) {
      found_.ours.disk.capacity = kubelet->bytes;
      found_.ours.disk_inodes.capacity = kubelet->inodes;
    }
    if (runtime) {
      found_.ours.runtime_disk.capacity = runtime->bytes;
      found_.ours.runtime_inodes.capacity = runtime->inodes;
    }
  }

  const DoctorOptions& options_;
  linux::ProbeRim& kernel_;
  linux::KillRim& killing_;
  const base::WallTime now_;
  linux::Buffer buffer_;
  std::optional<std::int64_t> memory_used_;
  agent::KnobTrials trials_;
  policy::explain::NodeFound found_;
  DoctorReport report_;
};

std::string_view word(TriedBy by) {
  switch (by) {
    case TriedBy::kAgent:
      return "agent";
    case TriedBy::kCommand:
      return "command";
    case TriedBy::kNone:
      return "none";
  }
  return "unknown";
}

}  // namespace

net::Task<Result<DoctorReport>> examine_node(const DoctorOptions& options, DoctorOutside outside) {
  Examination examination(options, outside);
  TM_CO_TRY_VOID(examination.look());
  examination.hear_kubelet(co_await agent::ask_configz(outside.kubelet, std::move(outside.bearer)));
  co_return std::move(examination).report();
}

std::optional<std::string> kept_node_name(const std::string& run_dir) {
  const auto bytes = agent::KeptObjects(run_dir).read(agent::KeptObject::kNode);
  if (!bytes || !*bytes) return std::nullopt;
  kube::Interner interner;
  const auto node = kube::decode_node(**bytes, {}, interner);
  if (!node || node->meta.name.view().empty()) return std::nullopt;
  return std::string(node->meta.name.view());
}

std::string render_text(const DoctorReport& report) {
  std::string out = policy::explain::render_text(report.findings);
  const auto line = [&](const auto&... parts) { out += base::cat(parts..., "\n"); };
  line();
  if (report.tried_by == TriedBy::kAgent) {
    line("an agent runs here: its trial at start shows what the kernel accepts");
  } else if (report.tried_by == TriedBy::kCommand) {
    line(report.agent_runs ? "the agent here reports no kernel trial" : "no agent runs here",
         ": this command tested the kernel in its own cgroup");
  }
  line(report.heard_settings ? "settings: the last NodeSLO that an agent here received"
                             : "settings: the defaults; no agent here kept a NodeSLO");
  for (const std::string& each : report.notes) line("note: ", each);
  return out;
}

Json render_json(const DoctorReport& report) {
  Json out = policy::explain::render_json(report.findings);
  out["agentRuns"] = Json(report.agent_runs);
  out["kernelTriedBy"] = Json(word(report.tried_by));
  out["settings"] = Json(report.heard_settings ? "nodeslo" : "defaults");
  Json::Array notes(report.notes.begin(), report.notes.end());
  out["notes"] = Json(std::move(notes));
  return out;
}

}  // namespace tidemark::cli
