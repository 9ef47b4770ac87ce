#include "cli/node_record.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/record/recorder.h"
#include "base/text.h"
#include "journal/read_lines.h"
#include "model/node_record.h"

namespace tidemark::cli {
namespace {

std::int64_t seconds(base::Duration length) {
  return std::chrono::floor<std::chrono::seconds>(length).count();
}

Json optional_json(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

bool was_held_back(const model::TaskRecord& task) {
  return task.throttled_permille > 0 || task.cpu_pressure > 0 || task.run_queue_worst > 0;
}

Json task_json(const model::TaskRecord& task) {
  return Json::object({{"namespace", task.ns},
                       {"name", task.name},
                       {"offline", task.offline},
                       {"cpu", task.cpu_milli},
                       {"throttled", task.throttled_permille},
                       {"cpuPressure", task.cpu_pressure},
                       {"runQueueWorst", task.run_queue_worst}});
}

// Containers of a copilot, as the last records have them: a full record has all of them, later ones those that changed.
class Containers {
 public:
  void take(const model::NodeRecord& record) {
    if (record.whole) {
      tasks_.clear();
      at_ = record.time;
    }
    if (!at_) return;
    at_ = record.time;
    for (const model::TaskRecord& task : record.tasks) {
      if (!task.offline || task.source == kPodSource || task.source == kHostSource) continue;
      if (task.ended) {
        tasks_.erase(task.name);
      } else {
        tasks_.insert_or_assign(task.name, task);
      }
    }
  }
  Json json() const {  // null: no full record
    if (!at_) return {};
    Json rows = Json::array();
    for (const auto& [name, task] : tasks_) {
      rows.as_array().push_back(Json::object({{"source", task.source},
                                              {"name", name},
                                              {"cpu", task.cpu_milli},
                                              {"memory", task.memory_bytes},
                                              {"throttled", task.throttled_permille},
                                              {"cpuPressure", task.cpu_pressure}}));
    }
    return Json::object({{"at", seconds(at_->since_epoch)}, {"rows", std::move(rows)}});
  }

 private:
  static constexpr std::string_view kPodSource = "kubernetes", kHostSource = "host";
  std::map<std::string, model::TaskRecord, std::less<>> tasks_;
  std::optional<base::WallTime> at_;
};

Json record_json(const model::NodeRecord& record) {
  Json tasks = Json::array(), events = Json::array();
  for (const model::TaskRecord& task : record.tasks) {
    if (was_held_back(task)) tasks.as_array().push_back(task_json(task));
  }
  for (const model::NodeEventRecord& event : record.events) {
    events.as_array().push_back(Json::object({{"at", seconds(event.time.since_epoch)},
                                              {"what", event.what},
                                              {"process", event.process},
                                              {"task", event.task}}));
  }
  return Json::object({{"at", seconds(record.time.since_epoch)},
                       {"seconds", seconds(record.over)},
                       {"permit", record.permit},
                       {"cpus", record.cpus},
                       {"used", optional_json(record.cpu_milli)},
                       {"offline", optional_json(record.offline_milli)},
                       {"limit", optional_json(record.offline_limit_milli)},
                       {"memoryTotal", record.memory_total},
                       {"memoryUsed", optional_json(record.memory_used)},
                       {"memoryOffline", optional_json(record.offline_memory)},
                       {"cpuPressure", optional_json(record.cpu_pressure)},
                       {"tasks", std::move(tasks)},
                       {"events", std::move(events)}});
}

}  // namespace

Result<Json> node_record_json(const std::string& state_dir, const std::string& node, base::WallTime from,
                              base::WallTime to) {
  Json records = Json::array();
  Containers containers;
  bool has_node = false;
  const std::string path = base::cat(state_dir, "/", agent::kRecordFile);
  TM_TRY_VOID(journal::read_kept_lines(path, model::kNodeRecordLineMax, [&](std::string_view line) {
    const auto read = model::parse_node_record(line);
    if (!read || read->lost > 0 || read->record.node != node) return;
    has_node = true;
    if (read->record.time < from || read->record.time > to) return;
    containers.take(read->record);
    records.as_array().push_back(record_json(read->record));
  }));
  if (!has_node) return fail(ErrorKind::kNotFound, path, " has no record of node ", base::in_quotes(node));
  return Json::object(
      {{"schema", 1}, {"node", node}, {"records", std::move(records)}, {"containers", containers.json()}});
}

}  // namespace tidemark::cli
