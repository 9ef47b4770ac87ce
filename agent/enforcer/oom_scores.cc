#include "agent/enforcer/oom_scores.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "linux/cgroup/processes.h"

namespace tidemark::agent {
namespace {

using linux::File;
using model::Reason;
using policy::state::Permit;

linux::Controllers any_controller() {
  linux::Controllers out;
  out.set(static_cast<std::size_t>(linux::Controller::kMemory));
  out.set(static_cast<std::size_t>(linux::Controller::kCpu));
  return out;
}

Reason reason_of(policy::protect::OomRank rank) {
  return rank == policy::protect::OomRank::kOffline ? Reason::kOomOfflineFirst : Reason::kOomAfterItsTasks;
}

}  // namespace

Result<OomScores> OomScores::open(const linux::Hierarchies& hierarchies, const std::string& proc_root,
                                  std::string folder, std::string boot_id) {
  TM_TRY(auto proc, linux::Folder::open(proc_root));
  OomScores out(hierarchies, std::move(proc), std::move(folder), std::move(boot_id));
  TM_TRY(out.entries_, read_oom_journal(out.folder_, out.boot_id_));
  // If unknown, a write shows it.
  out.may_lower_ = linux::may_lower_oom_scores(out.proc_, out.buffer_).value_or(true);
  return out;
}

void OomScores::trouble(const Error& error) {
  if (report_.trouble.empty()) report_.trouble = error.message;
}

void OomScores::begin() {
  report_.deeds.clear();
  report_.more = false;
  report_.foreign = 0;
  report_.journal.reset();
  report_.trouble.clear();
  seen_.clear();
  unread_.clear();
  refused_now_.clear();
}

const OomReport& OomScores::carry_out(const policy::protect::OomPlan& plan, Permit permit) {
  begin();
  if (permit == Permit::kKeep) return report_;
  if (permit != Permit::kRestore) {
    for (const policy::protect::OomIntent& intent : plan.intents) look_at(intent, plan.line, permit);
  }
  if (permit != Permit::kTighten) {
    for (const auto& [pid, entry] : entries_) {
      if (!seen_.contains(pid) && !unread_.contains(entry.group)) restore(pid, entry);
    }
  }
  return finish();
}

const OomReport& OomScores::wind_down() {
  begin();
  for (const auto& [pid, entry] : entries_) {
    if (entry.wrote < entry.found) restore(pid, entry);
  }
  return finish();
}

void OomScores::look_at(const policy::protect::OomIntent& intent, std::int64_t line, Permit permit) {
  const auto unread = [&](const Error& why) {
    unread_.insert(intent.group);
    trouble(why);
  };
  const auto group = linux::Group::open(hierarchies_, intent.group, any_controller());
  if (!group) return unread(group.error());
  if (!*group) return;
  const auto text = (*group)->read(File::kProcesses, buffer_);
  if (!text) return unread(text.error());
  if (!*text) return;
  report_.foreign += static_cast<std::int64_t>(linux::foreign_processes(**text));
  if (const auto parsed = linux::parse_processes(**text, processes_); !parsed) return unread(parsed.error());
  eldest_.reset();
  for (const auto& [pid, entry] : entries_) {
    if (entry.group == intent.group && (!eldest_ || entry.start_ticks < eldest_->start_ticks)) eldest_ = entry;
  }
  const std::size_t first = pending_.size();
  for (const pid_t pid : processes_) look_at(pid, intent, line, permit);
  if (pending_.size() > first) drop_who_left(first, **group);
}

// nullopt: it has ended, or must wait for the next pass.
std::optional<linux::HeldProcess> OomScores::hold(pid_t pid) {
  if (pending_.size() >= kOomWritesAPass) {
    report_.more = true;
    return std::nullopt;
  }
  auto process = linux::HeldProcess::open(proc_, pid);
  if (process) return std::move(*process);
  trouble(process.error());
  return std::nullopt;
}

void OomScores::look_at(pid_t pid, const policy::protect::OomIntent& intent, std::int64_t line, Permit permit) {
  // A process that moves between two groups during the pass is in both: the first one counts.
  if (!seen_.insert(pid).second) return;
  const auto value = linux::read_oom_score_adj(proc_, pid, buffer_);
  if (!value) return trouble(value.error());
  if (!*value) return;
  const std::int64_t wanted = policy::protect::oom_score_adj(intent.rank, **value, line);
  if (wanted == **value) return inherit(pid, wanted);
  if (permit == Permit::kTighten && wanted < **value) return;
  auto process = hold(pid);
  if (!process) return;
  pending_.push_back({std::move(*process), intent.group, **value, wanted, reason_of(intent.rank), false});
}

// A process that already has the value, in a group whose processes got it: a child that they started since.
void OomScores::inherit(pid_t pid, std::int64_t value) {
  if (!eldest_ || eldest_->wrote != value || entries_.contains(pid) || entries_.size() >= kOomProcessesMax) return;
  const auto process = linux::HeldProcess::open(proc_, pid);
  if (!process) return trouble(process.error());
  if (!*process) return;
  const auto start = (*process)->start_ticks(buffer_);
  if (!start) return trouble(start.error());
  if (!*start || !is_child_of_eldest(value, **start)) return;
  entries_[pid] = {**start, eldest_->group, eldest_->found, value};
  changed_ = true;
}

bool OomScores::is_child_of_eldest(std::int64_t value, std::int64_t start_ticks) const {
  return eldest_ && eldest_->wrote == value && start_ticks >= eldest_->start_ticks;
}

// A process that was opened, then listed in the group, and has not ended since is in the group: its pid was not reused.
void OomScores::drop_who_left(std::size_t first, const linux::Group& group) {
  const auto from = pending_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto listed = linux::read_processes(group, File::kProcesses, buffer_, processes_);
  if (!listed) {
    trouble(listed.error());
    pending_.erase(from, pending_.end());  // they were seen, and keep their values
    return;
  }
  if (!*listed) processes_.clear();
  const auto gone = std::remove_if(from, pending_.end(), [&](Pending& each) {
    if (std::ranges::find(processes_, each.process.pid()) == processes_.end()) {
      seen_.erase(each.process.pid());  // it may be in another group
      return true;
    }
    const auto start = each.process.start_ticks(buffer_);
    if (!start) trouble(start.error());
    if (!start || !*start) return true;
    if (refused_.contains({each.process.pid(), **start})) {
      refused_now_.insert({each.process.pid(), **start});
      return true;
    }
    const auto known = entries_.find(each.process.pid());
    const bool same = known != entries_.end() && known->second.start_ticks == **start;
    if (same) each.previously = known->second;
    if (!same && entries_.size() >= kOomProcessesMax) {
      report_.more = true;
      return true;
    }
    // A child that started since the last pass has inherited a value of ours.
    const bool child = !same && is_child_of_eldest(each.before, **start);
    const bool ours = child || (same && known->second.is_ours(each.before));
    const std::int64_t found = same ? known->second.found : child ? eldest_->found : each.before;
    entries_[each.process.pid()] = {**start, each.group, found, each.after,
                                    ours ? std::optional(each.before) : std::nullopt};
    changed_ = true;
    return false;
  });
  pending_.erase(gone, pending_.end());
}

void OomScores::restore(pid_t pid, const OomEntry& entry) {
  auto process = hold(pid);
  if (!process) return;
  const auto start = process->start_ticks(buffer_);
  if (!start) return trouble(start.error());
  if (!*start || **start != entry.start_ticks) return;
  if (refused_.contains({pid, entry.start_ticks})) {
    refused_now_.insert({pid, entry.start_ticks});
    return;
  }
  const auto value = process->oom_score_adj(buffer_);
  if (!value) return trouble(value.error());
  if (!*value) return;
  pending_.push_back({std::move(*process), entry.group, **value, entry.found, Reason::kAgentPutBack, true});
}

void OomScores::as_before(const Pending& pending) {
  if (pending.back) return;
  if (pending.previously) {
    entries_[pending.process.pid()] = *pending.previously;
  } else {
    entries_.erase(pending.process.pid());
  }
}

void OomScores::settle(Pending& pending) {
  const pid_t pid = pending.process.pid();
  const auto known = entries_.find(pid);
  if (known == entries_.end()) return;
  const OomEntry entry = known->second;
  const auto tell = [&](Reason reason, std::optional<Error> error = {}) {
    report_.deeds.push_back({pid, pending.group, pending.before, pending.after, reason, std::move(error)});
  };
  if (pending.back && !entry.is_ours(pending.before)) {
    // If it was never written or is already restored, there is nothing to report.
    if (pending.before != entry.found) tell(Reason::kAgentNotOurs);
    entries_.erase(pid);
    return;
  }
  auto written = pending.process.set_oom_score_adj(pending.after);
  if (!written) {
    as_before(pending);
    if (written.error().kind != ErrorKind::kDenied) return trouble(written.error());  // the next pass tries again
    const std::pair name(pid, entry.start_ticks);
    if (!refused_.contains(name)) tell(Reason::kKnobRefused, std::move(written).error());
    refused_now_.insert(name);
    return;
  }
  if (*written) tell(pending.reason);
  if (pending.back || !*written) entries_.erase(pid);
}

void OomScores::forget_who_ended() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto process = linux::HeldProcess::open(proc_, at->first);
    const auto start =
        process && *process ? (*process)->start_ticks(buffer_) : Result<std::optional<std::int64_t>>(std::nullopt);
    const bool unknown = !process || !start;
    const bool gone = !unknown && (!*start || **start != at->second.start_ticks);
    changed_ = changed_ || gone;
    at = gone ? entries_.erase(at) : std::next(at);
  }
  std::erase_if(pending_, [&](const Pending& each) { return !entries_.contains(each.process.pid()); });
}

const OomReport& OomScores::finish() {
  forget_who_ended();
  if (changed_) {
    if (auto kept = write_oom_journal(folder_, entries_, boot_id_); !kept) {
      report_.journal = std::move(kept).error();
      for (const Pending& each : pending_) as_before(each);
      pending_.clear();
      return report_;
    }
  }
  const std::size_t before = entries_.size();
  for (Pending& each : pending_) settle(each);
  pending_.clear();
  // An extra line does no harm until the next pass: its process has the original value.
  changed_ = entries_.size() != before;
  refused_ = std::exchange(refused_now_, {});
  report_.refused = static_cast<std::int64_t>(refused_.size());
  return report_;
}

}  // namespace tidemark::agent
