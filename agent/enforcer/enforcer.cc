#include "agent/enforcer/enforcer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "linux/scan.h"
#include "policy/protect/suppress/room.h"

namespace tidemark::agent {
namespace {

using linux::File;
using linux::WriteOutcome;
using model::Reason;

// The value that a kernel gives a group when it stops being idle.
constexpr std::int64_t kSharesAfterIdle = 1024;

// The controllers of all files that the enforcer writes.
linux::Controllers controllers() {
  linux::Controllers out;
  for (const auto each : {linux::Controller::kCpu, linux::Controller::kCpuset, linux::Controller::kMemory}) {
    out.set(static_cast<std::size_t>(each));
  }
  return out;
}

Result<std::string> text_of(File file, linux::Version version, std::int64_t value,
                            const std::vector<std::int32_t>& cpus) {
  if (file != File::kCpusetCpus) return linux::value_text(file, version, value);
  linux::CpuSet set;
  for (const std::int32_t cpu : cpus) {
    if (cpu < 0 || cpu >= linux::CpuSet::kCpusMax) return fail(ErrorKind::kInvalid, "invalid CPU ", cpu);
    set.add(cpu);
  }
  return set.text();
}

// The text as it was written: v2 shows a period after the quota, which we do not compare.
std::string as_written(File file, const std::string& shown) {
  return file == File::kCpuQuota ? shown.substr(0, shown.find(' ')) : shown;
}

// nullopt: the values of this file have no order.
std::optional<bool> narrows(File file, linux::Version version, const std::string& from, const std::string& to) {
  const auto widest = linux::loosest(file, version, from, to);
  if (!widest) return std::nullopt;
  return linux::same_value(file, version, *widest, from);
}

// systemd writes all settings of a unit again on each request: when the kubelet creates a pod, and on a reload. The
// number of such writes does not show that anything contests our value. tests/vm/test_systemd.py
policy::state::ContestConfig contest_of(std::string_view group) {
  policy::state::ContestConfig out;
  if (group.ends_with(".slice") || group.ends_with(".scope")) out.reset_gap = base::Duration(0);
  return out;
}

Permit permit_of(const Permits& permits, model::Strategy strategy) {
  return permits[static_cast<std::size_t>(strategy)];
}

}  // namespace

File file_of(policy::protect::Knob knob) {
  switch (knob) {
    case policy::protect::Knob::kCpuShares:
      return File::kCpuShares;
    case policy::protect::Knob::kCpuQuota:
      return File::kCpuQuota;
    case policy::protect::Knob::kCpuIdle:
      return File::kCpuIdle;
    case policy::protect::Knob::kCpuBvt:
      return File::kCpuBvt;
    case policy::protect::Knob::kCpuQosLevel:
      return File::kCpuQosLevel;
    case policy::protect::Knob::kCpusetCpus:
      return File::kCpusetCpus;
    case policy::protect::Knob::kMemoryLimit:
      return File::kMemoryLimit;
    case policy::protect::Knob::kMemoryMin:
      return File::kMemoryMin;
    case policy::protect::Knob::kMemoryLow:
      break;
  }
  return File::kMemoryLow;
}

const linux::Directory* directory_of(const linux::Hierarchies& hierarchies, const linux::Group& group, File file) {
  const auto* home = hierarchies.home(file);
  if (home == nullptr) return nullptr;
  const linux::FileNames& names = linux::names_of(file);
  return group.directory(home->version == linux::Version::kV1 ? names.v1_controller : names.v2_controller);
}

Enforcer::HeldFile* Enforcer::find(HeldGroup& group, File file) {
  const auto at = std::ranges::find(group.files, file, &HeldFile::file);
  return at == group.files.end() ? nullptr : &*at;
}

Enforcer::HeldFile& Enforcer::held(HeldGroup& group, File file) {
  if (HeldFile* there = find(group, file)) return *there;
  HeldFile& made = group.files.emplace_back();
  made.file = file;
  return made;
}

Result<bool> Enforcer::open(const std::string& path, HeldGroup& group) {
  if (group.group) return true;
  TM_TRY(auto opened, linux::Group::open(hierarchies_, path, controllers()));
  if (!opened) return false;
  group.group.emplace(std::move(*opened));
  return true;
}

Result<std::optional<std::string>> Enforcer::look(const linux::Group& group, File file) {
  const auto text = group.read(file, buffer_);
  if (!text && text.error().kind == ErrorKind::kUnsupported) return std::nullopt;  // its values went with it
  if (!text) return fail(text.error());
  if (!*text) return std::nullopt;
  return std::string(linux::without_line_end(**text));
}

std::optional<std::string> Enforcer::read(const linux::Group& group, File file) {
  return look(group, file).value_or(std::nullopt);
}

// A kernel neither shows nor accepts a weight of an idle group.
bool Enforcer::weight_is_hidden(HeldGroup& group) const {
  const HeldFile* idle = find(group, File::kCpuIdle);
  if (idle == nullptr) return false;
  return (idle->stands && *idle->stands != "0") || (idle->turn == turn_ && idle->value != 0);
}

bool Enforcer::may_write(HeldFile& file, const linux::Group& group, Permit permit, const std::string& text) {
  if (permit == Permit::kEnforce) return true;
  const auto stands = file.stands ? file.stands : read(group, file.file);
  const auto version = group.version(file.file);
  if (!stands || !version) return false;
  // If the values have no order, write only to a group that was never written to.
  return narrows(file.file, *version, *stands, text).value_or(!file.ours);
}

// A file left to another writer. An order tightens it anyway. A value from that order that the other writer did not
// change since counts as ours.
bool Enforcer::may_write_beside_another(HeldFile& file, const linux::Group& group, const std::string& text) {
  const base::MonotonicTime now = clock_.monotonic();
  file.next_look = now + (off_ ? kNarrowAgain : kLookInterval);
  const auto version = group.version(file.file);
  auto there = read(group, file.file);
  const bool changed =
      there && version && file.foreign && !linux::same_value(file.file, *version, *there, *file.foreign);
  file.contest = policy::state::step(
                     file.contest,
                     changed ? policy::state::ContestEvent::kForeign : policy::state::ContestEvent::kNothing, {}, now)
                     .state;
  if (!there || !version) return false;
  if (changed) {
    file.foreign = there;
    file.ours = false;
  }
  file.stands = *there;
  if (!file.left()) return !linux::same_value(file.file, *version, *there, text);
  if (!off_ || !narrows(file.file, *version, *there, text).value_or(false)) return false;
  if (linux::same_value(file.file, *version, *there, text)) return false;
  // The other writer's value becomes the original value.
  if (auto kept = journal_.found_now(file.id, *there); !kept) {
    enforced_.journal = std::move(kept).error();
    return false;
  }
  return true;
}

void Enforcer::saw(std::string_view path, File file, std::int64_t value) {
  const auto group = groups_.find(path);
  HeldFile* held = group == groups_.end() ? nullptr : find(group->second, file);
  if (held == nullptr || !held->ours || held->refused || held->contest.standing_back) return;
  if (held->value != value) look_again_now(*held);
}

// An order takes effect now, not at the next look.
void Enforcer::look_at_left() {
  for (auto& [path, group] : groups_) {
    for (HeldFile& file : group.files) {
      if (file.left()) look_again_now(file);
    }
  }
}

// The value is unchanged. Nearly every look ends here, so this allocates nothing.
bool Enforcer::still_stands(const HeldGroup& group, HeldFile& file, const std::string& text) {
  if (!file.ours || !file.stands || file.refused || file.contest.standing_back) return false;
  const auto there = group.group->read(file.file, buffer_);
  if (!there || !*there || !linux::same_value(file.file, *group.group->version(file.file), **there, text)) return false;
  const base::MonotonicTime now = clock_.monotonic();
  *file.stands = text;
  file.next_look = now + kLookInterval;
  if (file.contest != policy::state::ContestState()) {
    file.contest = policy::state::step(file.contest, policy::state::ContestEvent::kNothing, {}, now).state;
  }
  return true;
}

void Enforcer::want(const policy::protect::KnobWrite& write, Permit permit) {
  auto at = groups_.find(std::string_view(write.group));
  if (at == groups_.end()) at = groups_.emplace(write.group, HeldGroup()).first;
  HeldGroup& group = at->second;
  const File wanted = file_of(write.knob);
  HeldFile& file = held(group, wanted);
  file.turn = turn_;
  if (permit == Permit::kKeep) return;
  const base::MonotonicTime now = clock_.monotonic();
  const bool same = file.id != 0 && file.value == write.value && file.cpus == write.cpus;
  if (same && now < file.next_look) return;
  file.strategy = write.strategy;
  file.reason = write.reason;
  file.value = write.value;
  file.cpus = write.cpus;
  if (!open(at->first, group).value_or(false)) return;
  const auto version = group.group->version(wanted);
  if (!version) return;
  auto text = text_of(wanted, *version, write.value, write.cpus);
  if (same && text && still_stands(group, file, *text)) return;
  Pending pending{&group, &file, at->first, text.value_or(""), {}, write.reason, false};
  if (!text) {
    if (!std::exchange(file.refused, true)) tell(pending, "", Reason::kKnobRefused, std::move(text).error());
    return;
  }
  if (wanted == File::kCpuIdle && write.value != 0) {
    HeldFile& weight = held(group, File::kCpuShares);
    weight.strategy = weight.id == 0 ? write.strategy : weight.strategy;
    if (!find_out(at->first, group, weight)) return;
  }
  if (!find_out(at->first, group, file)) return;
  // The wanted value is known but not written yet: do not postpone the next look.
  if (!may_write(file, *group.group, permit, *text)) return look_again_now(file);
  if (file.contest.standing_back && !may_write_beside_another(file, *group.group, *text)) return;
  pending.over = *file.stands;
  pending_.push_back(std::move(pending));
}

Result<bool> Enforcer::reach(const std::string& path, HeldGroup& group, HeldFile& file) {
  TM_TRY(const bool there, open(path, group));
  if (!there) return false;
  if (!file.stands) {
    TM_TRY(file.stands, look(*group.group, file.file));
  }
  return file.stands.has_value();
}

void Enforcer::want_back(const std::string& path, HeldGroup& group, HeldFile& file) {
  const base::MonotonicTime now = clock_.monotonic();
  if (file.refused && now < file.next_look) return;
  // It is written again when the group is no longer idle.
  if (file.file == File::kCpuShares && weight_is_hidden(group)) return;
  const FoundFile& known = journal_.files().at(file.id);
  if (file.left()) {
    tell(path, file.file, file.strategy, file.foreign.value_or(""), "", Reason::kAgentNotOurs);
    return cross_out(file);
  }
  const auto there = file.ours ? reach(path, group, file) : Result<bool>(false);
  if (!there) {
    put_off(file);
    if (!std::exchange(file.refused, true)) {
      tell(path, file.file, file.strategy, file.stands.value_or(""), "", Reason::kKnobRefused, there.error());
    }
    return;
  }
  if (!*there) return cross_out(file);
  pending_.push_back(
      {&group, &file, path, as_written(file.file, known.found), *file.stands, Reason::kAgentPutBack, true});
}

void Enforcer::put_off(HeldFile& file) const {
  file.refused_pause = std::clamp(file.refused_pause * 2, kRefusedPause, kRefusedPauseMax);
  file.next_look = clock_.monotonic() + file.refused_pause;
}

void Enforcer::cross_out(HeldFile& file) {
  if (file.id != 0) over_.push_back(std::exchange(file.id, 0));
  file.ours = false;
  file.stands.reset();
  file.contest = {};
  file.refused = false;
  file.refused_pause = {};
}

void Enforcer::tell(std::string_view group, File file, model::Strategy strategy, std::string before, std::string after,
                    Reason reason, std::optional<Error> error) {
  enforced_.deeds.push_back(
      {std::string(group), file, strategy, std::move(before), std::move(after), reason, std::move(error)});
}

void Enforcer::tell(const Pending& pending, std::string before, Reason reason, std::optional<Error> error) {
  tell(pending.path, pending.file->file, pending.file->strategy, std::move(before), pending.text, reason,
       std::move(error));
  enforced_.deeds.back().reset = pending.reset;
}

// Writes the weight again that a kernel removes from a group that becomes idle.
void Enforcer::weight_comes_back(const Pending& pending) {
  HeldFile* weight = find(*pending.group, File::kCpuShares);
  if (weight == nullptr || weight->id == 0) return;
  if (!pending.group->group) return cross_out(*weight);
  weight->stands = read(*pending.group->group, File::kCpuShares);
  if (weight->turn == turn_ || !weight->stands) return;
  again_.push_back({pending.group, weight, pending.path, journal_.files().at(weight->id).found, *weight->stands,
                    Reason::kAgentPutBack, true});
}

void Enforcer::weight_goes(const Pending& pending) {
  if (HeldFile* weight = find(*pending.group, File::kCpuShares)) weight->ours = weight->ours || weight->id != 0;
}

void Enforcer::overwritten(Pending& pending, const std::string& foreign) {
  HeldFile& file = *pending.file;
  if (!pending.group->group) return cross_out(file);
  const base::MonotonicTime now = clock_.monotonic();
  const auto version = pending.group->group->version(file.file).value_or(linux::Version::kV1);
  const bool reset = linux::same_value(file.file, version, foreign, file.made_with);
  const auto event = reset ? policy::state::ContestEvent::kReset : policy::state::ContestEvent::kOverwritten;
  auto step = policy::state::step(file.contest, event, contest_of(pending.path), now);
  file.contest = std::move(step.state);
  file.foreign = foreign;
  if (file.contest.standing_back) {
    file.ours = false;
    file.next_look = now + (off_ ? kNarrowAgain : kLookInterval);
    return tell(pending, foreign, Reason::kAgentStandsBack);
  }
  if (journal_.files().at(file.id).found != foreign) {
    if (auto kept = journal_.found_now(file.id, foreign); !kept) {
      enforced_.journal = std::move(kept).error();
      return look_again_now(file);
    }
  }
  file.stands = foreign;
  Pending once_more = pending;
  once_more.over = foreign;
  once_more.reason = Reason::kAgentRepaired;
  once_more.reset = reset;
  again_.push_back(std::move(once_more));
}

void Enforcer::settle(Pending& pending, linux::WriteReport& report) {
  HeldFile& file = *pending.file;
  const base::MonotonicTime now = clock_.monotonic();
  switch (report.outcome) {
    case WriteOutcome::kWritten:
    case WriteOutcome::kAlready:
      if (report.outcome == WriteOutcome::kWritten) tell(pending, std::move(report.found), pending.reason);
      file.refused = false;
      file.refused_pause = {};
      if (pending.back) {
        ++enforced_.put_back;
        if (file.file == File::kCpuIdle) weight_comes_back(pending);
        return cross_out(file);
      }
      file.ours = true;
      file.stands = pending.text;
      if (file.file == File::kCpuIdle) weight_goes(pending);
      file.next_look = now + kLookInterval;
      if (file.contest.standing_back) {
        file.foreign = pending.text;
        file.next_look = now + kNarrowAgain;
      }
      if (file.contest != policy::state::ContestState()) {
        file.contest = policy::state::step(file.contest, policy::state::ContestEvent::kNothing, {}, now).state;
      }
      return;
    case WriteOutcome::kOther:
      if (!pending.back) return overwritten(pending, report.found);
      tell(pending, std::move(report.found), Reason::kAgentNotOurs);
      return cross_out(file);
    case WriteOutcome::kVanished:
      pending.group->group.reset();
      return cross_out(file);
    case WriteOutcome::kMissing:
    case WriteOutcome::kRefused:
      if (report.stands) {
        file.ours = true;
        file.stands = std::move(report.stands);
      }
      put_off(file);
      if (!std::exchange(file.refused, true)) {
        tell(pending, std::move(report.found), Reason::kKnobRefused, std::move(report.error));
      }
      return;
  }
}

// A group that vanished from one hierarchy is closed completely, including its files that wait for a second write.
void Enforcer::drop_vanished() {
  std::erase_if(pending_, [&](const Pending& each) {
    if (each.group->group) return false;
    cross_out(*each.file);
    return true;
  });
}

// Our value in force, if the journal has newer values of the file. The journal keeps few values, and this one must
// survive any number of refused writes.
std::optional<std::string> Enforcer::unsaid_in_force(const Pending& each, linux::Version version) const {
  // No journal entry: a weight that the kernel restored and that is checked again with its group's idleness.
  if (!each.file->ours || each.file->id == 0) return std::nullopt;
  const FoundFile& known = journal_.files().at(each.file->id);
  const auto is_over = [&](const std::string& text) {
    return linux::same_value(each.file->file, version, text, each.over);
  };
  if (is_over(known.found)) return std::nullopt;
  if (!known.written.empty() && is_over(known.written.back())) return std::nullopt;
  return as_written(each.file->file, each.over);
}

void Enforcer::write_pending() {
  // The second round handles files that another program changed meanwhile, and weights of groups that just stopped
  // being idle.
  for (int round = 0; round < 2 && !pending_.empty(); ++round) {
    std::vector<FoundJournal::Coming> coming;
    std::vector<linux::FileWrite> writes;
    for (const Pending& each : pending_) {
      const linux::Group& group = *each.group->group;
      const linux::Version version = group.version(each.file->file).value_or(linux::Version::kV1);
      if (auto stands = unsaid_in_force(each, version)) coming.push_back({each.file->id, std::move(*stands)});
      // Both values that write_levelled() may leave.
      const auto first = linux::loosest(each.file->file, version, each.over, each.text);
      if (first && !linux::same_value(each.file->file, version, *first, each.text)) {
        coming.push_back({each.file->id, *first});
      }
      coming.push_back({each.file->id, each.text});
      const HeldFile* weight = find(*each.group, File::kCpuShares);
      if (each.file->file == File::kCpuIdle && weight != nullptr && weight->id != 0) {
        coming.push_back({weight->id, linux::value_text(File::kCpuShares, version, kSharesAfterIdle).value_or("")});
      }
      writes.push_back({&group, each.file->file, each.text, each.over});
    }
    if (auto kept = journal_.will_write(coming); !kept) {
      enforced_.journal = std::move(kept).error();
      for (const Pending& each : pending_) look_again_now(*each.file);
      break;
    }
    auto reports = linux::write_levelled(writes, writer_, buffer_);
    for (std::size_t i = 0; i < reports.size(); ++i) settle(pending_[i], reports[i]);
    pending_ = std::exchange(again_, {});
    drop_vanished();
  }
  pending_.clear();
  again_.clear();
}

bool Enforcer::puts_online_work_behind(std::string_view group, const HeldFile& file) const {
  const bool priority = file.file == File::kCpuIdle || file.file == File::kCpuBvt || file.file == File::kCpuQosLevel;
  return priority && std::ranges::any_of(spared_, [&](const std::string& online) {
           return online == group || policy::protect::lies_below(online, group);
         });
}

void Enforcer::put_back_unwanted(const Permits& permits) {
  for (auto& [path, group] : groups_) {
    if (kept_.contains(path)) continue;
    for (HeldFile& file : group.files) {
      const Permit permit = permit_of(permits, file.strategy);
      const bool wanted = file.turn == turn_ && permit != Permit::kRestore;
      // Safe start loosens only limits that slow online work.
      const bool may = permit == Permit::kEnforce || permit == Permit::kRestore || puts_online_work_behind(path, file);
      if (file.id == 0 || wanted || !may) continue;
      want_back(path, group, file);
    }
  }
}

void Enforcer::forget_unused() {
  for (auto at = groups_.begin(); at != groups_.end();) {
    std::erase_if(at->second.files, [&](const HeldFile& file) { return file.id == 0 && file.turn != turn_; });
    at = at->second.files.empty() ? groups_.erase(at) : std::next(at);
  }
}

void Enforcer::count() {
  enforced_.left = enforced_.refused = 0;
  enforced_.in_force = std::ssize(unread_);
  for (const auto& [path, group] : groups_) {
    for (const HeldFile& file : group.files) {
      if (file.left()) {
        ++enforced_.left;
      } else if (file.refused) {
        ++enforced_.refused;
      } else if (file.ours) {
        ++enforced_.in_force;
      }
    }
  }
}

std::int64_t Enforcer::in_force(model::Strategy strategy) const {
  std::int64_t out =
      std::ranges::count_if(unread_, [&](std::uint32_t id) { return journal_.files().at(id).strategy == strategy; });
  for (const auto& [path, group] : groups_) {
    out += std::ranges::count_if(group.files,
                                 [&](const HeldFile& file) { return file.ours && file.strategy == strategy; });
  }
  return out;
}

bool Enforcer::lacks(model::Strategy strategy) const {
  return std::ranges::any_of(groups_, [&](const auto& each) {
    return std::ranges::any_of(each.second.files, [&](const HeldFile& file) {
      return file.strategy == strategy && file.turn == turn_ && (file.refused || file.left());
    });
  });
}

bool Enforcer::stands(std::string_view path, File file) const {
  const auto group = groups_.find(path);
  if (group == groups_.end()) return false;
  const auto held = std::ranges::find(group->second.files, file, &HeldFile::file);
  return held != group->second.files.end() && held->ours && !held->refused;
}

LimitState Enforcer::state_of(const policy::protect::KnobWrite& write) const {
  const auto group = groups_.find(write.group);
  if (group == groups_.end()) return LimitState::kNotWritten;
  const auto file = std::ranges::find(group->second.files, file_of(write.knob), &HeldFile::file);
  if (file == group->second.files.end()) return LimitState::kNotWritten;
  if (file->left()) return LimitState::kLeft;
  if (file->refused) return LimitState::kRefused;
  const auto version = group->second.group ? group->second.group->version(file->file) : std::nullopt;
  if (!version || !file->ours || !file->stands) return LimitState::kNotWritten;
  const auto text = text_of(file->file, *version, write.value, write.cpus);
  const bool same = text && linux::same_value(file->file, *version, *file->stands, *text);
  return same ? LimitState::kInForce : LimitState::kNotWritten;
}

const Enforced& Enforcer::carry_out(std::span<const policy::protect::KnobWrite> wanted, const Permits& permits,
                                    bool off) {
  // The first answer includes the results of recall().
  if (turn_++ > 0) {
    enforced_.deeds.clear();
    recall(std::exchange(unread_, {}));
  }
  enforced_.put_back = 0;
  enforced_.journal.reset();
  if (std::exchange(off_, off) != off && off) look_at_left();
  for (const policy::protect::KnobWrite& write : wanted) {
    const Permit permit = permit_of(permits, write.strategy);
    if (permit != Permit::kRestore) want(write, permit);
  }
  put_back_unwanted(permits);
  write_pending();
  if (!over_.empty()) {
    if (auto kept = journal_.over(over_); !kept) {
      enforced_.journal = std::move(kept).error();
    } else {
      over_.clear();
    }
  }
  forget_unused();
  count();
  return enforced_;
}

}  // namespace tidemark::agent
