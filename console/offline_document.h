// Offline work as JSON: sums by class, the most evicted jobs, and one page of tasks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "console/view.h"

namespace tidemark::console {

// A task is abnormal if it failed, restarts or cannot start its containers, or takes longer than this to start on its
// node or to end.
inline constexpr base::Duration kTaskStepMax = std::chrono::minutes(10);
std::string_view abnormal_word(const Task& task, base::WallTime now);  // "failed", "restarts", …; "": it is not

struct TaskQuery {
  std::optional<std::string> work_class;  // "" is work without a class
  std::string phase;                      // "waiting", "running", "over", "abnormal"; empty: all
  std::string node;
  std::string text;  // a part of "NAMESPACE/NAME" or of the job, in lower case; empty: all
  std::size_t offset = 0;
  std::size_t limit = 200;
};
bool is_task_phase(std::string_view word);
std::string offline_document(const View& view, const TaskQuery& query, base::WallTime now);

void write_task_members(base::JsonWriter& json, const Task& task, base::WallTime now);

}  // namespace tidemark::console
