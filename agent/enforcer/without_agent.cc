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

// Whether anybody is in a group, or below it. One that cannot be looked at counts as if somebody were: it is better
// kept than loosened.
class Occupied {
 public:
  Occupied(const linux::Hierarchies& hierarchies, std::vector<Error>& troubles)
      : hierarchies_(hierarchies), troubles_(troubles) {}

  bool operator()(const std::string& path) {
    const auto known = known_.find(path);
    if (known != known_.end()) return known->second;
    auto found = look(path, 0);
    if (!found) troubles_.push_back(std::move(found).error());
    return known_[path] = found.value_or(true);
  }

 private:
  Result<bool> look(const std::string& path, int depth) {
    TM_TRY(const auto group, linux::Group::open(hierarchies_, path));
    if (!group) return false;
    std::vector<pid_t> processes;
    TM_TRY(const bool there, linux::read_processes(*group, File::kProcesses, buffer_, processes));
    if (!there) return false;
    if (!processes.empty()) return true;
    if (depth == kDepthMax) return true;  // nobody looked
    const auto* directory = directory_of(hierarchies_, *group, File::kProcesses);
    if (directory == nullptr) return false;
    linux::Place folder = group->place(File::kProcesses);
    folder.name = {};
    std::vector<std::string> below;
    TM_TRY([[maybe_unused]] const bool listed, linux::list_folders(directory->fd.get(), below, folder));
    for (const std::string& each : below) {
      TM_TRY(const bool found, look(path.empty() ? each : base::cat(path, "/", each), depth + 1));
      if (found) return true;
    }
    return false;
  }

  const linux::Hierarchies& hierarchies_;
  std::vector<Error>& troubles_;
  linux::Buffer buffer_;
  std::map<std::string, bool> known_;
};

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

bool is_wanted(const std::vector<policy::KnobWrite>& wanted, std::string_view group, File file) {
  return std::ranges::any_of(wanted,
                             [&](const auto& each) { return each.group == group && file_of(each.knob) == file; });
}

bool lies_below(std::string_view group, std::string_view above) {
  return group.size() > above.size() && group.starts_with(above) && group[above.size()] == '/';
}

// All that narrows offline work which still runs: where suppression held it, else its group as a whole.
std::vector<policy::KnobWrite> what_holds(const FoundFiles& files, const std::string& offline_group,
                                          Occupied& occupied) {
  std::vector<policy::KnobWrite> wanted;
  for (const auto& [id, file] : files) {
    auto least = least_of(file);
    if (least && occupied(file.group)) wanted.push_back(std::move(*least));
  }
  const bool held = std::ranges::find(wanted, offline_group, &policy::KnobWrite::group) != wanted.end();
  if (!offline_group.empty() && !held && occupied(offline_group)) wanted.push_back(least_quota(offline_group));
  // A kernel of version 1 refuses a quota below which a group has more, as pods with limits of their own do.
  std::vector<policy::KnobWrite> below;
  for (const auto& [id, file] : files) {
    if (file.file != File::kCpuQuota || is_wanted(wanted, file.group, File::kCpuQuota)) continue;
    const bool under = std::ranges::any_of(wanted, [&](const policy::KnobWrite& above) {
      return above.knob == policy::Knob::kCpuQuota && lies_below(file.group, above.group);
    });
    if (under && occupied(file.group)) below.push_back(least_quota(file.group));
  }
  std::ranges::move(below, std::back_inserter(wanted));
  return wanted;
}

const Deed* refusal(const Enforced& enforced, std::string_view group, File file) {
  const auto found = std::ranges::find_if(
      enforced.deeds, [&](const Deed& deed) { return deed.error && deed.group == group && deed.file == file; });
  return found == enforced.deeds.end() ? nullptr : &*found;
}

void off_files(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer, FoundJournal& journal,
               const std::string& offline_group, const base::Clock& clock, WithoutAgent& out) {
  const std::size_t files_before = journal.files().size();
  const std::uint32_t last_before = journal.read_at_start().last_id;
  Enforcer enforcer(hierarchies, writer, journal, clock);
  Occupied occupied(hierarchies, out.troubles);
  const std::vector<policy::KnobWrite> wanted = what_holds(journal.files(), offline_group, occupied);
  std::set<std::string, std::less<>> busy;
  for (const auto& [id, file] : journal.files()) {
    if (occupied(file.group)) busy.insert(file.group);
  }
  enforcer.keep(std::move(busy));
  Permits permits;
  permits.fill(Permit::kEnforce);
  const Enforced& enforced = enforcer.carry_out(wanted, permits);
  if (enforced.journal) out.troubles.push_back(*enforced.journal);
  out.put_back = enforced.put_back;
  for (const policy::KnobWrite& each : wanted) {
    const File file = file_of(each.knob);
    if (enforcer.stands(each.group, file)) continue;
    const Deed* refused = refusal(enforced, each.group, file);
    out.not_held.push_back({each.group, std::string(found_name(file)), refused != nullptr ? refused->before : "",
                            refused != nullptr ? refused->error->message : "it could not be written"});
  }
  std::size_t kept = 0;
  for (const auto& [id, file] : journal.files()) {
    if (id <= last_before) ++kept;
    const Deed* refused = refusal(enforced, file.group, file.file);
    out.left.push_back({file.group, std::string(found_name(file.file)), file.found,
                        refused != nullptr ? refused->error->message : "processes run in it"});
  }
  out.gone = static_cast<std::int64_t>(files_before - kept) - out.put_back;
}

void off_oom_scores(const linux::Hierarchies& hierarchies, const AgentGone& gone, WithoutAgent& out) {
  auto scores = OomScores::open(hierarchies, gone.proc_root, gone.journal_folder, gone.boot_id);
  if (!scores) {
    out.troubles.push_back(std::move(scores).error());
    return;
  }
  bool more = true;
  for (std::size_t pass = 0; more && pass <= kOomProcessesMax / kOomWritesAPass; ++pass) {
    const OomReport& report = scores->wind_down();
    out.put_back += std::ranges::count(report.deeds, model::Reason::kAgentPutBack, &OomDeed::reason);
    more = report.more && !report.journal;
    if (report.journal) out.troubles.push_back(*report.journal);
  }
  std::ranges::move(oom_scores_left(scores->entries(), "they run still"), std::back_inserter(out.left));
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
  WithoutAgent out;
  auto journal = FoundJournal::open(gone.journal_folder, gone.boot_id);
  if (!journal && journal.error().kind == ErrorKind::kAlreadyExists) return fail(std::move(journal).error());
  if (journal) {
    off_files(hierarchies, writer, *journal, gone.offline_group, clock, out);
  } else {
    out.troubles.push_back(std::move(journal).error().within("nothing is held and nothing put back"));
  }
  off_oom_scores(hierarchies, gone, out);
  return out;
}

}  // namespace tidemark::agent
