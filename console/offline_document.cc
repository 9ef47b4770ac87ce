#include "console/offline_document.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "console/json_values.h"

namespace tidemark::console {
namespace {

using base::JsonWriter;

constexpr std::size_t kJobsShown = 20;
constexpr std::array<std::string_view, 4> kTaskPhases = {"waiting", "running", "over", "abnormal"};

std::optional<std::int64_t> seconds_known(std::uint32_t since_1970) {
  return since_1970 == 0 ? std::nullopt : std::optional<std::int64_t>(since_1970);
}

bool longer(std::uint32_t since_s, base::WallTime now) {
  return since_s != 0 && now - base::WallTime{std::chrono::seconds(since_s)} > kTaskStepMax;
}

// What a page calls a task.
std::string_view task_state(const Task& task) {
  if (task.evicted) return "evicted";
  if (task.phase == model::PodPhase::kSucceeded) return "succeeded";
  if (task.phase == model::PodPhase::kFailed) return "failed";
  if (task.terminating) return "terminating";
  return task.phase == model::PodPhase::kRunning ? "running" : "waiting";
}

std::string_view task_phase(const Task& task) {
  if (task.over()) return "over";
  return task.phase == model::PodPhase::kRunning ? "running" : "waiting";
}

struct Evicted {
  std::int64_t count = 0, lost_core_seconds = 0, lost_unknown = 0, last_s = 0;
  void add(const EvictedTask& task) {
    count += task.count;
    lost_core_seconds += task.lost_core_seconds.value_or(0);
    if (!task.lost_core_seconds) lost_unknown += task.count;
    last_s = std::max(last_s, task.at_s);
  }
};

struct ClassSums {
  std::int64_t waiting = 0, running = 0, succeeded = 0, failed = 0, abnormal = 0;
  model::Resources running_request, waiting_request;
  Evicted evicted;
};
using Classes = std::map<std::string, ClassSums, std::less<>>;

void count(ClassSums& sums, const Task& task, base::WallTime now) {
  if (!abnormal_word(task, now).empty()) ++sums.abnormal;
  if (task.evicted) return;
  if (task.phase == model::PodPhase::kSucceeded) {
    ++sums.succeeded;
  } else if (task.phase == model::PodPhase::kFailed) {
    ++sums.failed;
  } else if (task.phase == model::PodPhase::kRunning) {
    ++sums.running;
    sums.running_request += task.request;
  } else {
    ++sums.waiting;
    sums.waiting_request += task.request;
  }
}

// What nodes that sell to the class offer and have not sold; nullopt: what is sold is unknown, or no node
// is read yet.
std::optional<model::Resources> available_to(const View& view, std::string_view work_class) {
  if (view.rows().empty()) return std::nullopt;
  model::Resources free;
  for (const auto& [name, row] : view.rows()) {
    if (row.state != model::NodeState::kOn) continue;
    if (std::ranges::find(row.classes_off, work_class) != row.classes_off.end()) continue;
    if (!row.cpu.sold || !row.memory.sold) return std::nullopt;
    free.cpu.value += std::max<std::int64_t>(0, row.cpu.offered - *row.cpu.sold);
    free.memory.value += std::max<std::int64_t>(0, row.memory.offered - *row.memory.sold);
  }
  return free;
}

// The nodes on which an order switches the class off.
std::int64_t nodes_off(const View& view, std::string_view work_class) {
  return std::ranges::count_if(view.rows(), [&](const auto& each) {
    return std::ranges::find(each.second.classes_off, work_class) != each.second.classes_off.end();
  });
}

void write_class(JsonWriter& json, const View& view, std::string_view name, const ClassSums& sums) {
  const auto available = available_to(view, name);
  json.begin_object();
  json.member("name", name);
  optional_member(json, "availableCpu", available ? std::optional(available->cpu.value) : std::nullopt);
  optional_member(json, "availableMemory", available ? std::optional(available->memory.value) : std::nullopt);
  json.member("nodesOff", nodes_off(view, name));
  json.member("waiting", sums.waiting);
  json.member("running", sums.running);
  json.member("succeeded", sums.succeeded);
  json.member("failed", sums.failed);
  json.member("abnormal", sums.abnormal);
  json.member("evicted", sums.evicted.count);
  json.member("lostCoreSeconds", sums.evicted.lost_core_seconds);
  json.member("lostUnknown", sums.evicted.lost_unknown);
  json.member("runningCpu", sums.running_request.cpu.value);
  json.member("runningMemory", sums.running_request.memory.value);
  json.member("waitingCpu", sums.waiting_request.cpu.value);
  json.member("waitingMemory", sums.waiting_request.memory.value);
  json.end_object();
}

// The most evicted first.
void write_jobs(JsonWriter& json, const View& view) {
  using Name = std::tuple<std::string, std::string, std::string>;
  std::map<Name, Evicted> jobs;
  for (const EvictedTask& task : view.evicted().all()) jobs[{task.ns, task.job, task.work_class}].add(task);
  std::vector<std::pair<Name, Evicted>> sorted(jobs.begin(), jobs.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second.count != b.second.count ? a.second.count > b.second.count : a.first < b.first;
  });
  if (sorted.size() > kJobsShown) sorted.resize(kJobsShown);
  json.key("mostEvicted").begin_array();
  for (const auto& [name, evicted] : sorted) {
    json.begin_object();
    json.member("namespace", std::get<0>(name));
    json.member("job", std::get<1>(name));
    json.member("class", std::get<2>(name));
    json.member("evicted", evicted.count);
    json.member("lostCoreSeconds", evicted.lost_core_seconds);
    json.member("lostUnknown", evicted.lost_unknown);
    json.member("last", evicted.last_s);
    json.end_object();
  }
  json.end_array();
}

bool has_in_name(const Task& task, std::string_view text) {
  return base::cat(task.meta.ns.view(), "/", task.meta.name.view()).find(text) != std::string::npos ||
         base::lower(task.job.view()).find(text) != std::string::npos;
}

bool matches(const Task& task, const TaskQuery& query, base::WallTime now) {
  if (query.work_class && *query.work_class != task.work_class.view()) return false;
  if (!query.node.empty() && query.node != task.node.view()) return false;
  if (!query.text.empty() && !has_in_name(task, query.text)) return false;
  if (query.phase == "abnormal") return !abnormal_word(task, now).empty();
  return query.phase.empty() || query.phase == task_phase(task);
}

}  // namespace

bool is_task_phase(std::string_view word) {
  return std::ranges::find(kTaskPhases, word) != kTaskPhases.end();
}

std::string_view abnormal_word(const Task& task, base::WallTime now) {
  if (task.evicted || task.phase == model::PodPhase::kSucceeded) return "";
  if (task.phase == model::PodPhase::kFailed) return "failed";
  if (task.terminating) return longer(task.deleted_s, now) ? "endsSlowly" : "";
  if (task.stuck) return "restarts";
  const bool starts = !task.node.empty() && task.phase != model::PodPhase::kRunning;
  return starts && longer(task.created_s, now) ? "startsSlowly" : "";
}

void write_task_members(JsonWriter& json, const Task& task, base::WallTime now) {
  json.member("namespace", task.meta.ns.view());
  json.member("name", task.meta.name.view());
  json.member("node", task.node.view());
  json.member("class", task.work_class.view());
  json.member("job", task.job.view());
  json.member("state", task_state(task));
  text_member(json, "abnormal", abnormal_word(task, now));
  json.member("cpu", task.request.cpu.value);
  json.member("memory", task.request.memory.value);
  optional_member(json, "created", seconds_known(task.created_s));
  optional_member(json, "started", seconds_known(task.started_s));
  json.member("why", task.why.view());
}

std::string offline_document(const View& view, const TaskQuery& query, base::WallTime now) {
  Classes classes;
  std::vector<const Task*> shown;
  view.for_each_task([&](const Task& task) {
    count(classes[std::string(task.work_class.view())], task, now);
    if (matches(task, query, now)) shown.push_back(&task);
  });
  for (const EvictedTask& task : view.evicted().all()) classes[task.work_class].evicted.add(task);
  std::ranges::sort(shown, [](const Task* a, const Task* b) {
    if (a->created_s != b->created_s) return a->created_s > b->created_s;
    return std::pair(a->meta.ns.view(), a->meta.name.view()) < std::pair(b->meta.ns.view(), b->meta.name.view());
  });
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("known", view.known().tasks);
  optional_member(json, "since", view.since() ? std::optional(seconds(*view.since())) : std::nullopt);
  json.key("classes").begin_array();
  for (const auto& [name, sums] : classes) write_class(json, view, name, sums);
  json.end_array();
  write_jobs(json, view);
  json.member("total", static_cast<std::int64_t>(shown.size()));
  json.key("tasks").begin_array();
  for (std::size_t i = query.offset; i < shown.size() && i - query.offset < query.limit; ++i) {
    json.begin_object();
    write_task_members(json, *shown[i], now);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace tidemark::console
