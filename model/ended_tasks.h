// Recently ended tasks of another scheduler (YARN's containers) on a node, published by its agent for the manager. Pods
// have a status of their own; these tasks leave no object behind.
//
//    annotation  tidemark.io/ended-tasks    of the agent, on its own node
//                {"schema":1,"ends":[
//                  {"at":"2026-03-01T02:00:00.000000Z","class":"spark","finished":12},
//                  {"at":"2026-03-01T02:03:10.000000Z","class":"spark","job":"yarn/application_1_0001","evicted":1}]}
//
// Each task is in one entry, and an entry stays for kEndedTasksKept: a reader counts the entries that are later than
// those it read last. Entries of one write have one time, and no two writes have the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::model {

inline constexpr std::string_view kEndedTasksAnnotation = "tidemark.io/ended-tasks";
// Containers that YARN's operator preempted on the node for more timely work of the other side, in the same format.
// To the agent they look finished, so they are not counted twice. Entries stay for an hour, because a
// restarted operator reads them.
inline constexpr std::string_view kYarnPreemptedAnnotation = "tidemark.io/yarn-preempted";
inline constexpr base::Duration kYarnPreemptedKept = std::chrono::hours(1);
// Longer than the possible age of the counts of a manager that restarts.
inline constexpr base::Duration kEndedTasksKept = std::chrono::minutes(15);
inline constexpr std::size_t kEndedTasksMax = 64;             // entries
inline constexpr std::int64_t kEndedTasksCountMax = 100'000;  // of one entry
inline constexpr std::size_t kEndedTasksNameMax = 320;        // bytes of a class or a job; longer ones are cut

struct EndedTasks {
  base::WallTime at;  // by the node's clock
  std::string work_class;
  std::string job;  // of evicted ones, with the source: "yarn/application_1_0001"; "": unknown
  std::int64_t evicted = 0;
  std::int64_t finished = 0;
  bool operator==(const EndedTasks&) const = default;
};
// The oldest first; of more than kEndedTasksMax the last ones.
std::string format_ended_tasks(const std::vector<EndedTasks>& ends);
// In the order of their times. Unknown keys are ignored.
Result<std::vector<EndedTasks>> parse_ended_tasks(std::string_view annotation);

}  // namespace tidemark::model
