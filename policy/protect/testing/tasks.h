// Tasks of a node for scenarios and properties, and what strategies want of their groups as lines.
//
//   pod NAME qos BE|LSE|…|none kube Guaranteed|Burstable|BestEffort [at GROUP] [class NAME] [phase Succeeded|…]
//            [annotation TEXT]                 of `koordinator.sh/cpuQOS`, without blanks
//   container NAME of POD [at GROUP] [init|sidecar] [request CPU/MEMORY] [limit CPU/MEMORY] [mid CPU/MEMORY]
//            batch resources; "-" is not said
//   task NAME [at GROUP] [class NAME] [request CPU/MEMORY] [limit CPU/MEMORY]     of a copilot
//   application NAME at GROUP                                                     of the host
//   gone NAME
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/pod.h"
#include "model/task.h"
#include "policy/protect/intent.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::testing {

// A task's own sums, from its containers: as model/task.h says of them.
void sum_up(model::Task& task);

class TaskStage {
 public:
  // False: not a verb of this stage.
  bool take(std::string_view verb, Words& words);
  std::vector<const model::Task*> tasks() const;

 private:
  model::Task& task(const std::string& name);
  void container(Words& words);

  std::map<std::string, model::Task> tasks_;
};

// A line for each group: "> GROUP shares 2048 [TM-LIMIT-001], quota -1 [TM-LIMIT-003]".
std::vector<std::string> lines_of(std::span<const protect::Intent> intents);

// A node of any tasks, some of them wild; the sums are right.
std::vector<model::Task> any_tasks(std::mt19937_64& random);
std::vector<const model::Task*> pointers(const std::vector<model::Task>& tasks);

// ---- how ----

inline model::SaidAmounts said(const std::string& text) {
  const auto parts = base::split(text, '/');
  if (parts.size() != 2) throw std::runtime_error(base::cat("wanted CPU/MEMORY, found ", text));
  model::SaidAmounts out;
  if (parts[0] != "-") out.cpu = cpu_milli(quantity(parts[0]));
  if (parts[1] != "-") out.memory = memory_bytes(quantity(parts[1]));
  return out;
}

inline model::Resources sum_of(const model::Task& task, model::TaskAmounts model::TaskContainer::* side,
                               model::SaidAmounts model::TaskAmounts::* part) {
  model::PodResources pod;
  for (const model::TaskContainer& each : task.containers) {
    const model::SaidAmounts& amounts = (each.*side).*part;
    const bool main = each.role == model::ContainerRole::kMain;
    (main ? pod.containers : pod.init_containers)
        .push_back({{amounts.cpu.value_or(model::CpuMilli{}), amounts.memory.value_or(model::MemoryBytes{})},
                    {},
                    each.role == model::ContainerRole::kSidecar});
  }
  return model::effective_request(pod);
}

inline void sum_up(model::Task& task) {
  for (const auto part : {&model::TaskAmounts::batch, &model::TaskAmounts::mid}) {
    const model::Resources requests = sum_of(task, &model::TaskContainer::requests, part);
    const model::Resources limits = sum_of(task, &model::TaskContainer::limits, part);
    bool cpu = false, memory = false, all_cpu = true, all_memory = true;
    for (const model::TaskContainer& each : task.containers) {
      const model::SaidAmounts& limit = each.limits.*part;
      if (limit.none() && (each.requests.*part).none()) continue;
      cpu = memory = true;
      all_cpu &= limit.cpu.has_value();
      all_memory &= limit.memory.has_value();
    }
    if (requests.cpu.value > 0) (task.requests.*part).cpu = requests.cpu;
    if (requests.memory.value > 0) (task.requests.*part).memory = requests.memory;
    if (cpu && all_cpu) (task.limits.*part).cpu = limits.cpu;
    if (memory && all_memory) (task.limits.*part).memory = limits.memory;
  }
}

inline model::Task& TaskStage::task(const std::string& name) {
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) throw std::runtime_error(base::cat("no such task: ", name));
  return found->second;
}

inline void TaskStage::container(Words& words) {
  model::TaskContainer container;
  container.name = words.next();
  if (words.next() != "of") throw std::runtime_error("wanted: container NAME of POD");
  model::Task& pod = task(words.next());
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "at") {
      container.path = words.next();
    } else if (word == "init") {
      container.role = model::ContainerRole::kInit;
    } else if (word == "sidecar") {
      container.role = model::ContainerRole::kSidecar;
    } else if (word == "request") {
      container.requests.batch = said(words.next());
    } else if (word == "limit") {
      container.limits.batch = said(words.next());
    } else if (word == "mid") {
      container.requests.mid = container.limits.mid = said(words.next());
    } else {
      throw std::runtime_error(base::cat("a container has no ", word));
    }
  }
  pod.containers.push_back(std::move(container));
  pod.requests = pod.limits = {};
  sum_up(pod);
}

inline bool TaskStage::take(std::string_view verb, Words& words) {
  if (verb == "gone") return tasks_.erase(words.next()) == 1;
  if (verb == "container") return container(words), true;
  model::Task made;
  made.phase = model::PodPhase::kRunning;
  if (verb == "task") {
    made.kind = model::TaskKind::kCopilotTask;
    made.qos_raw = made.qos = model::Qos::kBe;
  } else if (verb == "application") {
    made.kind = model::TaskKind::kHostApplication;
    made.qos_raw = made.qos = model::Qos::kBe;
    made.requests.batch = {{{1000}}, {}};
  } else if (verb != "pod") {
    return false;
  }
  made.name = words.next();
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "qos") {
      made.qos_raw = model::parse_qos(words.next());
    } else if (word == "kube") {
      made.kube_qos = model::parse_kube_qos(words.next()).value();
    } else if (word == "at") {
      made.path = words.next();
    } else if (word == "class") {
      made.identity.work_class = words.next();
    } else if (word == "phase") {
      made.phase = model::parse_pod_phase(words.next());
    } else if (word == "annotation") {
      made.settings.push_back({model::TaskSetting::kCpuQos, words.next()});
    } else if (word == "request") {
      made.requests.batch = said(words.next());
    } else if (word == "limit") {
      made.limits.batch = said(words.next());
    } else {
      throw std::runtime_error(base::cat("a task has no ", word));
    }
  }
  made.qos = model::qos_with_default(made.qos_raw, made.kube_qos);
  tasks_[made.name] = std::move(made);
  return true;
}

inline std::vector<const model::Task*> TaskStage::tasks() const {
  std::vector<const model::Task*> out;
  for (const auto& [name, task] : tasks_) out.push_back(&task);
  return out;
}

inline std::vector<std::string> lines_of(std::span<const protect::Intent> intents) {
  constexpr std::string_view kWants[] = {"quota", "cpus", "shares", "priority", "memory", "memory-min", "memory-low"};
  std::vector<std::string> lines;
  const protect::Intent* before = nullptr;
  for (const protect::Intent& intent : intents) {
    const auto word = base::cat(kWants[static_cast<std::size_t>(intent.want)], " ", intent.value, " [",
                                model::reason_id(intent.reason), "]");
    if (before != nullptr && before->group == intent.group) {
      lines.back() += base::cat(", ", word);
    } else {
      lines.push_back(base::cat("> ", intent.group, " ", word));
    }
    before = &intent;
  }
  if (lines.empty()) lines.emplace_back("> nothing");
  return lines;
}

inline std::optional<std::int64_t> any_amount(std::mt19937_64& random) {
  constexpr std::int64_t kEdges[] = {0, 1, 9, 10, 11, 999, 1000, 256'000, INT64_MAX, INT64_MIN, -1};
  switch (random() % 8) {
    case 0:
    case 1:
      return std::nullopt;
    case 2:
      return kEdges[random() % std::size(kEdges)];
    default:
      return static_cast<std::int64_t>(random() % 300'000);
  }
}

inline model::SaidAmounts any_said(std::mt19937_64& random) {
  model::SaidAmounts out;
  if (const auto cpu = any_amount(random)) out.cpu = model::CpuMilli{*cpu};
  if (const auto memory = any_amount(random)) out.memory = model::MemoryBytes{*memory};
  return out;
}

inline model::TaskContainer any_container(std::mt19937_64& random, const std::string& above, int number) {
  constexpr model::ContainerRole kRoles[] = {model::ContainerRole::kMain, model::ContainerRole::kMain,
                                             model::ContainerRole::kInit, model::ContainerRole::kSidecar};
  model::TaskContainer out;
  out.role = kRoles[random() % std::size(kRoles)];
  if (random() % 5 != 0) out.path = base::cat(above, "/c", number);
  if (random() % 4 != 0) out.requests.batch = any_said(random);
  if (random() % 4 != 0) out.limits.batch = any_said(random);
  if (random() % 6 == 0) out.requests.mid = any_said(random);
  // A limit that is not positive means no limit (agent/tasks/pod_task.cc drops it).
  model::SaidAmounts& limit = out.limits.batch;
  if (limit.cpu && limit.cpu->value <= 0) limit.cpu.reset();
  if (limit.memory && limit.memory->value <= 0) limit.memory.reset();
  return out;
}

inline std::vector<model::Task> any_tasks(std::mt19937_64& random) {
  constexpr model::TaskKind kKinds[] = {model::TaskKind::kPod, model::TaskKind::kPod, model::TaskKind::kPod,
                                        model::TaskKind::kCopilotTask, model::TaskKind::kHostApplication};
  constexpr std::string_view kClasses[] = {"", "transcode", "training", "spark", "unheard-of"};
  constexpr std::string_view kAnnotations[] = {R"({"enable":true,"groupIdentity":1})", R"({"enable":false})", "{", ""};
  std::vector<model::Task> tasks(random() % 12);
  int number = 0;
  for (model::Task& task : tasks) {
    task.kind = kKinds[random() % std::size(kKinds)];
    task.qos_raw = static_cast<model::Qos>(random() % 6);
    if (random() % 2 == 0 || task.kind == model::TaskKind::kCopilotTask) task.qos_raw = model::Qos::kBe;
    task.kube_qos = static_cast<model::KubeQos>(random() % 3);
    task.qos = model::qos_with_default(task.qos_raw, task.kube_qos);
    task.phase = static_cast<model::PodPhase>(random() % 5);
    task.identity.work_class = kClasses[random() % std::size(kClasses)];
    if (random() % 5 == 0)
      task.settings.push_back({model::TaskSetting::kCpuQos, std::string(kAnnotations[random() % 4])});
    if (random() % 6 != 0) task.path = base::cat(random() % 4 == 0 ? "yarn" : "kubepods/besteffort", "/t", ++number);
    if (task.kind != model::TaskKind::kPod) {
      task.requests.batch = any_said(random);
      task.limits.batch = any_said(random);
      continue;
    }
    for (auto left = random() % 4; left > 0; --left) {
      task.containers.push_back(any_container(random, task.path, static_cast<int>(left)));
    }
    sum_up(task);
  }
  return tasks;
}

inline std::vector<const model::Task*> pointers(const std::vector<model::Task>& tasks) {
  std::vector<const model::Task*> out;
  for (const model::Task& task : tasks) out.push_back(&task);
  return out;
}

}  // namespace tidemark::policy::testing
