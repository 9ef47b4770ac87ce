// One line of a node's record: the measurements of a period, so that the question "was it us?" can be answered days
// later from more than our writes (model/audit_line.h has those).
//
//    {"schema":1,"time":"2026-11-23T20:15:30.000000Z","node":"node-1","milliseconds":30000,"whole":true,"permit":"enforce",
//     "cpus":8,"cpu":{"used":5200,"peak":7900,"offline":2100,"offlinePeak":3000,"limit":4000},
//     "memory":{"total":33567027200,"used":21474836480,"offline":6442450944},
//     "pressure":{"cpu":12,"memory":0,"io":3},"tasksPressure":true,"disk":{"tasks":1048576,"offline":524288},
//     "classes":[{"class":"spark","used":900,"share":1200,"satisfaction":450}],
//     "tasks":[{"source":"kubernetes","namespace":"shop","name":"web-0","task":"UID","group":"kubepods/burstable",
//               "cpu":800,"cpuPeak":1900,"memory":536870912,"throttled":120,"cpuPressure":80,"runQueue":60,"runQueueWorst":50,"cpi":1450},
//              {"source":"kubernetes","namespace":"night","name":"job-1","task":"UID","group":"kubepods/besteffort",
//               "offline":true,"class":"spark","cpu":400,
//               "limits":[{"container":"main","file":"cpu.cfs_quota_us","value":"50000","reason":"TM-LIMIT-001"}]}],
//     "events":[{"time":"…","what":"oom kill","process":"java","task":"shop/web-0","limit":"shop/web-0"}]}
//
// `time` is the end of the period. CPU is in thousandths of a core, shares and pressures in thousandths of the time,
// memory in bytes, disks in bytes per second, cycles per instruction in thousandths. Zero values of a task and
// unmeasured values of the node are omitted. Quiet tasks, which nothing delayed, are only in lines with `whole`. Limits
// of an offline task are in lines with `whole` and in the first line of the task; one without a state is in force.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::model {

inline constexpr std::int64_t kNodeRecordSchema = 1;
inline constexpr std::size_t kNodeRecordLineMax = std::size_t{4} << 20;  // bytes of a line that is read
inline constexpr std::string_view kOomKillEvent = "oom kill";            // with whose limit it was
inline constexpr std::string_view kOomKilledEvent = "oom killed";  // the kernel's second message about the same kill
inline constexpr std::size_t kNodeRecordEventsMax = 64;            // of a line

inline constexpr std::string_view kLimitInForce = "inForce";

// A value that the agent wants in a kernel file of a task.
struct TaskLimit {
  std::string container;                           // its name; "": the task's own cgroup
  std::string file;                                // under its v1 name if it has one
  std::string value;                               // as v1 counts it
  std::string state = std::string(kLimitInForce);  // or "refused", "left" (to another writer), "notWritten"
  std::string reason;  // an id: why it is not in force, if that is known, else why it is wanted
  bool operator==(const TaskLimit&) const = default;
};

struct TaskRecord {
  std::string source, ns, name;
  std::string task;   // its id: a pod's uid
  std::string group;  // the parent cgroup
  bool offline = false;
  std::string work_class;  // of offline work; "": none
  std::int64_t cpu_milli = 0, cpu_peak_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t throttled_permille = 0;  // of the periods of its quota, or of the container that is held back most
  std::int64_t cpu_pressure = 0, memory_pressure = 0, io_pressure = 0;  // some of it waited
  // The number of first threads of its processes that were ready to run without a CPU, on average and in thousandths;
  // online work only. Read per process, so it exists also if the kernel reports no pressure of cgroups.
  std::int64_t run_queue = 0;
  std::int64_t run_queue_worst = 0;  // of the time, that of them which waited longest
  std::int64_t cpi = 0;              // online work only, if the machine counts and the agent is configured for it
  std::int64_t limit_hits = 0;       // of its memory
  std::int64_t oom_kills = 0;
  bool ended = false;  // its cgroup disappeared in this period
  std::vector<TaskLimit> limits;
  bool operator==(const TaskRecord&) const = default;
};

// A class of offline work, at the end of the period.
struct ClassRecord {
  std::string name;
  std::int64_t used_milli = 0, share_milli = 0;
  std::optional<std::int64_t> satisfaction_permille;  // the lowest of the period; nullopt: it wanted no more
  bool operator==(const ClassRecord&) const = default;
};

struct NodeEventRecord {
  base::WallTime time;
  std::string what;     // the values are in linux/kmsg.h
  std::string process;  // as the kernel calls it
  std::string task;     // "NAMESPACE/NAME" of the cgroup's owner; "" if none
  std::string limit;    // a kill: the owner of the memory limit; "" if the machine was out of memory
  bool operator==(const NodeEventRecord&) const = default;
};

struct NodeRecord {
  base::WallTime time;
  std::string node;
  base::Duration over{0};
  bool whole = false;
  std::string permit;  // the agent's permit for suppression (policy/state)
  std::int64_t cpus = 0;
  std::optional<std::int64_t> cpu_milli, cpu_peak_milli;
  std::optional<std::int64_t> offline_milli, offline_peak_milli;
  std::optional<std::int64_t> offline_limit_milli;  // by the limits in force; nullopt: none or unknown
  std::int64_t memory_total = 0;
  std::optional<std::int64_t> memory_used, offline_memory;
  std::optional<std::int64_t> cpu_pressure, memory_pressure, io_pressure;
  bool tasks_pressure = false;  // the kernel reports it for cgroups: a task without a value had none
  std::optional<std::int64_t> disk_bytes, offline_disk_bytes;  // of the cgroups of its tasks
  std::vector<ClassRecord> classes;                            // the most timely first
  std::vector<TaskRecord> tasks;
  std::vector<NodeEventRecord> events;
  bool operator==(const NodeRecord&) const = default;
};

std::string to_line(const NodeRecord& record);  // without a newline
// The line for `lines` lines that are missing because the disk refused them.
std::string node_record_lost_line(std::uint64_t lines);

struct NodeRecordLine {
  NodeRecord record;
  std::uint64_t lost = 0;  // above 0: this many lines are missing here, and there is no record
};
// kUnsupported: another schema. Unknown keys are ignored.
Result<NodeRecordLine> parse_node_record(std::string_view line);

}  // namespace tidemark::model
