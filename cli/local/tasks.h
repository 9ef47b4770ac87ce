// Running, waiting and ended tasks of this machine as their user sees them: a Job is one task, with all of its pods.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "cli/local/objects.h"
#include "model/resources.h"

namespace tidemark::cli {

enum class TaskState : std::uint8_t {
  kWaiting,   // in the queue
  kRequeued,  // the same, after it was evicted
  kStarting,  // it has its place, and nothing of it runs yet
  kRunning,
  kLimited,     // runs, and is held back
  kRestarting,  // its command ended, and is begun again after a pause
  kEvicted,     // is being ended to make room
  kStopping,    // a user stopped it
  kSuspended,
  kSucceeded,
  kFailed,
};
std::string_view to_string(TaskState);

struct LocalTask {
  std::string ns, name;
  bool job = false;        // else a pod by itself
  std::string work_class;  // "online", "batch", "mid", "free", "offline"
  TaskState state = TaskState::kStarting;
  std::size_t place = 0, queue = 0;  // of one that waits: its place among its kind, and how many of that wait
  std::optional<std::int64_t> exit_code;
  std::optional<model::Resources> used;
  model::Resources asked;
  std::optional<base::WallTime> created;
  std::int64_t runs = 0;  // so often it was begun
  std::string why;
  std::string pod;  // the one that matters now; "" where there is none

  bool ended() const { return state == TaskState::kSucceeded || state == TaskState::kFailed; }
};

// Why a pod is held back, by its uid.
using HeldBack = std::map<std::string, std::string, std::less<>>;

// Of one namespace, or of all where `ns` is empty. Online tasks first, then by age.
std::vector<LocalTask> local_tasks(const LocalObjects& objects, std::string_view ns, const HeldBack& held);

// The newest of a job's pods that matters: one that is not over, else the last one. Null where it has none.
const PodSeen* current_pod(const LocalObjects& objects, std::string_view ns, std::string_view job);

// "Waiting 3/7", "Failed exit 3".
std::string state_text(const LocalTask& task);
// A table; without those that have ended where not `all`, and how many these are.
std::string render_tasks(const std::vector<LocalTask>& tasks, bool all, base::WallTime now);
// {"schema":1,"tasks":[{…}]}
Json render_tasks_json(const std::vector<LocalTask>& tasks, bool all);

std::string cores_text(std::int64_t cpu_milli);      // "1.25"
std::string memory_text(std::int64_t memory_bytes);  // "1.5Gi"
std::string age_text(base::Duration age);            // "3d4h", "5m12s"
std::string one_line(std::string_view text);         // foreign text: control characters become blanks

}  // namespace tidemark::cli
