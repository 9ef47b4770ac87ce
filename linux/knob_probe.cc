#include "linux/knob_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "linux/proc/process.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// Of the process that is to be throttled: a tenth of one processor, told by the kernel every 10 ms.
constexpr std::int64_t kTrialQuotaUs = 1000, kTrialPeriodUs = 10'000;

// Under cpu.idle 1 v1 shows 3 shares and v2 a weight of 0.
constexpr std::int64_t kIdleSharesMost = 3, kIdleWeight = 0;

constexpr const char* kIdentitySwitch = "sys/kernel/sched_group_identity_enabled";

// What is written, in v1's unit; the second where the first is there already.
std::pair<std::int64_t, std::int64_t> trial_values(File file) {
  constexpr std::int64_t kMiB = 1 << 20;
  switch (file) {
    case File::kCpuQuota:
      return {1000, 2000};  // of 100 ms: hardly ever more than the group above may have
    case File::kCpuIdle:
      return {1, 0};
    case File::kCpuBvt:
    case File::kCpuQosLevel:
      return {-1, 0};
    case File::kMemoryLimit:
      return {64 * kMiB, 128 * kMiB};
    case File::kMemoryMin:
    case File::kMemoryLow:
      return {1 * kMiB, 2 * kMiB};
    default:
      return {512, 2048};
  }
}

// "1234-5678": pid and start, as the folder has them.
std::string life_text(std::int64_t pid, std::int64_t start) {
  return base::cat(pid, "-", start);
}

Result<std::string> own_life(const Folder& proc, Buffer& buffer) {
  TM_TRY(const auto text, proc.read("self/stat", buffer));
  std::string_view word;
  const auto pid = text && Words(*text).next(word) ? parse_count(word) : std::nullopt;
  if (!pid) return fail(ErrorKind::kInvalid, "the number of this process is wanted in ", proc.path(), "/self/stat");
  TM_TRY(const std::int64_t start, parse_start_ticks(*text));
  return life_text(*pid, start);
}

// Whether the name is that of a probe whose process is no more, or is this one.
bool is_left(std::string_view name, std::string_view own, const Folder& proc, Buffer& buffer) {
  if (!name.starts_with(kProbePrefix)) return false;
  const std::string_view life = name.substr(kProbePrefix.size());
  const std::size_t dash = std::min(life.find('-'), life.size());
  const auto pid = parse_count(life.substr(0, dash));
  if (!pid || *pid > std::numeric_limits<pid_t>::max() || dash == life.size()) return false;
  if (life == own) return true;
  const auto start = read_start_ticks(proc, static_cast<pid_t>(*pid), buffer);
  return start && (!*start || life_text(*pid, **start) != life);
}

// The group of a probe, in the hierarchy of each file that is tried.
class Scratch {
 public:
  Scratch(const Hierarchies& hierarchies, const Group& parent, std::string name, ProbeRim& rim)
      : hierarchies_(hierarchies), parent_(parent), name_(std::move(name)), rim_(rim) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { remove(); }

  std::string path() const { return parent_.path().empty() ? name_ : base::cat(parent_.path(), "/", name_); }

  void make(const Folder& proc, std::string_view own, Buffer& buffer) {
    for (const File file : kTriedFiles) {
      const auto* home = hierarchies_.home(file);
      if (!home || tried_[home->hierarchy]) continue;
      tried_[home->hierarchy] = true;
      if (auto made = make_in(home->hierarchy, controller_of(file, home->version), proc, own, buffer); !made)
        why_not_[home->hierarchy] = std::move(made).error();
    }
  }
  bool anywhere() const { return !made_.empty(); }
  // Why the group is not in the hierarchy of that file. nullptr: it is.
  const Error* why_not(File file) const {
    const auto* home = hierarchies_.home(file);
    return home && why_not_[home->hierarchy] ? &*why_not_[home->hierarchy] : nullptr;
  }
  const Error* any_error() const {
    const auto first = std::ranges::find_if(why_not_, [](const auto& one) { return one.has_value(); });
    return first == why_not_.end() ? nullptr : &**first;
  }

  // What could not be removed, and why.
  std::string remove() {
    std::string left;
    for (const Made& one : made_) {
      if (const auto done = rim_.remove_group(one.directory, name_, place(one.hierarchy)); !done)
        left += base::cat(left.empty() ? "" : "; ", done.error().message);
    }
    made_.clear();
    return left;
  }

 private:
  struct Made {
    std::size_t hierarchy = 0;
    int directory = -1;  // of the parent, which holds it
  };

  static Controller controller_of(File file, Version version) {
    return version == Version::kV1 ? names_of(file).v1_controller : names_of(file).v2_controller;
  }
  std::string_view mount(std::size_t hierarchy) const { return hierarchies_.all()[hierarchy].path; }
  // Its text is put together only for a message, while path_ lives.
  Place place(std::size_t hierarchy) const { return {mount(hierarchy), parent_.path(), name_}; }

  Result<void> make_in(std::size_t hierarchy, Controller controller, const Folder& proc, std::string_view own,
                       Buffer& buffer) {
    const Place above{mount(hierarchy), parent_.path(), {}};
    const Directory* directory = parent_.directory(controller);
    if (!directory) return fail(ErrorKind::kNotFound, above.text(), " is not there: no group can be made below it");
    std::vector<std::string> names;
    TM_TRY([[maybe_unused]] const bool there, list_folders(directory->fd.get(), names, above));
    for (const std::string& name : names) {
      if (!is_left(name, own, proc, buffer)) continue;
      // One that is not empty is not ours to empty; it is told of when it bears our own name.
      [[maybe_unused]] const auto removed =
          rim_.remove_group(directory->fd.get(), name, {mount(hierarchy), parent_.path(), name});
    }
    TM_TRY_VOID(rim_.make_group(directory->fd.get(), name_, place(hierarchy)));
    made_.push_back({hierarchy, directory->fd.get()});
    return {};
  }

  const Hierarchies& hierarchies_;
  const Group& parent_;
  std::string name_;
  ProbeRim& rim_;
  std::vector<Made> made_;
  std::array<bool, kHierarchiesMax> tried_{};
  std::array<std::optional<Error>, kHierarchiesMax> why_not_;
};

class Trials {
 public:
  Trials(const Hierarchies& hierarchies, const Folder& proc, const Group& parent, const Group& group, ProbeRim& rim,
         Buffer& buffer)
      : hierarchies_(hierarchies), proc_(proc), parent_(parent), group_(group), rim_(rim), buffer_(buffer) {}

  KnobTrial take(File file) {
    KnobTrial trial{file, group_.version(file), false, false, false, {}};
    const auto found = text_of(file);
    if (!found) {
      const bool lacks = found.error().kind == ErrorKind::kUnsupported && trial.version;
      trial.why = lacks ? lacking(file) : found.error().message;
      return trial;
    }
    trial.exists = true;
    const auto wanted = text_to_write(file, *found);
    if (!wanted) {
      trial.why = wanted.error().message;
      return trial;
    }
    if (auto why = write(file, *wanted); !why.empty()) {
      trial.why = std::move(why);
      return trial;
    }
    trial.accepted = true;
    if (file == File::kCpuIdle) trial.why = idle_without_effect();
    if (file == File::kCpuBvt) trial.why = identity_switched_off();
    if (auto why = write(file, *found); !why.empty()) {
      trial.why = base::cat("what was there cannot be put back: ", why);
    }
    trial.effective = trial.why.empty();
    return trial;
  }

  // One process for both: in the cpuset first, where a quota does not hold it yet.
  void try_with_a_process(KnobTrial& quota, KnobTrial& cpus) {
    std::vector<Fd> members;
    const auto wanted_cpus = cpus.effective ? narrow_cpuset(members) : fail(ErrorKind::kUnsupported, cpus.why);
    const auto before = quota.effective ? start_throttling(members) : fail(ErrorKind::kUnsupported, quota.why);
    if (!members.empty()) {
      std::vector<int> groups;
      for (const Fd& one : members) groups.push_back(one.get());
      auto spun = rim_.spin({.groups = groups, .release = [&] { lift_quota(); }});
      if (spun && spun->refused != 0) {
        spun = base::fail_errno(spun->refused, base::cat("move a process into ", group_.path()));
      }
      if (wanted_cpus) judge_cpus(cpus, spun, *wanted_cpus);
      if (before) judge_quota(quota, spun, *before);
    }
    if (cpus.effective && !wanted_cpus) cpus.why = not_tried(wanted_cpus.error());
    if (quota.effective && !before) quota.why = not_tried(before.error());
  }

 private:
  static std::string not_tried(const Error& error) { return base::cat("accepted; not tried: ", error.message); }

  // The group of the trial is gone when this is read: its name helps nobody.
  std::string lacking(File file) const {
    const Place place = parent_.place(file);
    return base::cat("groups in ", Place{place.folder, place.group, {}}.text(), " have no ", place.name,
                     ": this kernel lacks it, or the controller is not enabled for them");
  }

  Result<std::string> text_of(File file) {
    TM_TRY(const auto text, group_.read(file, buffer_));
    if (!text) return fail(ErrorKind::kGone, group_.place(file).text(), ": somebody removed the group of the trial");
    return std::string(without_line_end(*text));
  }

  // Empty: it was taken and reads back as the same.
  std::string write(File file, const std::string& text) {
    const WriteReport report = compare_and_write({&group_, file, text, {}}, rim_.writer(), buffer_);
    if (report.outcome != WriteOutcome::kWritten && report.outcome != WriteOutcome::kAlready) {
      return report.error ? report.error->message : std::string(to_string(report.outcome));
    }
    const auto now = text_of(file);
    if (!now) return now.error().message;
    if (same_value(file, *group_.version(file), *now, text)) return {};
    return base::cat(group_.place(file).text(), ": ", base::in_quotes(text), " was taken and reads as ",
                     base::in_quotes(*now));
  }

  // Something else than is there.
  Result<std::string> text_to_write(File file, const std::string& found) {
    if (file == File::kCpusetCpus) {
      TM_TRY(const CpuSet one, one_processor());
      return one.text();
    }
    const auto [first, second] = trial_values(file);
    const Version version = *group_.version(file);
    TM_TRY(auto text, value_text(file, version, first));
    if (!same_value(file, version, found, text)) return text;
    return value_text(file, version, second);
  }

  // The first of those that the group above has.
  Result<CpuSet> one_processor() {
    const File has = parent_.has(File::kCpusetCpusEffective) ? File::kCpusetCpusEffective : File::kCpusetCpus;
    TM_TRY(const auto all, read_cpuset(parent_, has, buffer_));
    const int first = all ? all->next(0) : -1;
    if (first < 0) return fail(ErrorKind::kUnsupported, parent_.place(has).text(), " names no processor");
    CpuSet out;
    out.add(first);
    return out;
  }

  std::string idle_without_effect() {
    const auto text = text_of(File::kCpuShares);
    if (!text) return {};  // there is no weight to look at
    const auto shown = parse_limit(*text);
    const bool v1 = group_.version(File::kCpuShares) == Version::kV1;
    if (shown && (v1 ? *shown <= kIdleSharesMost : *shown == kIdleWeight)) return {};
    return base::cat(group_.place(File::kCpuShares).text(), " is still ", base::in_quotes(*text), " in an idle group");
  }

  std::string identity_switched_off() {
    const auto text = proc_.read(kIdentitySwitch, buffer_);
    if (!text) return text.error().message;
    if (!*text || without_line_end(**text) != "0") return {};
    return base::cat("the kernel's switch ", proc_.path(), "/", kIdentitySwitch, " is 0");
  }

  Result<Fd> members_of(Controller controller) {
    const Directory* directory = group_.directory(controller);
    const Place place{group_.path(), {}, "cgroup.procs"};
    if (!directory) return fail(ErrorKind::kNotFound, place.text(), " is not there");
    TM_TRY(auto file, open_file(directory->fd.get(), "cgroup.procs", O_WRONLY, place));
    if (!file) return fail(ErrorKind::kGone, place.text(), " is not there");
    return std::move(*file);
  }

  Result<CpuSet> narrow_cpuset(std::vector<Fd>& members) {
    TM_TRY(const CpuSet one, one_processor());
    if (group_.version(File::kCpusetMems) == Version::kV1) {  // which lets nobody in where no memory is said
      TM_TRY(const auto mems, read_cpuset(parent_, File::kCpusetMems, buffer_));
      if (auto why = write(File::kCpusetMems, mems.value_or(CpuSet{}).text()); !why.empty())
        return fail(ErrorKind::kIo, why);
    }
    if (auto why = write(File::kCpusetCpus, one.text()); !why.empty()) return fail(ErrorKind::kIo, why);
    TM_TRY(auto file, members_of(Controller::kCpuset));
    members.push_back(std::move(file));
    return one;
  }

  // A short period, so that throttling is counted soon. How often it was by now.
  Result<std::int64_t> start_throttling(std::vector<Fd>& members) {
    if (group_.version(File::kCpuQuota) == Version::kV2) {
      const std::string both = base::cat(kTrialQuotaUs, " ", kTrialPeriodUs);
      TM_TRY([[maybe_unused]] const auto done, rim_.writer().put(group_, File::kCpuQuota, both));
    } else {
      if (auto why = write(File::kCpuPeriod, base::cat(kTrialPeriodUs)); !why.empty()) return fail(ErrorKind::kIo, why);
      if (auto why = write(File::kCpuQuota, base::cat(kTrialQuotaUs)); !why.empty()) return fail(ErrorKind::kIo, why);
    }
    TM_TRY(const auto counted, read_cpu_throttling(group_, buffer_));
    if (!counted) return fail(ErrorKind::kGone, "somebody removed the group of the trial");
    TM_TRY(auto file, members_of(Controller::kCpu));
    // v2, or cpu and cpuset in one hierarchy of v1: it is there already.
    if (members.empty() || hierarchies_.of(Controller::kCpu) != hierarchies_.of(Controller::kCpuset))
      members.push_back(std::move(file));
    return counted->throttled_periods;
  }

  // A process that is held to a tenth takes ten times as long to end. The group is removed all the same.
  void lift_quota() {
    const auto none = value_text(File::kCpuQuota, group_.version(File::kCpuQuota).value_or(Version::kV1), kUnlimited);
    if (none) [[maybe_unused]]
      const auto lifted = rim_.writer().put(group_, File::kCpuQuota, *none);
  }

  static void judge_cpus(KnobTrial& trial, const Result<SpinReport>& spun, const CpuSet& wanted) {
    if (!spun) {
      trial.why = not_tried(spun.error());
      return;
    }
    trial.effective = spun->cpus == wanted;
    if (!trial.effective) {
      trial.why = base::cat("a process in a group with processors ", wanted.text(), " may run on ", spun->cpus.text());
    }
  }

  void judge_quota(KnobTrial& trial, const Result<SpinReport>& spun, std::int64_t before) {
    const auto after = read_cpu_throttling(group_, buffer_);
    if (after && *after && (*after)->throttled_periods > before) return;
    const auto ms = [](base::Duration time) {
      return base::cat(std::chrono::duration_cast<std::chrono::milliseconds>(time).count(), " ms");
    };
    if (!spun) {
      trial.why = not_tried(spun.error());
    } else if (spun->ran >= Spin{}.busy) {
      trial.effective = false;
      trial.why = base::cat("a process with ", kTrialQuotaUs, " of each ", kTrialPeriodUs, " microseconds ran for ",
                            ms(spun->ran), " within ", ms(spun->lasted), " and was never throttled");
    } else {
      trial.why = base::cat("accepted; not tried: the process of the trial had a processor for only ", ms(spun->ran));
    }
  }

  const Hierarchies& hierarchies_;
  const Folder& proc_;
  const Group& parent_;
  const Group& group_;
  ProbeRim& rim_;
  Buffer& buffer_;
};

KnobTrial& of(std::vector<KnobTrial>& trials, File file) {
  return *std::ranges::find(trials, file, &KnobTrial::file);
}

}  // namespace

Result<void> KernelProbeRim::make_group(int parent, const std::string& name, const Place& place) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0) return base::fail_errno(errno, base::cat("make ", place.text()));
  return {};
}

Result<void> KernelProbeRim::remove_group(int parent, const std::string& name, const Place& place) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return base::fail_errno(errno, base::cat("remove ", place.text()));
  return {};
}

Result<KnobReport> probe_knobs(const Hierarchies& hierarchies, const Folder& proc, std::string_view below,
                               ProbeRim& rim) {
  Buffer buffer;
  TM_TRY(const std::string own, own_life(proc, buffer));
  TM_TRY(const auto parent, Group::open(hierarchies, below));
  if (!parent) return fail(ErrorKind::kNotFound, "there is no group ", base::in_quotes(below), " to try the kernel in");
  Scratch scratch(hierarchies, *parent, base::cat(kProbePrefix, own), rim);
  scratch.make(proc, own, buffer);
  if (!scratch.anywhere()) {
    if (const Error* error = scratch.any_error()) return fail(*error);
    return fail(ErrorKind::kUnsupported, "no hierarchy here has a file that could be tried");
  }
  KnobReport report;
  {
    TM_TRY(const auto group, Group::open(hierarchies, scratch.path()));
    if (!group) return fail(ErrorKind::kGone, scratch.path(), ": somebody removed the group of the trial");
    Trials trials(hierarchies, proc, *parent, *group, rim, buffer);
    for (const File file : kTriedFiles) {
      if (const Error* why_not = scratch.why_not(file)) {
        report.trials.push_back({file, group->version(file), false, false, false, why_not->message});
      } else {
        report.trials.push_back(trials.take(file));
      }
    }
    trials.try_with_a_process(of(report.trials, File::kCpuQuota), of(report.trials, File::kCpusetCpus));
  }
  report.left = scratch.remove();
  return report;
}

}  // namespace tidemark::linux
