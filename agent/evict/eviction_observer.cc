#include "agent/evict/eviction_observer.h"

#include <algorithm>
#include <iterator>

#include "policy/protect/intent.h"
#include "policy/protect/suppress/room.h"

namespace tidemark::agent {
namespace {

constexpr std::int64_t kMicroPerMilli = 1000;
constexpr std::int64_t kCentiPerPercent = 100;
constexpr std::int64_t kQuotaPerMilli_us = 100;  // of a period of 100 ms
constexpr std::int64_t kMilliPerCore = 1000;
constexpr std::size_t kMomentsMax = std::chrono::duration_cast<std::chrono::seconds>(kMomentsKept).count();

bool runs_offline(const model::Task& task) {
  return task.qos_raw == model::Qos::kBe && !task.terminal() && task.kind != model::TaskKind::kHostApplication;
}

// Contract 7.4: pods of raw QoS BE. Of a copilot's tasks, those in the limited group; others are not part of
// suppression's amount for offline work either (policy/protect/suppress/room.h).
bool counts_as_offline(const model::Task& task, std::string_view besteffort) {
  if (!runs_offline(task)) return false;
  return task.kind != model::TaskKind::kCopilotTask || !policy::protect::counts_as_online(&task, besteffort);
}

// Contract 7.4: the smaller of CPU set and quota in force. Ours: also what is left if neither limits it.
std::optional<model::CpuMilli> real_limit(const BesteffortInForce& in_force) {
  std::optional<model::CpuMilli> limit = in_force.left;
  const auto narrow = [&](std::int64_t milli) {
    limit = model::CpuMilli{limit ? std::min(limit->value, milli) : milli};
  };
  if (in_force.cpus) narrow(*in_force.cpus * kMilliPerCore);
  if (in_force.quota_us && *in_force.quota_us != policy::protect::kNoLimit)
    narrow(*in_force.quota_us / kQuotaPerMilli_us);
  return limit;
}

// Contract 7.4: a node that offers 0 counts as 1; a node without an offer is skipped.
std::optional<model::CpuMilli> offered_limit(const policy::evict::NodeSeen& node) {
  for (const auto& each : node.offered) {
    if (each.of != model::PriorityClass::kBatch || !each.cpu) continue;
    return model::CpuMilli{std::max<std::int64_t>(each.cpu->value, 1)};
  }
  return std::nullopt;
}

bool wants_window(const policy::protect::ThresholdRules& rules) {
  return rules.enable && (rules.cpu_evict_percent || rules.cpu_evict_satisfaction_lower_percent);
}

}  // namespace

// Contract 7.4: the smallest cpuset among besteffort and its containers.
BesteffortInForce besteffort_in_force(const policy::protect::SuppressObservation& seen,
                                      const policy::protect::SuppressPlan& plan,
                                      std::optional<std::int64_t> container_cpus) {
  BesteffortInForce out{container_cpus, seen.besteffort_quota_us, plan.left, seen.groups.besteffort};
  if (seen.besteffort_cpus) {
    const auto cpus = std::ssize(*seen.besteffort_cpus);
    out.cpus = std::min<std::int64_t>(container_cpus.value_or(cpus), cpus);
  }
  return out;
}

void EvictionObserver::take_tasks(const Inputs& inputs, base::MonotonicTime now) {
  tasks_.clear();
  for (const ListedTask& each : inputs.tasks.tasks) {
    policy::evict::TaskSeen seen{each.task.get(), std::nullopt, std::nullopt};
    seen.in_pods = policy::protect::lies_below(each.task->path, inputs.pods);
    if (inputs.disks != nullptr && !inputs.disks->held.empty()) {
      const auto held = inputs.disks->held.find(each.task->identity.task);
      if (held != inputs.disks->held.end()) seen.disks = held->second;
    }
    if (const AccountMeasured* account = inputs.measured.find(each.handle)) {
      if (const auto cpu = account->use.cpu_micro.last(now)) seen.cpu = model::CpuMilli{*cpu / kMicroPerMilli};
      if (const auto memory = account->use.memory.last(now)) {
        seen.memory = model::MemoryBytes{memory->without_page_cache};
      }
      if (const auto io = account->io.last(now)) seen.written_bytes = io->written_in_all;
    }
    tasks_.push_back(seen);
  }
}

// A task nested in a counted task is part of it.
void EvictionObserver::take_offline(const Inputs& inputs) {
  policy::evict::OfflineCpu offline;
  std::int64_t sold = 0;  // in any group
  const auto& listed = inputs.tasks.tasks;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const model::Task& task = *tasks_[i].task;
    if (!runs_offline(task)) continue;
    const model::CpuMilli request = task.requests.batch.cpu.value_or(model::CpuMilli{});
    sold += request.value;
    if (!counts_as_offline(task, inputs.besteffort.group)) continue;
    offline.request += request;
    const bool counted = listed[i].above && counts_as_offline(*listed[*listed[i].above].task, inputs.besteffort.group);
    if (!counted) offline.used += tasks_[i].cpu.value_or(model::CpuMilli{});
  }
  // The amount under an order says nothing about the sold amount: our own minimum must not cause evictions.
  if (!inputs.off) {
    offline.limit = inputs.rules.cpu_evict_policy == policy::protect::CpuEvictPolicy::kByAllocatable
                        ? offered_limit(node_)
                        : real_limit(inputs.besteffort);
  }
  node_.offline = offline;
  node_.oversold.reset();
  const NodeFacts* facts = inputs.facts;
  if (facts == nullptr || !facts->oversold || !facts->origin) return;
  node_.oversold = model::CpuMilli{std::max<std::int64_t>(sold - facts->origin->cpu.value, 0)};
}

// An amount withdrawn by an order is not a shortage: a draining node must not cause evictions.
void EvictionObserver::take_offered(const NodeFacts& facts, bool withdrawn) {
  using model::PriorityClass;
  if (withdrawn) {
    node_.offered.assign({{PriorityClass::kProd, facts.native.cpu, facts.native.memory}});
    return;
  }
  node_.offered.assign({{PriorityClass::kProd, facts.native.cpu, facts.native.memory},
                        {PriorityClass::kMid, facts.mid.cpu, facts.mid.memory},
                        {PriorityClass::kBatch, facts.batch.cpu, facts.batch.memory}});
}

// Σ / n over the window, if at least a third of it was seen.
void EvictionObserver::look_back(const Inputs& inputs, base::MonotonicTime now) {
  node_.cpu_in_window.reset();
  node_.offline_in_window.reset();
  if (!wants_window(inputs.rules)) return;
  if (moments_.empty()) moments_.resize(kMomentsMax);
  moments_[next_] = {now, node_.cpu, node_.offline};
  next_ = (next_ + 1) % moments_.size();
  const base::Duration window = std::min(policy::evict::cpu_window(inputs.rules), kMomentsKept);
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(window).count();
  std::int64_t nodes = 0, node = 0, offlines = 0, used = 0, request = 0, limits = 0, limit = 0;
  for (const Moment& each : moments_) {
    if (each.at == base::MonotonicTime() || now - each.at >= window) continue;
    if (each.node) ++nodes, node += each.node->value;
    if (!each.offline) continue;
    ++offlines;
    used += each.offline->used.value;
    request += each.offline->request.value;
    if (each.offline->limit) ++limits, limit += each.offline->limit->value;
  }
  if (nodes > 0 && nodes * 3 >= seconds) node_.cpu_in_window = model::CpuMilli{node / nodes};
  if (offlines > 0 && offlines * 3 >= seconds) {
    auto& average = node_.offline_in_window.emplace();
    average.used = model::CpuMilli{used / offlines};
    average.request = model::CpuMilli{request / offlines};
    if (limits == offlines) average.limit = model::CpuMilli{limit / limits};
  }
}

void EvictionObserver::observe(const Inputs& inputs, base::MonotonicTime now) {
  const NodeMeasured& node = inputs.measured.node;
  node_.capacity = inputs.facts != nullptr ? inputs.facts->size.capacity : model::Resources();
  node_.offered.clear();
  if (inputs.facts != nullptr) take_offered(*inputs.facts, inputs.withdrawn);
  node_.cpu.reset();
  if (const auto cpu = node.cpu_micro.last(now)) node_.cpu = model::CpuMilli{*cpu / kMicroPerMilli};
  node_.memory.reset();
  if (const auto memory = node.memory.last(now)) node_.memory = model::MemoryBytes{memory->without_page_cache};
  node_.memory_of_kubelet.reset();
  if (const auto memory = node.memory_of_kubelet.last(now)) node_.memory_of_kubelet = model::MemoryBytes{*memory};
  node_.left_to_pods = inputs.left_to_pods;
  node_.memory_pressure_percent.reset();
  if (const auto pressure = node.pressure.memory.last(now); pressure && pressure->full_centi) {
    node_.memory_pressure_percent = *pressure->full_centi / kCentiPerPercent;
  }
  node_.disks = {};
  if (inputs.disks != nullptr) node_.disks = inputs.disks->disks;
  take_tasks(inputs, now);
  take_offline(inputs);
  look_back(inputs, now);
}

}  // namespace tidemark::agent
