#include "agent/report/observed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::agent {
namespace {

policy::sell::MemoryReading memory_reading(const std::optional<MemoryUse>& memory) {
  policy::sell::MemoryReading reading;
  if (!memory) return reading;
  reading.without_page_cache_bytes = memory->without_page_cache;
  reading.with_page_cache_bytes = memory->with_page_cache;
  return reading;
}

policy::sell::UsageReading reading_of(const GroupUse& use, base::MonotonicTime at) {
  return {at, use.cpu_micro.last(at), memory_reading(use.memory.last(at))};
}

policy::sell::UsageReading system_reading(const Measured& measured, base::MonotonicTime at) {
  policy::sell::UsageReading reading{at, std::nullopt, {}};
  if (const auto cpu = measured.system_cpu.last(at)) reading.cpu_micro = cpu->cpu_micro;
  if (const auto memory = measured.system_memory.last(at)) reading.memory = memory_reading(memory->bytes);
  return reading;
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

bool is_offline_application(const model::Task& task) {
  return task.kind == model::TaskKind::kHostApplication &&
         (task.priority == model::PriorityClass::kBatch || task.priority == model::PriorityClass::kFree);
}

bool lies_in_offline_application(const TaskSnapshot& tasks, const ListedTask& listed) {
  for (auto above = listed.above; above; above = tasks.tasks[*above].above) {
    if (is_offline_application(*tasks.tasks[*above].task)) return true;
  }
  return false;
}

}  // namespace

void Observed::take(const Measured& measured, std::shared_ptr<const TaskSnapshot> tasks) {
  tasks_ = std::move(tasks);
  pod_readings_.clear();
  host_readings_.clear();
  numa_readings_.clear();
  pods_.clear();
  host_applications_.clear();
  source_readings_.clear();
  source_names_.clear();
  offline_beside_pods_.clear();
  const base::MonotonicTime at = measured.pass.at;

  // Both lists have the same order, and each may lack entries of the other.
  auto next = measured.accounts.begin();
  for (const ListedTask& listed : tasks_->tasks) {
    const auto found = std::find_if(next, measured.accounts.end(),
                                    [&](const AccountMeasured& one) { return one.handle == listed.handle; });
    if (found == measured.accounts.end()) continue;
    next = found + 1;
    const model::Task& task = *listed.task;
    const auto reading = reading_of(found->use, at);
    switch (task.kind) {
      case model::TaskKind::kPod:
        pod_readings_.push_back({task.identity.task, reading});
        pods_.push_back({task.identity.task, task.ns, task.name, task.priority, task.qos});
        break;
      case model::TaskKind::kHostApplication:
        host_readings_.push_back({task.name, reading});
        host_applications_.push_back({task.name, task.priority, task.qos});
        if (is_offline_application(task) && !lies_in_offline_application(*tasks_, listed)) {
          offline_beside_pods_.push_back(task.name);
        }
        break;
      case model::TaskKind::kCopilotTask:
        if (!listed.above) add_to_source(task.identity.source, reading);
        break;
    }
  }
  name_sources();
  for (const NumaMeasured& node : measured.node.numa) {
    policy::sell::NumaReading reading;
    reading.numa_node_id = node.id;
    reading.reading = {at, node.cpu_micro.last(at), {}};
    const auto memory = node.memory_bytes.last(at);
    reading.reading.memory = {memory, memory, memory};
    const auto system = node.system_memory_bytes.last(at);
    reading.system = {at, node.system_cpu_micro.last(at), {system, system, system}};
    numa_readings_.push_back(reading);
  }
  readings_ = {at,
               {at, measured.node.cpu_micro.last(at), memory_reading(measured.node.memory.last(at))},
               system_reading(measured, at),
               pod_readings_,
               host_readings_,
               numa_readings_};
}

void Observed::add_to_source(std::string_view source, const policy::sell::UsageReading& reading) {
  const auto at = std::ranges::find(source_readings_, source, &policy::sell::NamedReading::name);
  if (at == source_readings_.end()) {
    source_readings_.push_back({source, reading});
    return;
  }
  add(at->reading.cpu_micro, reading.cpu_micro);
  add(at->reading.memory.without_page_cache_bytes, reading.memory.without_page_cache_bytes);
  add(at->reading.memory.with_page_cache_bytes, reading.memory.with_page_cache_bytes);
}

void Observed::name_sources() {
  for (policy::sell::NamedReading& each : source_readings_) {
    if (std::ranges::find(host_readings_, each.name, &policy::sell::NamedReading::name) != host_readings_.end()) {
      each.name = source_names_.emplace_back(base::cat("copilot ", each.name));
    }
    offline_beside_pods_.push_back(each.name);
    host_applications_.push_back({each.name, model::PriorityClass::kBatch, model::Qos::kBe});
  }
  // First, since the number of entries is limited (policy::kUsageHostApplicationsMax).
  host_readings_.insert(host_readings_.begin(), source_readings_.begin(), source_readings_.end());
}

}  // namespace tidemark::agent
