// "Was it us?": what a node's record and audit say of one task in one stretch of time, and whose doing that was.
//
//   ours        we did it: ended it, narrowed its own groups, held it back
//   likely      it waited while offline work had the same resource, beside it
//   cannotTell  something is not recorded, or two causes cannot be told apart
//   notOurs     its own limits, online neighbours, or nothing that this node knows of
//
// The worst of what is found is the verdict. The thresholds are what operators call noise, not what is harmless: each
// finding carries its numbers, so that whoever reads can draw the line elsewhere.
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
#include "policy/incident/deeds.h"

namespace tidemark::policy {

inline constexpr std::int64_t kWaitPermille = 50;        // some of it waited so much of the time
inline constexpr std::int64_t kThrottledPermille = 10;   // of the periods of its quota
inline constexpr std::int64_t kBesidePermille = 20;      // of the node's cores or memory that offline work had
inline constexpr std::int64_t kDiskSharePermille = 300;  // of what all tasks moved
inline constexpr std::int64_t kGapPermille = 100;        // of the time that is not recorded

enum class IncidentVerdict : std::uint8_t { kNotOurs, kCannotTell, kLikely, kOurs };
std::string_view to_string(IncidentVerdict verdict);  // "notOurs"

enum class IncidentFact : std::uint8_t {
  kEnded,           // by us: asked to go, or killed
  kNarrowed,        // we wrote less into a group of its own, or above it
  kHeldByOurs,      // by a quota of its own groups that we set
  kOfflineLimited,  // it is offline work, and waited while that was held small
  kCpuAtOurLimit,   // it is online work, and waited in groups that we narrowed for offline work, with that used up
  kOomAtOurLimit,   // killed at a memory limit that we set
  kOomAtOwnLimit,
  kOomOfMachine,       // the machine had no memory left, with offline work holding some
  kOomOfMachineAlone,  // the same without
  kOomUntold,          // killed, and nobody recorded at which limit
  kHeldByOwn,          // by its own quota
  kLimitHit,           // its memory reached its own limit
  kCpuBeside,          // waited for processors while offline work had some
  kCpuAlone,           // waited, and offline work had next to none
  kCpuHeldAndBeside,   // waited while its own quota held it back, and offline work had some
  kCpuUnderOurLimit,   // waited in groups that we narrowed; whether that was used up is not known
  kMemoryBeside,
  kMemoryAlone,
  kIoBeside,
  kIoAlone,
  kIoUnknown,        // who moved what was not measured
  kKernel,           // the kernel complained: hung tasks, stuck processors
  kQuiet,            // nothing held it back
  kPressureUnknown,  // this kernel tells no pressure of groups
  kGaps,             // not recorded
  kAbsent,           // it is in no line
  kAuditShort,       // what we wrote before is not kept any more
  kLinesLost,        // the disk took some lines of that time not
  kLast = kLinesLost,
};

struct IncidentFinding {
  IncidentFact fact = IncidentFact::kQuiet;
  base::WallTime from, to;
  std::int64_t worst = 0;    // permille, a count, or milliseconds, as the fact goes
  std::int64_t average = 0;  // permille, over the time that it covers
  std::int64_t beside = 0;   // what offline work had: milli-cores, bytes, permille
  std::int64_t of = 0;       // of how much
  std::string detail;        // a file, a process, a reason
  bool operator==(const IncidentFinding&) const = default;
};
IncidentVerdict verdict_of(IncidentFact fact);

struct IncidentQuestion {
  std::string ns, name;  // "shop", "web-0"; of what is no pod without a namespace
  base::WallTime from, to;
};

// What was read. Both in the order of their times; records of one node.
struct IncidentSeen {
  std::span<const model::NodeRecord> records;  // those that reach into the time, and some before and after
  // Up to the end of the time: what was done in it, and before it what was written to the task's groups.
  std::span<const model::AuditLine> audit;
  std::optional<base::WallTime> audit_begins;  // the oldest line that is kept; nullopt: there is none
  std::uint64_t lost = 0;                      // lines of either that are missing in the time
};

// One line of the record, as the task saw it.
struct IncidentMoment {
  base::WallTime from, to;
  std::string stance;
  std::int64_t cpus = 0;
  std::optional<std::int64_t> used_milli, offline_milli, limit_milli;
  bool listed = false;  // the task stands in the line, or was quiet
  bool quiet = false;
  model::TaskRecord task;
  bool operator==(const IncidentMoment&) const = default;
};

struct IncidentReport {
  IncidentQuestion question;
  std::string node;
  std::string task;  // its id; "" where it is in no line
  bool offline = false;
  IncidentVerdict verdict = IncidentVerdict::kCannotTell;
  std::vector<IncidentFinding> findings;  // the worst first
  std::vector<IncidentMoment> moments;
  std::vector<IncidentDeed> deeds;
  base::Duration recorded{0};                  // of the time that was asked for
  std::optional<base::WallTime> audit_begins;  // as it was seen
  std::vector<std::string> stances;            // that there were, in order
};

// The task's record at the end of what was read, which tells its id and its group; null: it is in none.
const model::TaskRecord* find_task(std::span<const model::NodeRecord> records, const IncidentQuestion& question);

IncidentReport judge_incident(const IncidentQuestion& question, const IncidentSeen& seen);

}  // namespace tidemark::policy
