#include "cli/local/tasks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "model/pod_id.h"
#include "policy/single_node/local_queue.h"

namespace tidemark::cli {
namespace {

using base::cat;

std::string class_word(bool offline, model::PriorityClass priority_class) {
  switch (priority_class) {
    case model::PriorityClass::kMid:
      return "mid";
    case model::PriorityClass::kBatch:
      return "batch";
    case model::PriorityClass::kFree:
      return "free";
    case model::PriorityClass::kProd:
    case model::PriorityClass::kNone:
      break;
  }
  return offline ? "offline" : "online";
}

bool has_begun(const PodSeen& pod) {
  return pod.over() || std::ranges::any_of(pod.containers, [](const ContainerSeen& one) {
           return one.running || one.exit_code || one.restarts > 0;
         });
}

bool runs(const PodSeen& pod) {
  return std::ranges::any_of(pod.containers, &ContainerSeen::running);
}

// The first container that waits for something worth telling.
std::string waits_text(const PodSeen& pod) {
  for (const ContainerSeen& each : pod.containers) {
    if (!each.waits_message.empty()) return each.waits_message;
  }
  for (const ContainerSeen& each : pod.containers) {
    if (!each.waits_for.empty()) return each.waits_for;
  }
  return "";
}

std::string failed_text(const PodSeen& pod) {
  if (!pod.reason.empty()) return cat(pod.reason, pod.message.empty() ? "" : ": ", pod.message);
  for (const ContainerSeen& each : pod.containers) {
    if (each.exit_code.value_or(0) != 0 && each.ended_reason != "Error") return each.ended_reason;
  }
  return "";
}

struct Place {
  std::size_t place = 0, of = 0;
};
using Queue = std::map<const PodSeen*, Place>;

// As the runtime's queue numbers them: without a known node all wait. Only the runtime knows how long it has seen each
// one wait; if the clock was not set, that is the order of creation.
Queue queue_of(const LocalObjects& objects) {
  std::vector<const PodSeen*> pods;
  std::vector<policy::single_node::QueueWaiting> waiting;
  for (const PodSeen& pod : objects.pods) {
    if (!pod.waits()) continue;
    pods.push_back(&pod);
    waiting.push_back({&pod.queued});
  }
  policy::single_node::LocalQueueInputs inputs;
  inputs.waiting = waiting;
  const policy::single_node::LocalQueuePlan plan = policy::single_node::local_queue(inputs);
  Queue out;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (plan.outcomes[i]) out[pods[i]] = {plan.outcomes[i]->position, plan.outcomes[i]->of};
  }
  return out;
}

// What the pod waits for, without the position, which may be out of date.
std::string_view without_place(std::string_view why) {
  const auto end = why.starts_with("position ") ? why.find(": ") : std::string_view::npos;
  return end == std::string_view::npos ? why : why.substr(end + 2);
}

// How a pod stands by itself; whether it goes on after it is over, its owner knows.
void take_pod(const PodSeen& pod, const Queue& queue, const LocalObjects& objects, const HeldBack& held,
              LocalTask& task) {
  task.pod = pod.name;
  const auto used = objects.usage.find(model::PodId(pod.ns, pod.name));
  if (used != objects.usage.end() && !pod.over()) task.used = used->second;
  if (pod.over()) {
    task.state = pod.phase == model::PodPhase::kSucceeded ? TaskState::kSucceeded : TaskState::kFailed;
    task.exit_code = pod.exit_code();
    if (task.state == TaskState::kFailed) task.why = failed_text(pod);
  } else if (pod.deleted) {
    task.state = pod.disrupted ? TaskState::kEvicted : TaskState::kStopping;
    task.why = pod.disrupted_why;
  } else if (pod.waits()) {
    task.state = TaskState::kWaiting;
    task.why = without_place(pod.unscheduled_why);
    const auto found = queue.find(&pod);
    if (found != queue.end()) {
      task.place = found->second.place;
      task.queue = found->second.of;
    }
  } else if (runs(pod)) {
    const auto found = held.find(pod.uid);
    task.state = found == held.end() ? TaskState::kRunning : TaskState::kLimited;
    if (found != held.end()) task.why = found->second;
  } else if (has_begun(pod)) {
    task.state = TaskState::kRestarting;
    task.exit_code = pod.exit_code();
    task.why = waits_text(pod);
  } else {
    task.state = TaskState::kStarting;
    task.why = waits_text(pod);
  }
}

LocalTask task_of(const PodSeen& pod, const Queue& queue, const LocalObjects& objects, const HeldBack& held) {
  LocalTask task;
  task.ns = pod.ns;
  task.name = pod.name;
  task.work_class = class_word(pod.offline, pod.priority_class);
  task.asked = pod.asked;
  task.created = pod.created;
  task.runs = pod.restarts() + (has_begun(pod) ? 1 : 0);
  take_pod(pod, queue, objects, held, task);
  return task;
}

LocalTask task_of(const JobSeen& job, const Queue& queue, const LocalObjects& objects, const HeldBack& held) {
  LocalTask task;
  task.ns = job.ns;
  task.name = job.name;
  task.job = true;
  task.work_class = class_word(job.offline, job.priority_class);
  task.asked = job.asked;
  task.created = job.created;
  std::int64_t begun = 0, running = 0;
  bool evicted_now = false;  // one that is on its way out, and noted on the job only when it has ended
  const PodSeen* current = current_pod(objects, job.ns, job.name);
  for (const PodSeen& pod : objects.pods) {
    if (pod.ns != job.ns || pod.job != job.name) continue;
    begun += has_begun(pod) ? 1 : 0;
    running += runs(pod) ? 1 : 0;
    evicted_now = evicted_now || (pod.disrupted && &pod != current);
  }
  // Those that are gone the job counts, and the others may not be counted yet.
  task.runs = std::max(begun, job.failed + job.succeeded + job.queued_again + running);
  if (current != nullptr) take_pod(*current, queue, objects, held, task);
  const bool evicted_before = job.queued_again > 0 || evicted_now;
  if (task.state == TaskState::kWaiting && evicted_before) task.state = TaskState::kRequeued;
  if (job.complete) {
    task.state = TaskState::kSucceeded;
    task.why.clear();
  } else if (job.given_up) {
    task.state = TaskState::kFailed;
    if (task.why.empty() && !task.exit_code) task.why = job.given_up_why;
  } else if (job.deleted) {
    task.state = TaskState::kStopping;
    task.why.clear();
  } else if (job.suspended) {
    task.state = TaskState::kSuspended;
  } else if (current == nullptr || current->over()) {  // its next pod is on its way
    task.state = current == nullptr ? TaskState::kStarting : TaskState::kRestarting;
    if (task.why.empty()) task.why = current == nullptr ? "its pod is not made yet" : "its next pod is not made yet";
  }
  return task;
}

std::string column(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::kWaiting:
      return "Waiting";
    case TaskState::kRequeued:
      return "Requeued";
    case TaskState::kStarting:
      return "Starting";
    case TaskState::kRunning:
      return "Running";
    case TaskState::kLimited:
      return "Limited";
    case TaskState::kRestarting:
      return "Restarting";
    case TaskState::kEvicted:
      return "Evicted";
    case TaskState::kStopping:
      return "Stopping";
    case TaskState::kSuspended:
      return "Suspended";
    case TaskState::kSucceeded:
      return "Succeeded";
    case TaskState::kFailed:
      return "Failed";
  }
  return "Unknown";
}

const PodSeen* current_pod(const LocalObjects& objects, std::string_view ns, std::string_view job) {
  const PodSeen* found = nullptr;
  const auto worth = [](const PodSeen& pod) {  // one that goes away counts less than the one that comes after it
    return std::tuple(!pod.over() && !pod.deleted, !pod.over(), pod.created.value_or(base::WallTime()), pod.name);
  };
  for (const PodSeen& pod : objects.pods) {
    if (pod.ns != ns || pod.job != job) continue;
    if (found == nullptr || worth(*found) < worth(pod)) found = &pod;
  }
  return found;
}

std::vector<LocalTask> local_tasks(const LocalObjects& objects, std::string_view ns, const HeldBack& held) {
  const Queue queue = queue_of(objects);
  const auto is_job = [&](std::string_view of, std::string_view name) {
    return std::ranges::any_of(objects.jobs, [&](const JobSeen& job) { return job.ns == of && job.name == name; });
  };
  std::vector<LocalTask> out;
  for (const JobSeen& job : objects.jobs) {
    if (ns.empty() || job.ns == ns) out.push_back(task_of(job, queue, objects, held));
  }
  for (const PodSeen& pod : objects.pods) {
    // What a job that is gone leaves behind is shown for itself.
    if (!pod.job.empty() && is_job(pod.ns, pod.job)) continue;
    if (ns.empty() || pod.ns == ns) out.push_back(task_of(pod, queue, objects, held));
  }
  std::ranges::sort(out, {}, [](const LocalTask& task) {
    return std::tuple(task.work_class != "online", task.created.value_or(base::WallTime()), task.ns, task.name);
  });
  return out;
}

std::string state_text(const LocalTask& task) {
  if (task.queue > 0) return cat(to_string(task.state), " ", task.place, "/", task.queue);
  if (task.exit_code && (task.state == TaskState::kFailed || task.state == TaskState::kRestarting)) {
    return cat(to_string(task.state), " exit ", *task.exit_code);
  }
  return std::string(to_string(task.state));
}

std::string cores_text(std::int64_t cpu_milli) {
  constexpr std::int64_t kCore = 1000, kDigit = 10;
  const std::int64_t hundredths = cpu_milli / kDigit + (cpu_milli % kDigit) / (kDigit / 2);  // no sum that overflows
  std::string out = cat(hundredths / (kCore / kDigit));
  const std::int64_t rest = hundredths % (kCore / kDigit);
  if (rest != 0) out += cat(".", rest / 10, rest % 10 == 0 ? "" : cat(rest % 10));
  return out;
}

std::string memory_text(std::int64_t memory_bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"", "Ki", "Mi", "Gi", "Ti"};
  constexpr std::int64_t kNext = 1024;
  std::size_t unit = 0;
  std::int64_t tenths = std::max<std::int64_t>(memory_bytes, 0);
  // Tenths from the first unit on: fewer than 2^63 / 10 are left by then.
  while (unit + 1 < kUnits.size() && tenths >= kNext * (unit == 0 ? 1 : 10)) {
    tenths = unit == 0 ? (tenths / kNext) * 10 + (tenths % kNext) * 10 / kNext : tenths / kNext;
    ++unit;
  }
  if (unit == 0) return cat(tenths);
  const bool whole = tenths % 10 == 0 || tenths >= 1000;
  return cat(tenths / 10, whole ? "" : cat(".", tenths % 10), kUnits[unit]);
}

std::string age_text(base::Duration age) {
  const auto s = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (s >= kDay) return cat(s / kDay, "d", s % kDay / kHour, "h");
  if (s >= kHour) return cat(s / kHour, "h", s % kHour / kMinute, "m");
  if (s >= kMinute) return cat(s / kMinute, "m", s % kMinute, "s");
  return cat(s, "s");
}

std::string one_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string render_tasks(const std::vector<LocalTask>& tasks, bool all, base::WallTime now) {
  constexpr std::size_t kColumns = 8;
  using Row = std::array<std::string, kColumns>;
  std::vector<Row> rows{{"NAME", "KIND", "STATE", "CPU", "MEMORY", "AGE", "RUNS", "WHY"}};
  std::size_t hidden = 0;
  for (const LocalTask& task : tasks) {
    if (task.ended() && !all) {
      ++hidden;
      continue;
    }
    rows.push_back(
        {task.name, task.work_class, state_text(task),
         cat(task.used ? cores_text(task.used->cpu.value) : "-", "/", cores_text(task.asked.cpu.value)),
         cat(task.used ? memory_text(task.used->memory.value) : "-", "/", memory_text(task.asked.memory.value)),
         task.created ? age_text(now - *task.created) : "-", cat(task.runs), one_line(task.why)});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) line += cat(i == 0 ? "" : "  ", column(row[i], widths[i]));
    line.erase(line.find_last_not_of(' ') + 1);
    out += cat(line, "\n");
  }
  if (rows.size() == 1) out = hidden == 0 ? "nothing runs, waits or has ended\n" : "nothing runs or waits\n";
  if (hidden > 0)
    out += cat(hidden, " more ", hidden == 1 ? "has" : "have", " ended: -a shows ", hidden == 1 ? "it\n" : "them\n");
  return out;
}

Json render_tasks_json(const std::vector<LocalTask>& tasks, bool all) {
  Json list = Json::array();
  for (const LocalTask& task : tasks) {
    if (task.ended() && !all) continue;
    Json one = Json::object({{"namespace", task.ns},
                             {"name", task.name},
                             {"kind", task.job ? "Job" : "Pod"},
                             {"class", task.work_class},
                             {"state", to_string(task.state)}});
    if (task.queue > 0) {
      one["place"] = static_cast<std::int64_t>(task.place);
      one["queue"] = static_cast<std::int64_t>(task.queue);
    }
    if (task.exit_code) one["exitCode"] = *task.exit_code;
    one["cpuAskedMilli"] = task.asked.cpu.value;
    one["memoryAskedBytes"] = task.asked.memory.value;
    if (task.used) {
      one["cpuUsedMilli"] = task.used->cpu.value;
      one["memoryUsedBytes"] = task.used->memory.value;
    }
    if (task.created) one["created"] = base::format_rfc3339(*task.created);
    one["runs"] = task.runs;
    if (!task.pod.empty()) one["pod"] = task.pod;
    if (!task.why.empty()) one["why"] = task.why;
    list.as_array().push_back(std::move(one));
  }
  return Json::object({{"schema", 1}, {"tasks", std::move(list)}});
}

}  // namespace tidemark::cli
