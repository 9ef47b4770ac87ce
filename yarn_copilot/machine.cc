#include "yarn_copilot/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <limits>
#include <set>
#include <utility>

#include "base/text.h"
#include "copilot/yarn_id.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/make.h"
#include "linux/cgroup/memory.h"
#include "linux/cgroup/processes.h"
#include "linux/proc/process.h"

namespace tidemark::yarn_copilot {
namespace {

using linux::File;
using linux::Group;

constexpr std::int64_t kQuotaMinUs = 1000;  // minimum of the kernel
constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kSharesPerCore = 1024;
constexpr int kAdoptRounds = 10;
constexpr pid_t kInit = 1;
constexpr linux::Controllers kOnlyCpuset = linux::controllers_of({linux::Controller::kCpuset});
constexpr linux::Controllers kOnlyIo = linux::controllers_of({linux::Controller::kIo});
// Controllers that measure and limit a container's cgroup. A kubelet enables these for its pods too, so the cgroups
// above that of all containers do not change.
constexpr linux::Controllers kOfContainers =
    linux::controllers_of({linux::Controller::kCpu, linux::Controller::kMemory, linux::Controller::kPids});

bool only_cpuset(const linux::Hierarchy& one) {
  return one.version == linux::Version::kV1 && one.controllers == kOnlyCpuset;
}

std::int64_t ticks_per_second() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? ticks : 100;
}

base::Duration of_ticks(std::int64_t ticks) {
  const std::int64_t rate = ticks_per_second();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / kNsPerS - 1;
  const std::int64_t bounded = std::clamp<std::int64_t>(ticks, 0, most * rate);
  return base::Duration(bounded / rate * kNsPerS + bounded % rate * kNsPerS / rate);
}

// Value of this file if cgroup and file exist.
std::optional<std::int64_t> value_of(const Group& group, File file, linux::Buffer& buffer) {
  const auto value = linux::read_value(group, file, buffer);
  return value ? *value : std::nullopt;
}

std::int64_t period_of(const Group& group, linux::Buffer& buffer) {
  const std::int64_t period = value_of(group, File::kCpuPeriod, buffer).value_or(kPeriodUs);
  return period > 0 ? period : kPeriodUs;
}

Limits limits_of(const Group& group, linux::Buffer& buffer) {
  Limits out;
  const auto quota = value_of(group, File::kCpuQuota, buffer);
  if (quota && *quota >= 0) {
    const double cores = static_cast<double>(*quota) / static_cast<double>(period_of(group, buffer));
    out.cpu = model::CpuMilli{std::llround(cores * kMilli)};
  }
  const auto memory = value_of(group, File::kMemoryLimit, buffer);
  if (memory && *memory >= 0) out.memory = model::MemoryBytes{*memory};
  return out;
}

// Already gone: nothing to move.
Result<void> put_process(const std::string& file, pid_t pid) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return base::fail_errno(errno, base::cat("open ", file));
  const std::string text = std::to_string(pid);
  if (::write(fd.get(), text.data(), text.size()) >= 0 || errno == ESRCH) return {};
  return base::fail_errno(errno, base::cat("moving process ", pid, " to ", file));
}

// Processes of a "cgroup.procs"; empty if the cgroup does not exist.
Result<std::set<pid_t>> processes_in(const std::string& file, linux::Buffer& buffer) {
  std::set<pid_t> out;
  TM_TRY(const auto text, linux::read_path(file, buffer));
  std::vector<pid_t> pids;
  if (text) TM_TRY_VOID(linux::parse_processes(*text, pids));
  out.insert(pids.begin(), pids.end());
  return out;
}

// nullopt: it is gone.
std::optional<linux::ProcessStat> stat_of(const linux::Folder& proc, pid_t pid, linux::Buffer& buffer) {
  const auto text = proc.read(base::cat(pid, "/stat").c_str(), buffer);
  if (!text || !*text) return std::nullopt;
  auto stat = linux::parse_process_stat(**text);
  return stat ? std::optional(std::move(*stat)) : std::nullopt;
}

// Whether its command line contains that name as a whole word or path component.
bool names_container(const linux::Folder& proc, pid_t pid, std::string_view id, linux::Buffer& buffer) {
  const auto text = linux::read_path(base::cat(proc.path(), "/", pid, "/cmdline"), buffer);
  if (!text || !*text) return false;
  const std::string_view line = **text;
  const auto edge = [&](std::size_t at) { return at >= line.size() || line[at] == '\0' || line[at] == '/'; };
  for (std::size_t at = line.find(id); at != std::string_view::npos; at = line.find(id, at + 1)) {
    if ((at == 0 || edge(at - 1)) && edge(at + id.size())) return true;
  }
  return false;
}

// The shell of "bash -c COMMAND", with which a NodeManager starts a container: it leads the session, waits for a child,
// and would end by SIGTERM. Its end is the end of the container for the NodeManager, which then signals all others and
// kills them 250 ms later (yarn.nodemanager.sleep-delay-before-sigkill.ms).
std::set<pid_t> waiting_shells(const linux::Folder& proc, const std::set<pid_t>& processes, linux::Buffer& buffer) {
  std::set<pid_t> out, parents;
  for (const pid_t pid : processes) {
    const auto stat = stat_of(proc, pid, buffer);
    if (!stat || stat->ended) continue;
    parents.insert(stat->parent);
    if (stat->session == pid && !processes.contains(stat->parent)) out.insert(pid);
  }
  std::erase_if(out, [&](pid_t pid) {
    if (!parents.contains(pid)) return true;
    const auto handles = linux::read_handles(proc, pid, SIGTERM, buffer);
    return !handles || handles->value_or(true);
  });
  return out;
}

std::string refusal(const linux::WriteReport& report, const Group& group, File file) {
  if (report.error) return report.error->message;
  return base::cat(group.place(file).text(), ": ", linux::to_string(report.outcome));
}

}  // namespace

std::string_view to_string(EndedBy by) {
  switch (by) {
    case EndedBy::kNone:
      return "none";
    case EndedBy::kGroup:
      return "group";
    case EndedBy::kProcesses:
      return "processes";
  }
  return "none";
}

Machine::Machine(const linux::Hierarchies& hierarchies, const linux::Hierarchies& others, const linux::Folder& proc,
                 linux::KillRim& rim, std::string parent, bool adopts, bool one_of_disks)
    : hierarchies_(hierarchies),
      others_(others),
      proc_(proc),
      rim_(rim),
      parent_(std::move(parent)),
      adopts_(adopts),
      shared_(one_of_disks ? kOnlyCpuset | kOnlyIo : kOnlyCpuset) {}

std::string Machine::group_of(std::string_view id) const {
  return base::cat(parent_, "/", id);
}

bool Machine::has_group(std::string_view id) const {
  const auto group = Group::open(hierarchies_, group_of(id));
  return group && *group;
}

Result<linux::MarkedProcesses> Machine::marked() {
  return linux::find_marked(proc_, kContainerVariable, rim_.self(), buffer_);
}

Result<std::optional<Use>> Machine::use_of_group(std::string_view id) {
  TM_TRY(const auto group, Group::open(hierarchies_, group_of(id)));
  if (!group) return std::nullopt;
  Use out;
  std::vector<pid_t> pids;
  // List of one hierarchy: its NodeManager makes a container in all of its hierarchies.
  TM_TRY(const bool there, linux::read_processes(*group, File::kProcesses, buffer_, pids));
  if (!there) return std::nullopt;
  out.processes = static_cast<std::int64_t>(pids.size());
  const auto cpu = linux::read_cpu_usage_ns(*group, buffer_);
  if (!cpu && cpu.error().kind != ErrorKind::kUnsupported) return fail(cpu.error());
  if (cpu) out.cpu_ns = *cpu;
  const auto memory = linux::read_memory_use(*group, buffer_);
  if (!memory && memory.error().kind != ErrorKind::kUnsupported) return fail(memory.error());
  if (memory && *memory) out.memory_bytes = (*memory)->working_set_bytes;
  std::optional<std::int64_t> oldest;
  for (const pid_t pid : pids) {
    const auto ticks = linux::read_start_ticks(proc_, pid, buffer_);
    if (ticks && *ticks) oldest = std::min(oldest.value_or(**ticks), **ticks);
  }
  if (oldest) out.began = base::BootTime{of_ticks(*oldest)};
  return out;
}

Use Machine::use_of(const std::vector<linux::MarkedProcess>& processes) const {
  Use out;
  out.cpu_ns = out.memory_bytes = 0;
  std::optional<std::int64_t> oldest;
  const std::int64_t page = std::max<long>(::sysconf(_SC_PAGESIZE), 1);
  for (const linux::MarkedProcess& each : processes) {
    if (each.waits) continue;
    ++out.processes;
    *out.cpu_ns += of_ticks(each.cpu_ticks).count();
    *out.memory_bytes += std::min(each.resident_pages, std::numeric_limits<std::int64_t>::max() / page / 4096) * page;
    oldest = std::min(oldest.value_or(each.start_ticks), each.start_ticks);
  }
  if (oldest) out.began = base::BootTime{of_ticks(*oldest)};
  return out;
}

Result<Limits> Machine::limits(std::string_view id) {
  TM_TRY(const auto group, Group::open(hierarchies_, group_of(id)));
  if (!group) return fail(ErrorKind::kNotFound, "no cgroup ", base::in_quotes(group_of(id)));
  return limits_of(*group, buffer_);
}

Result<Limits> Machine::set_limits(std::string_view id, const Limits& wanted) {
  TM_TRY(const auto group, Group::open(hierarchies_, group_of(id)));
  if (!group) {
    return fail(ErrorKind::kNotFound, "no cgroup ", base::in_quotes(group_of(id)), "; cannot limit without a cgroup");
  }
  linux::KernelWriter writer;
  std::vector<linux::FileWrite> writes;
  const auto add = [&](File file, std::int64_t value) -> Result<void> {
    const auto version = group->version(file);
    if (!version || !group->has(file)) {
      return fail(ErrorKind::kUnsupported, group->place(file).text(), " is not there");
    }
    TM_TRY(std::string text, linux::value_text(file, *version, value));
    writes.push_back({&*group, file, std::move(text), std::nullopt});
    return {};
  };
  if (wanted.cpu) {
    const std::int64_t period = period_of(*group, buffer_);
    std::int64_t quota = 0;
    if (__builtin_mul_overflow(wanted.cpu->value, period, &quota)) quota = std::numeric_limits<std::int64_t>::max();
    TM_TRY_VOID(add(File::kCpuQuota, std::max(quota / kMilli, kQuotaMinUs)));
  }
  if (wanted.memory) TM_TRY_VOID(add(File::kMemoryLimit, wanted.memory->value));

  // Both or none: if the second write fails, the first is undone.
  std::vector<std::pair<File, std::string>> written;
  for (const linux::FileWrite& each : writes) {
    const linux::WriteReport report = linux::compare_and_write(each, writer, buffer_);
    if (report.outcome == linux::WriteOutcome::kWritten) {
      written.emplace_back(each.file, report.found);
    } else if (report.outcome != linux::WriteOutcome::kAlready) {
      for (const auto& [file, found] : written) {
        (void)linux::compare_and_write({&*group, file, found, std::nullopt}, writer, buffer_);
      }
      return fail(ErrorKind::kIo, refusal(report, *group, each.file));
    }
  }
  return limits_of(*group, buffer_);
}

std::vector<std::string> Machine::groups() const {
  std::vector<std::string> out, names;
  for (const linux::Hierarchies* some : {&hierarchies_, &others_}) {
    for (std::size_t i = 0; i < some->all().size(); ++i) {
      const linux::Place place{some->all()[i].path, parent_, {}};
      const auto parent = linux::open_beneath(some->directory(i), parent_, place);
      if (!parent || !*parent) continue;
      if (const auto listed = linux::list_folders((*parent)->fd.get(), names, place); !listed) continue;
      for (const std::string& name : names) {
        if (copilot::parse_yarn_container(name)) out.push_back(name);
      }
    }
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

Result<void> Machine::make(const std::string& group) const {
  TM_TRY_VOID(linux::make_group(hierarchies_, group, shared_, kOfContainers));
  if (shared_ != kOnlyCpuset) TM_TRY_VOID(linux::make_group(hierarchies_, parent_, kOnlyCpuset, kOfContainers));
  return linux::make_group(others_, group);
}

bool Machine::is_shared(const linux::Hierarchy& one) const {
  return one.version == linux::Version::kV1 && (one.controllers & ~shared_).none();
}

std::vector<std::string> Machine::process_files(const std::string& group) const {
  std::vector<std::string> out;
  for (const linux::Hierarchy& one : hierarchies_.all()) {
    if (!is_shared(one)) out.push_back(base::cat(one.path, "/", group, "/cgroup.procs"));
  }
  for (std::string& file : linux::process_files(others_, group)) out.push_back(std::move(file));
  return out;
}

std::string_view Machine::above_parent() const {
  return std::string_view(parent_).substr(0, std::min(parent_.rfind('/'), parent_.size()));
}

// Processes with its name, except its waiting parents.
Result<std::set<pid_t>> Machine::strays_of(const std::string& id, linux::Buffer& buffer) const {
  TM_TRY(auto found, linux::find_marked(proc_, kContainerVariable, rim_.self(), buffer));
  std::set<pid_t> out;
  for (const linux::MarkedProcess& each : found[id]) {
    if (!each.waits) out.insert(each.pid);
  }
  return out;
}

// Moves them into the cgroup of each hierarchy. Returns how many had to be moved.
Result<std::size_t> Machine::gather(const std::string& group, const std::set<pid_t>& processes,
                                    linux::Buffer& buffer) const {
  std::set<pid_t> moved;
  bool made = false;
  std::vector<std::string> files = process_files(group);
  for (const linux::Hierarchy& one : hierarchies_.all()) {
    if (!is_shared(one)) continue;
    files.push_back(base::cat(one.path, "/", only_cpuset(one) ? above_parent() : parent_, "/cgroup.procs"));
  }
  for (const std::string& file : files) {
    TM_TRY(const std::set<pid_t> there, processes_in(file, buffer));
    for (const pid_t pid : processes) {
      if (there.contains(pid)) continue;
      if (!made) TM_TRY_VOID(make(group));
      made = true;
      TM_TRY_VOID(put_process(file, pid));
      moved.insert(pid);
    }
  }
  return moved.size();
}

// Parents of the first process of its session: started by the NodeManager for this container, with its name.
std::set<pid_t> Machine::waiting_for(const std::string& id, const std::set<pid_t>& processes,
                                     linux::Buffer& buffer) const {
  std::set<pid_t> out;
  for (const pid_t pid : processes) {
    auto stat = stat_of(proc_, pid, buffer);
    if (!stat || stat->session != pid) continue;
    for (pid_t above = stat->parent; above > kInit && above != rim_.self(); above = stat->parent) {
      if (processes.contains(above) || !names_container(proc_, above, id, buffer)) break;
      if (!out.insert(above).second) break;
      stat = stat_of(proc_, above, buffer);
      if (!stat) break;
    }
  }
  return out;
}

Result<std::size_t> Machine::adopt(const std::string& id, model::Resources holds) const {
  TM_TRY(const auto home, Group::open(hierarchies_, above_parent()));
  if (!home) {
    return fail(ErrorKind::kNotFound, "no cgroup ", base::in_quotes(above_parent()),
                ": the kubelet must make it first");
  }
  linux::Buffer buffer;
  const std::string group = group_of(id);
  std::size_t moved = 0;
  std::set<pid_t> processes;
  for (int round = 0; round < kAdoptRounds; ++round) {
    // A process that forks while it is moved has children in some of its cgroups, or with its name; the next round
    // finds them.
    std::set<pid_t> found;
    for (const std::string& file : process_files(group)) {
      TM_TRY(const std::set<pid_t> there, processes_in(file, buffer));
      found.insert(there.begin(), there.end());
    }
    const bool stray = found.empty();
    if (stray) {
      TM_TRY(found, strays_of(id, buffer));
      if (found.empty()) break;
      TM_TRY_VOID(make(group));
      TM_TRY_VOID(give(id, holds, buffer));
    }
    TM_TRY(const std::size_t now, gather(group, found, buffer));
    processes = std::move(found);
    moved += now;
    if (now == 0) break;
    if (stray) {  // others with its name
      TM_TRY(const std::set<pid_t> rest, strays_of(id, buffer));
      TM_TRY(const std::size_t late, gather(group, rest, buffer));
      moved += late;
    }
  }
  if (const auto waiting = waiting_for(id, processes, buffer); !waiting.empty()) {
    TM_TRY_VOID(gather(group_of(kWaitingGroup), waiting, buffer));
  }
  return moved;
}

// Same values as a LinuxContainerExecutor. Files that this kernel does not have are skipped.
Result<void> Machine::give(const std::string& id, model::Resources holds, linux::Buffer& buffer) const {
  TM_TRY(const auto group, Group::open(hierarchies_, group_of(id)));
  if (!group) return fail(ErrorKind::kNotFound, "its group ", base::in_quotes(group_of(id)), " is gone");
  linux::KernelWriter writer;
  const std::int64_t shares = std::clamp(holds.cpu.value / kMilli, std::int64_t{1}, linux::kSharesMax / kSharesPerCore);
  for (const auto& [file, value] :
       {std::pair(File::kCpuShares, shares * kSharesPerCore), std::pair(File::kMemoryLimit, holds.memory.value)}) {
    const auto version = group->version(file);
    if (!version || !group->has(file) || value <= 0) continue;
    TM_TRY(std::string text, linux::value_text(file, *version, value));
    const auto report = linux::compare_and_write({&*group, file, std::move(text), std::nullopt}, writer, buffer);
    if (report.error) return fail(*report.error);
  }
  return {};
}

Result<void> Machine::remove_empty(const std::string& id) const {
  return remove_if_empty(group_of(id));
}

Result<void> Machine::remove_waiting() const {
  return remove_if_empty(group_of(kWaitingGroup));
}

Result<void> Machine::remove_if_empty(const std::string& group) const {
  linux::Buffer buffer;
  for (const std::string& file : process_files(group)) {
    TM_TRY(const auto text, linux::read_path(file, buffer));
    if (text && !base::trim(*text).empty()) return {};
  }
  TM_TRY_VOID(linux::remove_group(hierarchies_, group));
  return linux::remove_group(others_, group);
}

Result<std::set<pid_t>> Machine::waiting_shells_of(const std::string& id) const {
  linux::Buffer buffer;
  std::set<pid_t> processes;
  for (const std::string& file : process_files(group_of(id))) {
    TM_TRY(const std::set<pid_t> there, processes_in(file, buffer));
    processes.insert(there.begin(), there.end());
  }
  if (processes.empty()) {
    TM_TRY(processes, strays_of(id, buffer));
  }
  return waiting_shells(proc_, processes, buffer);
}

Result<Machine::Ended> Machine::end(const std::string& id, bool ask) const {
  linux::KernelGroupKiller killer(hierarchies_, rim_);
  std::set<pid_t> spared;
  if (ask) {
    TM_TRY(spared, waiting_shells_of(id));
  }
  if (has_group(id)) {
    TM_TRY(auto report, ask ? killer.ask(group_of(id), spared) : killer.kill(group_of(id)));
    if (report.killed + report.left > 0) {
      // A process may have stayed outside a cgroup that was made later.
      if (adopts_ && !ask) {
        TM_TRY(const auto outside, linux::kill_marked(proc_, kContainerVariable, id, rim_));
        report.killed += outside.killed;
        report.left = std::max(report.left, outside.left);
      }
      return Ended{EndedBy::kGroup, report};
    }
  }
  // Without a cgroup, or with one that only its NodeManager uses.
  TM_TRY(const auto report, ask ? linux::signal_marked(proc_, kContainerVariable, id, SIGTERM, spared, rim_)
                                : linux::kill_marked(proc_, kContainerVariable, id, rim_));
  if (report.killed + report.left > 0) return Ended{EndedBy::kProcesses, report};
  return fail(ErrorKind::kNotFound, "no process on this machine belongs to container ", id);
}

Result<Machine::Ended> Machine::kill(const std::string& id) const {
  return end(id, false);
}

Result<Machine::Ended> Machine::ask(const std::string& id) const {
  return end(id, true);
}

}  // namespace tidemark::yarn_copilot
