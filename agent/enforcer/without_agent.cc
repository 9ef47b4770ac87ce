#include "agent/enforcer/without_agent.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "agent/enforcer/enforcer.h"
#include "agent/enforcer/occupied.h"
#include "agent/enforcer/oom_scores.h"
#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "policy/protect/suppress/room.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::agent {
namespace {

using linux::File;

policy::protect::KnobWrite least_quota(const std::string& group) {
  policy::protect::KnobWrite out;
  out.group = group;
  out.knob = policy::protect::Knob::kCpuQuota;
  out.value = policy::protect::kSuppressQuotaMin_us;
  out.reason = model::Reason::kSuppressNodeOff;
  return out;
}

// The least amount that suppression leaves to offline work, for a file that it wrote.
std::optional<policy::protect::KnobWrite> least_of(const FoundFile& file) {
  if (file.strategy != model::Strategy::kCpuSuppress || file.written.empty()) return std::nullopt;
  if (file.file == File::kCpuQuota) return least_quota(file.group);
  policy::protect::KnobWrite write;
  write.group = file.group;
  write.reason = model::Reason::kSuppressNodeOff;
  const auto set = linux::CpuSet::parse(file.written.back());
  if (file.file != File::kCpusetCpus || !set) return std::nullopt;
  write.knob = policy::protect::Knob::kCpusetCpus;
  for (int cpu = set->next(0); cpu >= 0 && std::ssize(write.cpus) < policy::protect::kSuppressCpusMin;
       cpu = set->next(cpu + 1)) {
    write.cpus.push_back(cpu);
  }
  return write.cpus.empty() ? std::nullopt : std::optional(write);
}

bool is_wanted(const std::vector<policy::protect::KnobWrite>& wanted, std::string_view group, File file) {
  return std::ranges::any_of(wanted,
                             [&](const auto& each) { return each.group == group && file_of(each.knob) == file; });
}

// The agent writes these files also for online pods, or for pods among offline work. All other files it writes only for
// offline work.
bool is_of_online_work(File file) {
  return file == File::kCpusetCpus || file == File::kCpuBvt || file == File::kCpuQosLevel;
}

// A priority that is normal or higher limits nothing.
bool holds_back(const FoundFile& file) {
  if (file.file != File::kCpuBvt && file.file != File::kCpuQosLevel) return true;
  const auto level = file.written.empty() ? std::nullopt : base::parse_int(file.written.back());
  return !level || *level < 0;
}

// The processes in the group of all BestEffort pods.
struct Inside {
  std::vector<std::string> offline;  // groups
  std::vector<std::string> unknown;
  bool online = false;
};

Inside look_inside(const FoundFiles& files, const AgentGone& gone, Occupied& occupied) {
  Inside out;
  if (gone.offline_group.empty()) return out;
  for (const std::string& each : occupied.below(gone.offline_group)) {
    if (gone.pods.online.contains(each)) {
      out.online = true;
      continue;
    }
    if (!occupied(each)) continue;
    const bool written = std::ranges::any_of(files, [&](const auto& entry) {
      const FoundFile& file = entry.second;
      return !is_of_online_work(file.file) && (file.group == each || policy::protect::lies_below(file.group, each));
    });
    (written || gone.pods.offline.contains(each) ? out.offline : out.unknown).push_back(each);
  }
  return out;
}

// All writes that limit offline work that still runs: in the groups that suppression limited, else in the common group,
// or in each offline group if online pods share it.
std::vector<policy::protect::KnobWrite> what_holds(const FoundFiles& files, const std::string& offline_group,
                                                   const Inside& inside, Occupied& occupied) {
  const bool alone = !inside.online && inside.unknown.empty();
  std::vector<policy::protect::KnobWrite> wanted;
  for (const auto& [id, file] : files) {
    if (!alone && file.group == offline_group && file.file == File::kCpuQuota) continue;  // it stays as it is
    auto least = least_of(file);
    if (least && occupied(file.group)) wanted.push_back(std::move(*least));
  }
  const bool held = std::ranges::find(wanted, offline_group, &policy::protect::KnobWrite::group) != wanted.end();
  if (alone && !held && !inside.offline.empty()) wanted.push_back(least_quota(offline_group));
  for (const std::string& each : inside.offline) {
    if (!alone && !held && !is_wanted(wanted, each, File::kCpuQuota)) wanted.push_back(least_quota(each));
  }
  // Kernel v1 refuses a quota below that of a child group, as pods with limits of their own have.
  std::vector<policy::protect::KnobWrite> below;
  for (const auto& [id, file] : files) {
    if (file.file != File::kCpuQuota || is_wanted(wanted, file.group, File::kCpuQuota)) continue;
    const bool under = std::ranges::any_of(wanted, [&](const policy::protect::KnobWrite& above) {
      return above.knob == policy::protect::Knob::kCpuQuota && policy::protect::lies_below(file.group, above.group);
    });
    if (under && occupied(file.group)) below.push_back(least_quota(file.group));
  }
  std::ranges::move(below, std::back_inserter(wanted));
  return wanted;
}

void tell_unread(const Enforcer& enforcer, WithoutAgent& out) {
  if (enforcer.unread() == 0) return;
  out.troubles.push_back(Error{ErrorKind::kIo,
                               base::cat(enforcer.unread(),
                                         " files could not be read: they are unchanged, and the journal keeps "
                                         "their original values. Give the order again"),
                               0, 0});
}

const Deed* refusal(const Enforced& enforced, std::string_view group, File file) {
  const auto found = std::ranges::find_if(
      enforced.deeds, [&](const Deed& deed) { return deed.error && deed.group == group && deed.file == file; });
  return found == enforced.deeds.end() ? nullptr : &*found;
}

void off_files(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer, FoundJournal& journal,
               const AgentGone& gone, const base::Clock& clock, WithoutAgent& out) {
  const std::size_t files_before = journal.files().size();
  const std::uint32_t last_before = journal.read_at_start().last_id;
  Enforcer enforcer(hierarchies, writer, journal, clock);
  Occupied occupied(hierarchies, gone.pods.online, out.troubles);
  const Inside inside = look_inside(journal.files(), gone, occupied);
  for (const std::string& each : inside.unknown) {
    out.troubles.push_back(
        Error{ErrorKind::kNotFound,
              base::cat(each, " is not limited: it started without an agent, so its class is unknown"), 0, 0});
  }
  const std::vector<policy::protect::KnobWrite> wanted =
      what_holds(journal.files(), gone.offline_group, inside, occupied);
  std::set<std::string, std::less<>> busy;
  for (const auto& [id, file] : journal.files()) {
    if (holds_back(file) && occupied(file.group)) busy.insert(file.group);
  }
  enforcer.keep(std::move(busy));
  Permits permits;
  permits.fill(Permit::kEnforce);
  const Enforced& enforced = enforcer.carry_out(wanted, permits);
  if (enforced.journal) out.troubles.push_back(*enforced.journal);
  tell_unread(enforcer, out);
  out.put_back = enforced.put_back;
  for (const policy::protect::KnobWrite& each : wanted) {
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
    if (!report.trouble.empty() && !more) out.troubles.push_back({ErrorKind::kUnavailable, report.trouble});
  }
  std::ranges::move(oom_scores_left(scores->entries(), "they still run"), std::back_inserter(out.left));
}

// v2 shows a period after it.
std::optional<std::int64_t> quota_in(std::string_view text) {
  const auto quota = linux::parse_limit(text.substr(0, text.find(' ')));
  return quota ? std::optional(*quota) : std::nullopt;
}

// The value before the file was tightened to its least. nullopt: it is restored anyway, or is not a file tightened this
// way.
std::optional<policy::protect::KnobWrite> before_least(const FoundFile& file) {
  policy::protect::KnobWrite out;
  out.group = file.group;
  out.reason = model::Reason::kAgentPutBack;
  if (file.file == File::kCpuQuota) {
    const auto is_least = [](const std::string& text) {
      return quota_in(text) == policy::protect::kSuppressQuotaMin_us;
    };
    const auto last = std::ranges::find_if_not(file.written.rbegin(), file.written.rend(), is_least);
    const auto quota = last == file.written.rend() ? std::nullopt : quota_in(*last);
    // What suppression wrote is restored if unwanted; for other strategies only wanted values are written.
    const bool goes_back = file.strategy == model::Strategy::kCpuSuppress && quota == quota_in(file.found);
    if (!quota || goes_back) return std::nullopt;
    out.knob = policy::protect::Knob::kCpuQuota;
    out.value = *quota;
    return out;
  }
  if (file.file != File::kCpusetCpus || file.written.empty()) return std::nullopt;
  const auto is_more = [](const std::string& text) {
    const auto set = linux::CpuSet::parse(text);
    return set && set->count() > policy::protect::kSuppressCpusMin;
  };
  const auto more = std::ranges::find_if(file.written.rbegin(), file.written.rend(), is_more);
  const auto set = linux::CpuSet::parse(more == file.written.rend() ? file.written.back() : *more);
  if (!set) return std::nullopt;
  out.knob = policy::protect::Knob::kCpusetCpus;
  for (int cpu = set->next(0); cpu >= 0; cpu = set->next(cpu + 1)) out.cpus.push_back(cpu);
  return out;
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
    off_files(hierarchies, writer, *journal, gone, clock, out);
  } else {
    out.troubles.push_back(std::move(journal).error().within("nothing is limited and nothing restored"));
  }
  off_oom_scores(hierarchies, gone, out);
  return out;
}

Result<WithoutAgent> on_without_agent(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer,
                                      const AgentGone& gone, const base::Clock& clock) {
  WithoutAgent out;
  TM_TRY(auto journal, FoundJournal::open(gone.journal_folder, gone.boot_id));
  Enforcer enforcer(hierarchies, writer, journal, clock);
  std::vector<policy::protect::KnobWrite> wanted;
  for (const auto& [id, file] : journal.files()) {
    if (auto before = before_least(file)) wanted.push_back(std::move(*before));
  }
  // Tightening is done for suppression; for other strategies only wanted values are written.
  Permits permits;
  permits.fill(Permit::kKeep);
  permits[static_cast<std::size_t>(model::Strategy::kCpuSuppress)] = Permit::kEnforce;
  const Enforced& enforced = enforcer.carry_out(wanted, permits);
  for (const Deed& deed : enforced.deeds) {
    if (deed.error) {
      out.troubles.push_back(deed.error->within(base::cat(deed.group, "/", found_name(deed.file))));
    } else if (deed.reason == model::Reason::kAgentPutBack) {
      ++out.put_back;
    }
  }
  if (enforced.journal) out.troubles.push_back(*enforced.journal);
  tell_unread(enforcer, out);
  return out;
}

}  // namespace tidemark::agent
