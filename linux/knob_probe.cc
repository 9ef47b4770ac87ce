#include "linux/knob_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"
#include "linux/cpu_set.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// For the process to be throttled: a tenth of one CPU; the kernel refills it every 10 ms.
constexpr std::int64_t kTrialQuotaUs = 1000, kTrialPeriodUs = 10'000;

// Under cpu.idle 1 v1 shows 3 shares and v2 a weight of 0.
constexpr std::int64_t kIdleSharesMost = 3, kIdleWeight = 0;

// A weight is effective if the process with the least weight had at most a quarter of the other's time, once both
// together ran long enough; it is not if it had at least three quarters in complete races. Between these the result is
// undecided: a kernel assigns a CPU for several milliseconds at a time.
constexpr base::Duration kRaceTells = std::chrono::milliseconds(6);
constexpr int kFarLess = 4;
constexpr int kEvenRaces = 3;  // that say so: one after the other
bool about_equal(base::Duration one, base::Duration other) {
  return one * 4 >= other * 3 && other * 4 >= one * 3;
}

// Half of the touched pages fit.
constexpr std::int64_t kFillLimitPages = 512;
static_assert(kFillPages >= 2 * kFillLimitPages && kFillPagesAtOnce < kFillLimitPages);

constexpr const char* kIdentitySwitch = "sys/kernel/sched_group_identity_enabled";

// The values to write, in v1's unit; the second if the first is already set.
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

std::string ms_text(base::Duration time) {
  return base::cat(std::chrono::duration_cast<std::chrono::milliseconds>(time).count(), " ms");
}

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

  // Runs before there is a quota and before the process is pinned. On a virtual machine with a busy host, a stalled
  // process still counts as running: one even race does not prove a missing effect.
  void try_weight(KnobTrial& weight, const Result<std::optional<Group>>& beside) {
    if (!weight.effective) return;
    for (int even = 0; even < kEvenRaces; ++even) {
      const auto raced = race(beside);
      if (!raced) {
        weight.why = raced.error().message;
        return;
      }
      const auto [least, other] = raced->ran;
      weight.why = base::cat("the process with the least of it had a processor for ", ms_text(least),
                             ", the one beside it for ", ms_text(other));
      if (least + other >= kRaceTells && least * kFarLess <= other) weight.why.clear();
      if (least + other < Race{}.busy || !about_equal(least, other)) return;
    }
    weight.effective = false;
  }

  void try_memory_limit(KnobTrial& limit) {
    if (!limit.effective) return;
    std::optional<std::int64_t> used_bytes;
    const auto filled = fill(used_bytes);
    const auto events = read_memory_events(group_, buffer_);
    if (events && *events && (*events)->max.value_or(0) > 0) return;
    const std::int64_t limit_bytes = kFillLimitPages * ::sysconf(_SC_PAGESIZE);
    if (!filled) {
      limit.why = filled.error().message;
    } else if (!used_bytes) {
      limit.why = "how much the process of the trial came to have cannot be read";
    } else if (!filled->whole || *used_bytes <= limit_bytes) {
      limit.why = base::cat("the process of the trial came to no more than ", *used_bytes, " bytes of ", limit_bytes);
    } else {
      limit.effective = false;
      limit.why = base::cat("a group that may have ", limit_bytes, " bytes came to have ", *used_bytes);
    }
  }

  // One process for both: in the cpuset first, where a quota does not hold it yet.
  void try_with_a_process(KnobTrial& quota, KnobTrial& cpus) {
    std::vector<Fd> members;
    const auto wanted_cpus = cpus.effective ? narrow_cpuset(members) : fail(ErrorKind::kUnsupported, cpus.why);
    const auto before = quota.effective ? start_throttling(members) : fail(ErrorKind::kUnsupported, quota.why);
    if (!members.empty()) {
      std::vector<int> groups;
      for (const Fd& one : members) groups.push_back(one.get());
      auto spun = rim_.spin({.groups = groups, .release = [&] { lift(File::kCpuQuota, kUnlimited); }});
      if (spun && spun->refused != 0) spun = not_in(spun->refused);
      if (wanted_cpus) judge_cpus(cpus, spun, *wanted_cpus);
      if (before) judge_quota(quota, spun, *before);
    }
    if (cpus.effective && !wanted_cpus) cpus.why = wanted_cpus.error().message;
    if (quota.effective && !before) quota.why = before.error().message;
  }

 private:
  // The trial's group is gone when this is read, so its name is omitted.
  std::string lacking(File file) const {
    const Place place = parent_.place(file);
    return base::cat("groups in ", Place{place.folder, place.group, {}}.text(), " have no ", place.name,
                     ": this kernel lacks it, or the controller is not enabled for them");
  }

  Result<std::string> text_of(File file) {
    TM_TRY(const auto text, group_.read(file, buffer_));
    if (!text) return fail(ErrorKind::kGone, group_.place(file).text(), ": the group of the trial was removed");
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

  static Result<Fd> members_of(const Group& group, Controller controller) {
    const Directory* directory = group.directory(controller);
    const Place place{group.path(), {}, "cgroup.procs"};
    if (!directory) return fail(ErrorKind::kNotFound, place.text(), " is not there");
    TM_TRY(auto file, open_file(directory->fd.get(), "cgroup.procs", O_WRONLY, place));
    if (!file) return fail(ErrorKind::kGone, place.text(), " is not there");
    return std::move(*file);
  }

  Result<CpuSet> narrow_cpuset(std::vector<Fd>& members) {
    TM_TRY(const CpuSet one, one_processor());
    if (group_.version(File::kCpusetMems) == Version::kV1) {  // v1 takes no process while no memory node is set
      TM_TRY(const auto mems, read_cpuset(parent_, File::kCpusetMems, buffer_));
      if (auto why = write(File::kCpusetMems, mems.value_or(CpuSet{}).text()); !why.empty())
        return fail(ErrorKind::kIo, why);
    }
    if (auto why = write(File::kCpusetCpus, one.text()); !why.empty()) return fail(ErrorKind::kIo, why);
    TM_TRY(auto file, members_of(group_, Controller::kCpuset));
    members.push_back(std::move(file));
    return one;
  }

  Result<RaceReport> race(const Result<std::optional<Group>>& beside) {
    if (!beside) return fail(beside.error());
    TM_TRY(const std::string had, text_of(File::kCpuShares));
    if (!*beside) return fail(ErrorKind::kGone, "a group of the trial was removed");
    TM_TRY(const auto least, members_of(group_, Controller::kCpu));
    TM_TRY(const auto other, members_of(**beside, Controller::kCpu));
    TM_TRY(const RaceReport raced,
           rim_.race({.groups = {least.get(), other.get()},
                      .handicap = [&] { return put(File::kCpuShares, kSharesMin); },
                      .release = [&] { [[maybe_unused]] const auto done = write(File::kCpuShares, had); }}));
    if (raced.refused != 0) return not_in(raced.refused);
    return raced;
  }

  // How much the group had of it in the end, where that can be read.
  Result<FillReport> fill(std::optional<std::int64_t>& used_bytes) {
    TM_TRY_VOID(put(File::kMemoryLimit, kFillLimitPages * ::sysconf(_SC_PAGESIZE)));
    TM_TRY(const auto members, members_of(group_, Controller::kMemory));
    const auto look = [&] {
      const auto now = read_value(group_, File::kMemoryUsage, buffer_);
      if (now) used_bytes = *now;
    };
    const auto filled = rim_.fill({.group = members.get(), .look = look});
    lift(File::kMemoryLimit, kUnlimited);  // v2: the process of the next trial is in this group too
    if (!filled) return filled;
    if (filled->refused != 0) {
      return base::fail_errno(filled->refused, base::cat("move a process into ", group_.path(), " that uses memory"));
    }
    return filled;
  }

  std::unexpected<Error> not_in(int refused) const {
    return base::fail_errno(refused, base::cat("move a process into ", group_.path()));
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
    if (!counted) return fail(ErrorKind::kGone, "the group of the trial was removed");
    TM_TRY(auto file, members_of(group_, Controller::kCpu));
    // v2, or cpu and cpuset in one hierarchy of v1: it is there already.
    if (members.empty() || hierarchies_.of(Controller::kCpu) != hierarchies_.of(Controller::kCpuset))
      members.push_back(std::move(file));
    return counted->throttled_periods;
  }

  Result<void> put(File file, std::int64_t value) {
    TM_TRY(const std::string text, value_text(file, group_.version(file).value_or(Version::kV1), value));
    if (auto why = write(file, text); !why.empty()) return fail(ErrorKind::kIo, why);
    return {};
  }
  // A process that is held to a tenth takes ten times as long to end, and one that comes after all others longer. The
  // group is removed all the same.
  void lift(File file, std::int64_t value) { [[maybe_unused]] const auto done = put(file, value); }

  static void judge_cpus(KnobTrial& trial, const Result<SpinReport>& spun, const CpuSet& wanted) {
    if (!spun) {
      trial.why = spun.error().message;
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
    if (!spun) {
      trial.why = spun.error().message;
    } else if (spun->ran >= Spin{}.busy) {
      trial.effective = false;
      trial.why = base::cat("a process with ", kTrialQuotaUs, " of each ", kTrialPeriodUs, " microseconds ran for ",
                            ms_text(spun->ran), " within ", ms_text(spun->lasted), " and was never throttled");
    } else {
      trial.why = base::cat("the process of the trial had a processor for only ", ms_text(spun->ran));
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
  ProbeGroup tried(hierarchies, *parent, proc, rim, own, "");
  ProbeGroup beside(hierarchies, *parent, proc, rim, own, kBesideSuffix);
  tried.make(kTriedFiles, buffer);
  if (!tried.anywhere()) {
    if (const Error* error = tried.any_error()) return fail(*error);
    return fail(ErrorKind::kUnsupported, "no hierarchy here has a file that could be tried");
  }
  constexpr std::array kFilesBeside = {File::kCpuShares};
  beside.make(kFilesBeside, buffer);
  KnobReport report;
  {
    TM_TRY(const auto group, Group::open(hierarchies, tried.path()));
    if (!group) return fail(ErrorKind::kGone, tried.path(), ": the group of the trial was removed");
    Trials trials(hierarchies, proc, *parent, *group, rim, buffer);
    for (const File file : kTriedFiles) {
      if (const Error* why_not = tried.why_not(file)) {
        report.trials.push_back({file, group->version(file), false, false, false, why_not->message});
      } else {
        report.trials.push_back(trials.take(file));
      }
    }
    const Error* none_beside = beside.why_not(File::kCpuShares);
    trials.try_weight(of(report.trials, File::kCpuShares),
                      none_beside ? fail(*none_beside) : Group::open(hierarchies, beside.path()));
    trials.try_memory_limit(of(report.trials, File::kMemoryLimit));
    trials.try_with_a_process(of(report.trials, File::kCpuQuota), of(report.trials, File::kCpusetCpus));
  }
  report.left = tried.remove();
  if (const std::string also = beside.remove(); !also.empty())
    report.left += base::cat(report.left.empty() ? "" : "; ", also);
  return report;
}

}  // namespace tidemark::linux
