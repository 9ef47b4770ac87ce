#include "policy/explain/incident.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using Fact = IncidentFact;

constexpr std::int64_t kPermille = 1000;
constexpr std::int64_t kMilliPerCore = 1000;
// Offline work that uses this share of its limit counts as limited.
constexpr std::int64_t kAtLimitPermille = 900;

constexpr std::array<std::string_view, 2> kQuotaFiles = {"cpu.cfs_quota_us", "cpu.max"};
constexpr std::array<std::string_view, 3> kProcessorFiles = {"cpu.cfs_quota_us", "cpu.max", "cpuset.cpus"};
constexpr std::array<std::string_view, 2> kMemoryFiles = {"memory.limit_in_bytes", "memory.max"};

std::int64_t share_permille(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? part * kPermille / whole : 0;
}

base::Duration overlap(base::WallTime from, base::WallTime to, const IncidentQuestion& question) {
  const auto begin = std::max(from, question.from), end = std::min(to, question.to);
  return end > begin ? end - begin : base::Duration(0);
}

base::WallTime begin_of(const model::NodeRecord& record) {
  return record.time + -record.over;
}

const model::TaskRecord* find(const model::NodeRecord& record, const IncidentQuestion& question) {
  const model::TaskRecord* found = nullptr;  // the last one: of two with one name the later one
  for (const model::TaskRecord& each : record.tasks) {
    if (each.ns == question.ns && each.name == question.name) found = &each;
  }
  return found;
}

// Merges findings of one kind over several lines.
class Findings {
 public:
  void add(IncidentFinding one, base::Duration over) {
    const auto at = found_.find(one.fact);
    if (at == found_.end()) {
      const auto fact = one.fact;
      found_.emplace(fact, Sum{std::move(one), over}).first->second.weigh(over);
      return;
    }
    Sum& sum = at->second;
    sum.finding.from = std::min(sum.finding.from, one.from);
    sum.finding.to = std::max(sum.finding.to, one.to);
    sum.finding.worst = std::max(sum.finding.worst, one.worst);
    sum.finding.beside = std::max(sum.finding.beside, one.beside);
    sum.finding.of = one.of;
    if (sum.finding.detail.empty()) sum.finding.detail = std::move(one.detail);
    sum.finding.average = one.average;
    sum.over += over;
    sum.weigh(over);
  }
  // Counts: each call adds the number.
  void count(IncidentFinding one) {
    const std::int64_t before = found_.contains(one.fact) ? found_.at(one.fact).finding.worst : 0;
    one.worst += before;
    add(std::move(one), base::Duration(0));
  }
  bool any() const { return !found_.empty(); }

  std::vector<IncidentFinding> take() {
    std::vector<IncidentFinding> out;
    for (auto& [fact, sum] : found_) {
      if (sum.over.count() > 0) {
        sum.finding.average = static_cast<std::int64_t>(sum.weighed / static_cast<double>(sum.over.count()));
      }
      out.push_back(std::move(sum.finding));
    }
    // The worst first, then in the order of the list of facts.
    std::ranges::sort(out, [](const IncidentFinding& a, const IncidentFinding& b) {
      return std::pair(verdict_of(b.fact), a.fact) < std::pair(verdict_of(a.fact), b.fact);
    });
    return out;
  }

 private:
  struct Sum {
    IncidentFinding finding;
    base::Duration over{0};
    double weighed = 0;
    void weigh(base::Duration more) {
      weighed += static_cast<double>(finding.average) * static_cast<double>(more.count());
    }
  };
  std::map<Fact, Sum> found_;
};

class Judge {
 public:
  Judge(const IncidentQuestion& question, const IncidentSeen& seen) : question_(question), seen_(seen) {
    report_.question = question;
  }

  IncidentReport judge() {
    find_subject();
    look_at_deeds();
    for (const model::NodeRecord& record : seen_.records) look_at(record);
    look_at_the_rest();
    report_.findings = findings_.take();
    report_.verdict = report_.findings.empty() ? IncidentVerdict::kNotOurs : verdict_of(report_.findings.front().fact);
    return std::move(report_);
  }

 private:
  void find_subject() {
    if (!seen_.records.empty()) report_.node = seen_.records.front().node;
    subject_.ns = question_.ns;
    subject_.name = question_.name;
    const model::TaskRecord* task = find_task(seen_.records, question_);
    if (task == nullptr) return;
    report_.task = subject_.task = task->task;
    report_.offline = task->offline;
    subject_.group = task->group;
  }

  void look_at_deeds() {
    report_.audit_begins = seen_.audit_begins;
    report_.deeds = deeds_between(seen_.audit, subject_, question_.from, question_.to);
    for (const model::AuditLine& line : seen_.audit) {
      if (line.time < question_.from || line.time > question_.to) continue;
      if (line.outcome != model::AuditOutcome::kDone) continue;
      const DeedReach reach = reach_of(line, subject_);
      if (reach == DeedReach::kElsewhere) continue;
      if (ends_a_task(line) && reach == DeedReach::kOwn) {
        findings_.count({Fact::kEnded, line.time, line.time, 1, 0, 0, 0,
                         base::cat(line.part == "eviction" ? "evict" : line.verb, ", ", line.reason)});
      } else if (line.kind == "CgroupFile" &&
                 narrows(line.part, value_text(line.old_value), value_text(line.new_value)).value_or(false)) {
        findings_.count({Fact::kNarrowed, line.time, line.time, 1, 0, 0, 0,
                         base::cat(line.part, " ", value_text(line.old_value), " -> ", value_text(line.new_value),
                                   reach == DeedReach::kAbove ? " above it, " : ", ", line.reason)});
      }
    }
  }

  // Our writes that were in force when this line of the record ended.
  void bring_files_to(base::WallTime time) {
    while (next_deed_ < seen_.audit.size() && seen_.audit[next_deed_].time <= time) {
      const model::AuditLine& line = seen_.audit[next_deed_++];
      files_.take(line, reach_of(line, subject_));
    }
  }

  void look_at(const model::NodeRecord& record) {
    bring_files_to(record.time);
    const model::TaskRecord* task = find(record, question_);
    const bool was_known = known_;
    if (task != nullptr) known_ = !task->ended;
    if (task == nullptr && record.whole) known_ = false;
    const base::Duration over = overlap(begin_of(record), record.time, question_);
    if (over == base::Duration(0)) return;
    report_.recorded += over;
    if (report_.permits.empty() || report_.permits.back() != record.permit) report_.permits.push_back(record.permit);

    IncidentMoment& moment = report_.moments.emplace_back();
    moment.from = begin_of(record);
    moment.to = record.time;
    moment.permit = record.permit;
    moment.cpus = record.cpus;
    moment.used_milli = record.cpu_milli;
    moment.offline_milli = record.offline_milli;
    moment.limit_milli = record.offline_limit_milli;
    moment.quiet = task == nullptr;
    moment.listed = task != nullptr || (was_known && known_);
    if (moment.listed && !record.tasks_pressure) add(Fact::kPressureUnknown, record, {});
    look_at_kernel(record);
    if (task == nullptr) return;
    moment.task = *task;
    look_at_cpu(record, *task);
    look_at_memory(record, *task);
    look_at_disks(record, *task);
  }

  struct Numbers {
    std::int64_t worst = 0, beside = 0, of = 0;
    std::string detail{};
  };
  void add(Fact fact, const model::NodeRecord& record, Numbers numbers) {
    findings_.add({fact, std::max(begin_of(record), question_.from), std::min(record.time, question_.to), numbers.worst,
                   numbers.worst, numbers.beside, numbers.of, std::move(numbers.detail)},
                  overlap(begin_of(record), record.time, question_));
  }
  void count(Fact fact, const model::NodeRecord& record, std::int64_t times, std::string detail = {},
             std::int64_t beside = 0, std::int64_t of = 0) {
    findings_.count({fact, std::max(begin_of(record), question_.from), std::min(record.time, question_.to), times, 0,
                     beside, of, std::move(detail)});
  }

  void look_at_cpu(const model::NodeRecord& record, const model::TaskRecord& task) {
    const bool held = task.throttled_permille >= kThrottledPermille;
    const auto by_ours = files_.any(kQuotaFiles);
    if (held) {
      add(by_ours ? Fact::kHeldByOurs : Fact::kHeldByOwn, record,
          {task.throttled_permille, 0, 0, by_ours.value_or("")});
    }
    // If the kernel has no pressure of cgroups, uses the process that waited longest. This is a lower bound, because it
    // covers only the first threads, and one process.
    const std::int64_t waited = record.tasks_pressure ? task.cpu_pressure : task.run_queue_worst;
    if (waited < kWaitPermille) return;
    const std::int64_t cores = record.cpus * kMilliPerCore;
    const std::int64_t offline = record.offline_milli.value_or(0);
    const Numbers numbers{waited, offline, cores};
    if (task.offline) {
      const auto limit = record.offline_limit_milli;
      const bool at_limit =
          limit && share_permille(record.offline_peak_milli.value_or(offline), *limit) >= kAtLimitPermille;
      if (at_limit) {
        add(Fact::kOfflineLimited, record, {waited, *limit, cores});
      } else if (!held) {
        add(Fact::kCpuAlone, record, numbers);
      }
      return;
    }
    const bool beside = share_permille(offline, cores) >= kBesidePermille;
    // Pods without requests share a cgroup with offline work: what limits that limits them as well.
    auto our_limit = files_.any(kProcessorFiles, DeedReach::kAbove);
    const std::int64_t below_it = record.offline_peak_milli.value_or(offline) + task.cpu_peak_milli;
    const std::int64_t left = record.offline_limit_milli.value_or(0);
    if (our_limit && !held && share_permille(below_it, left) >= kAtLimitPermille) {
      add(Fact::kCpuAtOurLimit, record, {waited, below_it, left, std::move(*our_limit)});
    } else if (beside) {
      add(held && !by_ours ? Fact::kCpuHeldAndBeside : Fact::kCpuBeside, record, numbers);
    } else if (our_limit) {
      add(Fact::kCpuUnderOurLimit, record, {waited, 0, 0, std::move(*our_limit)});
    } else if (!held) {
      add(Fact::kCpuAlone, record, numbers);
    }
  }

  void look_at_memory(const model::NodeRecord& record, const model::TaskRecord& task) {
    const std::int64_t offline = record.offline_memory.value_or(0);
    const bool some_offline = share_permille(offline, record.memory_total) >= kBesidePermille;
    if (task.limit_hits > 0) count(Fact::kLimitHit, record, task.limit_hits);
    if (task.oom_kills > 0) look_at_kills(record, task, offline, some_offline);
    if (task.memory_pressure < kWaitPermille || task.limit_hits > 0) return;
    const bool beside = some_offline && !task.offline;
    add(beside ? Fact::kMemoryBeside : Fact::kMemoryAlone, record,
        {task.memory_pressure, offline, record.memory_total});
  }

  void look_at_kills(const model::NodeRecord& record, const model::TaskRecord& task, std::int64_t offline,
                     bool some_offline) {
    const std::string name = task.ns.empty() ? task.name : base::cat(task.ns, "/", task.name);
    for (const model::NodeEventRecord& event : record.events) {
      if (event.task != name || event.what != model::kOomKillEvent) continue;
      if (event.limit.empty()) {
        count(some_offline ? Fact::kOomOfMachine : Fact::kOomOfMachineAlone, record, task.oom_kills, event.process,
              offline, record.memory_total);
      } else if (const auto ours = files_.any(kMemoryFiles)) {
        count(Fact::kOomAtOurLimit, record, task.oom_kills, base::cat(event.process, " at ", *ours));
      } else {
        count(Fact::kOomAtOwnLimit, record, task.oom_kills, event.process);
      }
      return;
    }
    count(Fact::kOomUntold, record, task.oom_kills);
  }

  void look_at_disks(const model::NodeRecord& record, const model::TaskRecord& task) {
    if (task.io_pressure < kWaitPermille) return;
    if (!record.disk_bytes || !record.offline_disk_bytes) return add(Fact::kIoUnknown, record, {task.io_pressure});
    const bool beside =
        !task.offline && share_permille(*record.offline_disk_bytes, *record.disk_bytes) >= kDiskSharePermille;
    add(beside ? Fact::kIoBeside : Fact::kIoAlone, record,
        {task.io_pressure, *record.offline_disk_bytes, *record.disk_bytes});
  }

  void look_at_kernel(const model::NodeRecord& record) {
    for (const model::NodeEventRecord& event : record.events) {
      if (event.what == model::kOomKillEvent || event.what == model::kOomKilledEvent) continue;
      if (event.time < question_.from || event.time > question_.to) continue;
      count(Fact::kKernel, record, 1, event.process.empty() ? event.what : base::cat(event.what, ": ", event.process));
    }
  }

  void look_at_the_rest() {
    const base::Duration asked = question_.to - question_.from;
    const auto whole = [&](Fact fact, std::int64_t worst, std::string detail = {}) {
      findings_.count({fact, question_.from, question_.to, worst, 0, 0, 0, std::move(detail)});
    };
    const bool there = std::ranges::any_of(report_.moments, &IncidentMoment::listed);
    if (!report_.moments.empty() && !there) whole(Fact::kAbsent, 0);
    if (there && !findings_.any()) whole(Fact::kQuiet, 0);
    const base::Duration missing = std::max(asked - report_.recorded, base::Duration(0));
    if (asked.count() > 0 && share_permille(missing.count() / kPermille, asked.count() / kPermille) > kGapPermille) {
      whole(Fact::kGaps, std::chrono::duration_cast<std::chrono::seconds>(missing).count());
    }
    if (!report_.audit_begins || *report_.audit_begins > question_.from) whole(Fact::kAuditShort, 0);
    if (seen_.lost > 0) whole(Fact::kLinesLost, static_cast<std::int64_t>(seen_.lost));
  }

  const IncidentQuestion& question_;
  const IncidentSeen& seen_;
  DeedSubject subject_;
  IncidentReport report_;
  Findings findings_;
  NarrowFiles files_;
  std::size_t next_deed_ = 0;
  bool known_ = false;  // it was in a line, and is not known to have ended
};

}  // namespace

std::string_view to_string(IncidentVerdict verdict) {
  switch (verdict) {
    case IncidentVerdict::kOurs:
      return "ours";
    case IncidentVerdict::kLikely:
      return "likely";
    case IncidentVerdict::kCannotTell:
      return "cannotTell";
    case IncidentVerdict::kNotOurs:
      break;
  }
  return "notOurs";
}

IncidentVerdict verdict_of(IncidentFact fact) {
  switch (fact) {
    case Fact::kEnded:
    case Fact::kNarrowed:
    case Fact::kHeldByOurs:
    case Fact::kOfflineLimited:
    case Fact::kCpuAtOurLimit:
    case Fact::kOomAtOurLimit:
      return IncidentVerdict::kOurs;
    case Fact::kOomOfMachine:
    case Fact::kCpuBeside:
    case Fact::kMemoryBeside:
    case Fact::kIoBeside:
      return IncidentVerdict::kLikely;
    case Fact::kOomUntold:
    case Fact::kCpuHeldAndBeside:
    case Fact::kCpuUnderOurLimit:
    case Fact::kIoUnknown:
    case Fact::kPressureUnknown:
    case Fact::kGaps:
    case Fact::kAbsent:
    case Fact::kAuditShort:
    case Fact::kLinesLost:
      return IncidentVerdict::kCannotTell;
    case Fact::kOomAtOwnLimit:
    case Fact::kOomOfMachineAlone:
    case Fact::kHeldByOwn:
    case Fact::kLimitHit:
    case Fact::kCpuAlone:
    case Fact::kMemoryAlone:
    case Fact::kIoAlone:
    case Fact::kKernel:
    case Fact::kQuiet:
      break;
  }
  return IncidentVerdict::kNotOurs;
}

const model::TaskRecord* find_task(std::span<const model::NodeRecord> records, const IncidentQuestion& question) {
  const model::TaskRecord* found = nullptr;
  for (const model::NodeRecord& record : records) {
    const model::TaskRecord* task = find(record, question);
    // The one that existed in the time, not a later one of the same name.
    if (task != nullptr && (found == nullptr || begin_of(record) < question.to)) found = task;
  }
  return found;
}

IncidentReport judge_incident(const IncidentQuestion& question, const IncidentSeen& seen) {
  return Judge(question, seen).judge();
}

}  // namespace tidemark::policy::explain
