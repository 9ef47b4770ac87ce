// One line of a node's record: what was measured on it in a stretch of time, so that somebody who asks days later "was
// it us?" finds more than what we wrote (model/audit_line.h has that).
//
//   {"schema":1,"time":"2026-11-23T20:15:30.000000Z","node":"node-1","milliseconds":30000,"whole":true,"stance":"enforce",
//    "cpus":8,"cpu":{"used":5200,"peak":7900,"offline":2100,"offlinePeak":3000,"limit":4000},
//    "memory":{"total":33567027200,"used":21474836480,"offline":6442450944},
//    "pressure":{"cpu":12,"memory":0,"io":3},"tasksPressure":true,"disk":{"tasks":1048576,"offline":524288},
//    "classes":[{"class":"spark","used":900,"share":1200,"satisfaction":450}],
//    "tasks":[{"source":"kubernetes","namespace":"shop","name":"web-0","task":"UID","group":"kubepods/burstable",
//              "cpu":800,"cpuPeak":1900,"memory":536870912,"throttled":120,"cpuPressure":80,"runQueue":60,"runQueueWorst":50,"cpi":1450}],
//    "events":[{"time":"…","what":"oom kill","process":"java","task":"shop/web-0","limit":"shop/web-0"}]}
//
// `time` is the end of the stretch. CPU is in thousandths of a core, shares and pressures in thousandths of the time,
// memory in bytes, disks in bytes a second, cycles an instruction in thousandths. What a task has none of is left out;
// what nobody measured of the node too. Quiet tasks, which nothing held back, stand in lines that are `whole` only.
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
inline constexpr std::string_view kOomKilledEvent = "oom killed";        // the kernel's second word about the same
inline constexpr std::size_t kNodeRecordEventsMax = 64;                  // of a line

struct TaskRecord {
  std::string source, ns, name;
  std::string task;   // its id: a pod's uid
  std::string group;  // the one above its own
  bool offline = false;
  std::int64_t cpu_milli = 0, cpu_peak_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t throttled_permille = 0;  // of the periods of its quota, or of the container that is held back most
  std::int64_t cpu_pressure = 0, memory_pressure = 0, io_pressure = 0;  // some of it waited
  // How many first threads of its processes were ready to run and had no processor, on average and in thousandths; of
  // online work. Told by each process, so also where the kernel tells no pressure of groups.
  std::int64_t run_queue = 0;
  std::int64_t run_queue_worst = 0;  // of the time, that of them which waited longest
  std::int64_t cpi = 0;              // of online work, where the machine counts and the agent was told to
  std::int64_t limit_hits = 0;       // of its memory
  std::int64_t oom_kills = 0;
  bool ended = false;  // its group went away in this stretch
  bool operator==(const TaskRecord&) const = default;
};

// Of a class of offline work, as it stood at the end.
struct ClassRecord {
  std::string name;
  std::int64_t used_milli = 0, share_milli = 0;
  std::optional<std::int64_t> satisfaction_permille;  // the least of the stretch; nullopt: it wanted no more
  bool operator==(const ClassRecord&) const = default;
};

struct NodeEventRecord {
  base::WallTime time;
  std::string what;     // linux/kmsg.h has the words
  std::string process;  // as the kernel calls it
  std::string task;     // "NAMESPACE/NAME" of whose group it was; "" where nobody's
  std::string limit;    // a kill: by whose memory limit; "" where the machine had none left
  bool operator==(const NodeEventRecord&) const = default;
};

struct NodeRecord {
  base::WallTime time;
  std::string node;
  base::Duration over{0};
  bool whole = false;
  std::string stance;  // how the agent stood: of its permits the one for suppression (policy/stance)
  std::int64_t cpus = 0;
  std::optional<std::int64_t> cpu_milli, cpu_peak_milli;
  std::optional<std::int64_t> offline_milli, offline_peak_milli;
  std::optional<std::int64_t> offline_limit_milli;  // by what is in force; nullopt: none is, or nobody knows
  std::int64_t memory_total = 0;
  std::optional<std::int64_t> memory_used, offline_memory;
  std::optional<std::int64_t> cpu_pressure, memory_pressure, io_pressure;
  bool tasks_pressure = false;  // the kernel tells it of groups: a task without any had none
  std::optional<std::int64_t> disk_bytes, offline_disk_bytes;  // of the groups of its tasks
  std::vector<ClassRecord> classes;                            // the most timely first
  std::vector<TaskRecord> tasks;
  std::vector<NodeEventRecord> events;
  bool operator==(const NodeRecord&) const = default;
};

std::string to_line(const NodeRecord& record);  // without a newline
// What stands where `lines` lines are missing, since the disk took none.
std::string node_record_lost_line(std::uint64_t lines);

struct NodeRecordLine {
  NodeRecord record;
  std::uint64_t lost = 0;  // more than 0: so many lines are missing here, and there is no record
};
// kUnsupported: of another schema. Keys that it does not know are passed over.
Result<NodeRecordLine> parse_node_record(std::string_view line);

}  // namespace tidemark::model
