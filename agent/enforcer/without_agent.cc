#include "agent/enforcer/without_agent.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/enforcer/enforcer.h"
#include "agent/enforcer/oom_scores.h"
#include "base/text.h"
#include "linux/cgroup/processes.h"
#include "linux/cpu_set.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {
namespace {

using linux::File;

constexpr int kDepthMax = 16;  // of groups below one

Result<bool> has_processes(const linux::Hierarchies& hierarchies, const std::string& path, linux::Buffer& buffer,
                           int depth = 0) {
  TM_TRY(const auto group, linux::Group::open(hierarchies, path));
  if (!group) return false;
  std::vector<pid_t> processes;
  TM_TRY(const bool there, linux::read_processes(*group, File::kProcesses, buffer, processes));
  if (!there) return false;
  if (!processes.empty()) return true;
  if (depth == kDepthMax) return true;  // nobody looked: better kept
  const auto* directory = directory_of(hierarchies, *group, File::kProcesses);
  if (directory == nullptr) return false;
  linux::Place folder = group->place(File::kProcesses);
  folder.name = {};
  std::vector<std::string> below;
  TM_TRY([[maybe_unused]] const bool listed, linux::list_folders(directory->fd.get(), below, folder));
  for (const std::string& each : below) {
    TM_TRY(const bool found,
           has_processes(hierarchies, path.empty() ? each : base::cat(path, "/", each), buffer, depth + 1));
    if (found) return true;
  }
  return false;
}

policy::KnobWrite least_quota(const std::string& group) {
  policy::KnobWrite out;
  out.group = group;
  out.knob = policy::Knob::kCpuQuota;
  out.value = policy::kSuppressQuotaMin_us;
  out.reason = model::Reason::kSuppressNodeOff;
  return out;
}

// Of what suppression wrote: the least that it leaves to offline work.
std::optional<policy::KnobWrite> least_of(const FoundFile& file) {
  if (file.strategy != model::Strategy::kCpuSuppress || file.written.empty()) return std::nullopt;
  if (file.file == File::kCpuQuota) return least_quota(file.group);
  policy::KnobWrite write;
  write.group = file.group;
  write.reason = model::Reason::kSuppressNodeOff;
  const auto set = linux::CpuSet::parse(file.written.back());
  if (file.file != File::kCpusetCpus || !set) return std::nullopt;
  write.knob = policy::Knob::kCpusetCpus;
  for (int cpu = set->next(0); cpu >= 0 && std::ssize(write.cpus) < policy::kSuppressCpusMin;
       cpu = set->next(cpu + 1)) {
    write.cpus.push_back(cpu);
  }
  return write.cpus.empty() ? std::nullopt : std::optional(write);
}

}  // namespace

std::vector<LeftBehind> oom_scores_left(const OomEntries& entries, std::string_view why) {
  std::map<std::pair<std::string_view, std::int64_t>, std::size_t> counts;
  for (const auto& [pid, entry] : entries) ++counts[{entry.group, entry.found}];
  std::vector<LeftBehind> out;
  for (const auto& [which, count] : counts) {
    out.push_back({std::string(which.first),
                   base::cat("oom_score_adj of ", count, count == 1 ? " process" : " processes"),
                   base::cat(which.second), std::string(why)});
  }
  return out;
}

Result<WithoutAgent> off_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                       const AgentGone& gone, const base::Clock& clock) {
  TM_TRY(FoundJournal journal, FoundJournal::open(gone.journal_folder, gone.boot_id));
  Enforcer enforcer(hierarchies, writer, journal, clock);
  linux::Buffer buffer;
  std::set<std::string, std::less<>> busy;
  std::set<std::string, std::less<>> looked;
  for (const auto& [id, file] : journal.files()) {
    if (!looked.insert(file.group).second) continue;
    TM_TRY(const bool runs, has_processes(hierarchies, file.group, buffer));
    if (runs) busy.insert(file.group);
  }
  std::vector<policy::KnobWrite> wanted;
  for (const auto& [id, file] : journal.files()) {
    if (!busy.contains(file.group)) continue;
    if (auto least = least_of(file)) wanted.push_back(std::move(*least));
  }
  const std::string& offline_group = gone.offline_group;
  const bool held = std::ranges::find(wanted, offline_group, &policy::KnobWrite::group) != wanted.end();
  if (!offline_group.empty() && !held) {
    TM_TRY(const bool runs, has_processes(hierarchies, offline_group, buffer));
    if (runs) {
      busy.insert(offline_group);
      wanted.push_back(least_quota(offline_group));
    }
  }
  const std::size_t before = journal.files().size();
  enforcer.keep(busy);
  Permits permits;
  permits.fill(Permit::kEnforce);
  const Enforced& enforced = enforcer.carry_out(wanted, permits);
  if (enforced.journal) return fail(*enforced.journal);
  WithoutAgent out;
  out.put_back = enforced.put_back;
  for (const auto& [id, file] : journal.files()) {
    const auto refused = std::ranges::find_if(enforced.deeds, [&](const Deed& deed) {
      return deed.error && deed.group == file.group && deed.file == file.file;
    });
    out.left.push_back({file.group, std::string(found_name(file.file)), file.found,
                        refused != enforced.deeds.end() ? refused->error->message : "processes run in it"});
  }
  out.gone = static_cast<std::int64_t>(before - journal.files().size()) - out.put_back;
  TM_TRY(OomScores scores, OomScores::open(hierarchies, gone.proc_root, gone.journal_folder, gone.boot_id));
  bool more = true;
  for (std::size_t pass = 0; more && pass <= kOomProcessesMax / kOomWritesAPass; ++pass) {
    const OomReport& report = scores.wind_down();
    if (report.journal) return fail(*report.journal);
    out.put_back += std::ranges::count(report.deeds, model::Reason::kAgentPutBack, &OomDeed::reason);
    more = report.more;
  }
  std::ranges::move(oom_scores_left(scores.entries(), "they run still"), std::back_inserter(out.left));
  return out;
}

}  // namespace tidemark::agent
