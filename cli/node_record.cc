#include "cli/node_record.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/record/recorder.h"
#include "base/text.h"
#include "journal/read_lines.h"
#include "model/node_record.h"
#include "model/reason.h"

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

Json limits_json(const std::vector<model::TaskLimit>& limits) {
  Json out = Json::array();
  for (const model::TaskLimit& each : limits) {
    const auto known = std::ranges::find(model::all_reasons(), each.reason, &model::ReasonInfo::id);
    const std::string_view text = known == model::all_reasons().end() ? "" : known->sentence;
    out.as_array().push_back(Json::object({{"container", each.container},
                                           {"file", each.file},
                                           {"value", each.value},
                                           {"state", each.state},
                                           {"reason", Json::object({{"id", each.reason}, {"text", text}})}}));
  }
  return out;
}

// Offline pods and containers of a copilot, as the last records have them: a full record has all of them with their
// limits, later ones those that changed.
class OfflineTasks {
 public:
  void take(const model::NodeRecord& record) {
    if (record.whole) {
      tasks_.clear();
      whole_at_ = record.time;
    }
    if (!whole_at_) return;
    at_ = record.time;
    for (const model::TaskRecord& task : record.tasks) {
      if (!task.offline || task.source == kHostSource) continue;
      const Key key{task.source, task.ns, task.name};
      if (task.ended) {
        tasks_.erase(key);
        continue;
      }
      model::TaskRecord& kept = tasks_[key];
      std::vector<model::TaskLimit> limits = std::move(kept.limits);
      kept = task;
      if (kept.limits.empty()) kept.limits = std::move(limits);
    }
  }
  Json containers() const {  // null: no full record
    if (!whole_at_) return {};
    Json rows = Json::array();
    for (const auto& [key, task] : tasks_) {
      if (task.source == kPodSource) continue;
      rows.as_array().push_back(Json::object({{"source", task.source},
                                              {"name", task.name},
                                              {"cpu", task.cpu_milli},
                                              {"memory", task.memory_bytes},
                                              {"throttled", task.throttled_permille},
                                              {"cpuPressure", task.cpu_pressure},
                                              {"class", task.work_class},
                                              {"limits", limits_json(task.limits)}}));
    }
    return Json::object({{"at", seconds(at_.since_epoch)}, {"rows", std::move(rows)}});
  }
  Json pods() const {  // null: no full record
    if (!whole_at_) return {};
    Json rows = Json::array();
    for (const auto& [key, task] : tasks_) {
      if (task.source != kPodSource) continue;
      rows.as_array().push_back(Json::object({{"namespace", task.ns},
                                              {"name", task.name},
                                              {"class", task.work_class},
                                              {"limits", limits_json(task.limits)}}));
    }
    return Json::object({{"at", seconds(whole_at_->since_epoch)}, {"rows", std::move(rows)}});
  }

 private:
  static constexpr std::string_view kPodSource = "kubernetes", kHostSource = "host";
  using Key = std::array<std::string, 3>;
  std::map<Key, model::TaskRecord> tasks_;
  base::WallTime at_;
  std::optional<base::WallTime> whole_at_;
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

// What lines of a node say of a time.
class RecordOfNode {
 public:
  RecordOfNode(const std::string& node, base::WallTime from, base::WallTime to) : node_(node), from_(from), to_(to) {}

  void take(std::string_view line) {
    const auto read = model::parse_node_record(line);
    if (!read || read->lost > 0 || read->record.node != node_) return;
    has_node_ = true;
    if (read->record.time < from_ || read->record.time > to_) return;
    tasks_.take(read->record);
    records_.as_array().push_back(record_json(read->record));
  }
  Result<Json> json(std::string_view place) {
    if (!has_node_) return fail(ErrorKind::kNotFound, place, " has no record of node ", base::in_quotes(node_));
    return Json::object({{"schema", 1},
                         {"node", node_},
                         {"records", std::move(records_)},
                         {"containers", tasks_.containers()},
                         {"pods", tasks_.pods()}});
  }

 private:
  const std::string& node_;
  base::WallTime from_, to_;
  Json records_ = Json::array();
  OfflineTasks tasks_;
  bool has_node_ = false;
};

}  // namespace

Result<Json> node_record_json(const std::string& state_dir, const std::string& node, base::WallTime from,
                              base::WallTime to) {
  RecordOfNode record(node, from, to);
  const std::string path = base::cat(state_dir, "/", agent::kRecordFile);
  TM_TRY_VOID(
      journal::read_kept_lines(path, model::kNodeRecordLineMax, [&](std::string_view line) { record.take(line); }));
  return record.json(path);
}

Result<Json> node_record_json_of(std::string_view lines, const std::string& node, base::WallTime from,
                                 base::WallTime to) {
  RecordOfNode record(node, from, to);
  for (const std::string_view line : base::split(lines, '\n')) record.take(line);
  return record.json("the agent's record of that time");
}

}  // namespace tidemark::cli
