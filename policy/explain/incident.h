// "Was it us?": finds in a node's record and audit what happened to one task in a time range, and what caused it.
//
//   ours        we did it: evicted it, limited its own cgroups, throttled it
//   likely      it waited while offline work used the same resource on the node
//   cannotTell  something is not recorded, or two causes cannot be distinguished
//   notOurs     its own limits, online neighbours, or nothing that this node knows of
//
// The verdict is the worst finding. The thresholds are what operators call noise, not what is harmless: each finding
// carries its numbers, so that readers can apply their own threshold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/audit_line.h"
#include "model/node_record.h"
#include "policy/explain/deeds.h"

namespace tidemark::policy::explain {

inline constexpr std::int64_t kWaitPermille = 50;        // share of time in which some of it waited
inline constexpr std::int64_t kThrottledPermille = 10;   // of the periods of its quota
inline constexpr std::int64_t kBesidePermille = 20;      // share of the node's cores or memory that offline work used
inline constexpr std::int64_t kDiskSharePermille = 300;  // share of what all tasks transferred
inline constexpr std::int64_t kGapPermille = 100;        // share of the time without a record

enum class IncidentVerdict : std::uint8_t { kNotOurs, kCannotTell, kLikely, kOurs };
std::string_view to_string(IncidentVerdict verdict);  // "notOurs"

enum class IncidentFact : std::uint8_t {
  kEnded,           // by us: asked to end, or killed
  kNarrowed,        // we reduced a limit of its own cgroups, or above
  kHeldByOurs,      // throttled by a quota of its own cgroups that we set
  kOfflineLimited,  // it is offline work, and waited while offline work was limited
  kCpuAtOurLimit,   // it is online work, and waited in cgroups that we limited for offline work, at that limit
  kOomAtOurLimit,   // killed at a memory limit that we set
  kOomAtOwnLimit,
  kOomOfMachine,       // the machine was out of memory, and offline work used some
  kOomOfMachineAlone,  // the same without
  kOomUntold,          // killed, and the limit was not recorded
  kHeldByOwn,          // throttled by its own quota
  kLimitHit,           // its memory reached its own limit
  kCpuBeside,          // waited for CPU while offline work used some
  kCpuAlone,           // waited, and offline work used next to none
  kCpuHeldAndBeside,   // waited while its own quota throttled it, and offline work used some
  kCpuUnderOurLimit,   // waited in cgroups that we limited; whether at the limit is unknown
  kMemoryBeside,
  kMemoryAlone,
  kIoBeside,
  kIoAlone,
  kIoUnknown,        // the I/O of tasks was not measured
  kKernel,           // the kernel reported hung tasks or stuck CPUs
  kQuiet,            // nothing slowed it
  kPressureUnknown,  // this kernel has no pressure of cgroups
  kGaps,             // not recorded
  kAbsent,           // it is in no line of the record
  kAuditShort,       // our earlier writes are no longer kept
  kLinesLost,        // some lines of that time could not be written to disk
  kLast = kLinesLost,
};

struct IncidentFinding {
  IncidentFact fact = IncidentFact::kQuiet;
  base::WallTime from, to;
  std::int64_t worst = 0;    // permille, a count or milliseconds, depending on the fact
  std::int64_t average = 0;  // permille, over the covered time
  std::int64_t beside = 0;   // use of offline work: milli-cores, bytes or permille
  std::int64_t of = 0;       // the total of `beside`
  std::string detail;        // a file, a process, a reason
  bool operator==(const IncidentFinding&) const = default;
};
IncidentVerdict verdict_of(IncidentFact fact);

struct IncidentQuestion {
  std::string ns, name;  // "shop", "web-0"; without a namespace if it is no pod
  base::WallTime from, to;
};

// The input. Both in the order of their times; records of one node.
struct IncidentSeen {
  std::span<const model::NodeRecord> records;  // those that overlap the time, and some before and after
  // Up to the end of the time: actions within it, and earlier writes to the task's cgroups.
  std::span<const model::AuditLine> audit;
  std::optional<base::WallTime> audit_begins;  // the oldest kept line; nullopt: none
  std::uint64_t lost = 0;                      // lines of either file that are missing in the time
};

// One line of the record, for the task.
struct IncidentMoment {
  base::WallTime from, to;
  std::string permit;
  std::int64_t cpus = 0;
  std::optional<std::int64_t> used_milli, offline_milli, limit_milli;
  bool listed = false;  // the task is in the line, or was quiet
  bool quiet = false;
  model::TaskRecord task;
  bool operator==(const IncidentMoment&) const = default;
};

struct IncidentReport {
  IncidentQuestion question;
  std::string node;
  std::string task;  // its id; "" if it is in no line
  bool offline = false;
  IncidentVerdict verdict = IncidentVerdict::kCannotTell;
  std::vector<IncidentFinding> findings;  // the worst first
  std::vector<IncidentMoment> moments;
  std::vector<IncidentDeed> deeds;
  base::Duration recorded{0};                  // part of the requested time
  std::optional<base::WallTime> audit_begins;  // as in the input
  std::vector<std::string> permits;            // that occurred, in order
};

// The last record of the task, for its id and its cgroup; null: it is in none.
const model::TaskRecord* find_task(std::span<const model::NodeRecord> records, const IncidentQuestion& question);

IncidentReport judge_incident(const IncidentQuestion& question, const IncidentSeen& seen);

}  // namespace tidemark::policy::explain
