#include "agent/protect/suppress_observer.h"

#include <algorithm>
#include <utility>

#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "linux/kubepods.h"
#include "policy/protect/limits/limits.h"

namespace tidemark::agent {
namespace {

constexpr std::int64_t kSuppressMicroPerMilli = 1000;

std::optional<model::CpuMilli> milli(const Sample<std::int64_t>& micro, base::MonotonicTime now) {
  const auto last = micro.last(now);
  return last ? std::optional(model::CpuMilli{*last / kSuppressMicroPerMilli}) : std::nullopt;
}

// Overwrites in place: the texts are usually the same each second, so nothing is allocated.
void put_at(std::vector<std::string>& texts, std::size_t at, const std::string& text) {
  if (at == texts.size()) texts.emplace_back();
  texts[at] = text;
}

linux::Controllers cpu_and_cpuset() {
  linux::Controllers out;
  out.set(static_cast<std::size_t>(linux::Controller::kCpu));
  out.set(static_cast<std::size_t>(linux::Controller::kCpuset));
  return out;
}

}  // namespace

SuppressObserver::SuppressObserver(const linux::Hierarchies& hierarchies, const linux::Topology& topology)
    : hierarchies_(hierarchies) {
  for (const linux::Processor& each : topology.processors) {
    seen_.processors.push_back({each.cpu, each.core, each.socket, each.node});
  }
}

// A task's use is that of its whole group; a nested task is counted for itself.
void SuppressObserver::take_tasks(const Inputs& inputs, base::MonotonicTime now) {
  seen_.tasks.clear();
  std::size_t at = 0;  // accounts are in the order of the tasks
  const auto& accounts = inputs.measured.accounts;
  for (const ListedTask& each : inputs.tasks.tasks) {
    policy::protect::ObservedTask observed{each.task.get(), std::nullopt, false,
                                           policy::protect::is_refused(*each.task, inputs.refuses_since)};
    while (at < accounts.size() && accounts[at].handle != each.handle && !each.task->path.empty()) ++at;
    const AccountMeasured* account =
        at < accounts.size() && accounts[at].handle == each.handle ? &accounts[at] : nullptr;
    if (account == nullptr && !each.task->path.empty()) {
      account = inputs.measured.find(each.handle);  // another order: the list changed since
      at = 0;
    }
    if (account != nullptr) {
      observed.used = milli(account->use.cpu_micro, now);
      const auto throttling = account->use.throttling.last(now);
      observed.throttled = throttling && throttling->throttled_periods > 0;
    }
    seen_.tasks.push_back(observed);
  }
  // The innermost first: its use is subtracted from the group above.
  for (std::size_t i = inputs.tasks.tasks.size(); i-- > 0;) {
    const auto above = inputs.tasks.tasks[i].above;
    if (!above || !seen_.tasks[i].used || !seen_.tasks[*above].used) continue;
    auto& outer = *seen_.tasks[*above].used;
    std::int64_t inner = 0;
    if (const AccountMeasured* account = inputs.measured.find(inputs.tasks.tasks[i].handle)) {
      inner = milli(account->use.cpu_micro, now).value_or(model::CpuMilli{0}).value;
    }
    outer.value = std::max<std::int64_t>(outer.value - inner, 0);
  }
}

void SuppressObserver::take_groups(const PodGroups& groups) {
  const linux::Kubepods* kubepods = groups.kubepods();
  if (kubepods == nullptr) {
    seen_.groups.besteffort.clear();
  } else {
    seen_.groups.besteffort = kubepods->qos_path(linux::KubeQos::kBestEffort);
  }
  std::size_t pods = 0, containers = 0;
  for (const linux::LivePod& pod : groups.pods()) {
    if (pod.qos != linux::KubeQos::kBestEffort) continue;
    put_at(seen_.groups.pods, pods++, pod.path);
    for (const linux::LiveContainer& container : pod.containers) {
      put_at(seen_.groups.containers, containers++, container.path);
    }
  }
  seen_.groups.pods.resize(pods);
  seen_.groups.containers.resize(containers);
}

void SuppressObserver::take_besteffort(const PodGroups& groups) {
  seen_.besteffort_quota_us.reset();
  if (!read_besteffort(groups)) seen_.besteffort_cpus.reset();
}

// Whether its CPUs are known.
bool SuppressObserver::read_besteffort(const PodGroups& groups) {
  if (groups.kubepods() == nullptr) return false;
  const std::string& path = seen_.groups.besteffort;
  if (!besteffort_ || besteffort_->path() != path || !besteffort_->alive()) {
    besteffort_.reset();
    auto opened = linux::Group::open(hierarchies_, path, cpu_and_cpuset());
    if (!opened || !*opened) return false;
    besteffort_.emplace(std::move(**opened));
  }
  if (const auto quota = linux::read_value(*besteffort_, linux::File::kCpuQuota, buffer_); quota && *quota) {
    seen_.besteffort_quota_us = **quota;
  }
  const auto cpus = besteffort_->read(linux::File::kCpusetCpusEffective, buffer_);
  if (!cpus || !*cpus) return false;
  const auto set = linux::CpuSet::parse(**cpus);
  if (!set) return false;
  if (!seen_.besteffort_cpus) seen_.besteffort_cpus.emplace();
  seen_.besteffort_cpus->clear();
  for (int cpu = set->next(0); cpu >= 0; cpu = set->next(cpu + 1)) seen_.besteffort_cpus->push_back(cpu);
  return true;
}

const policy::protect::SuppressObservation& SuppressObserver::observe(const Inputs& inputs, base::MonotonicTime now) {
  seen_.node_off = inputs.off;
  seen_.node_used = milli(inputs.measured.node.cpu_micro, now);
  seen_.capacity.reset();
  seen_.kubelet_reserved.reset();
  seen_.annotation_reserved = {};
  seen_.reserved_cpus.clear();
  seen_.exclusive_cpus.clear();
  if (inputs.facts != nullptr) {
    seen_.capacity = inputs.facts->size.capacity.cpu;
    seen_.kubelet_reserved = inputs.facts->kubelet_reserved.cpu;
    if (inputs.facts->reserved) seen_.annotation_reserved = inputs.facts->reserved->cpu;
    seen_.reserved_cpus = inputs.facts->reserved_cpus;
    seen_.exclusive_cpus = inputs.facts->system_cpus;
    seen_.ratio_percent = inputs.facts->normalization_percent;
  }
  seen_.kubelet_static = inputs.kubelet_static;
  seen_.runs_last = inputs.runs_last;
  seen_.nested_cpuset = inputs.capabilities.nested_cpuset;
  seen_.nested_quota = inputs.capabilities.nested_quota;
  take_tasks(inputs, now);
  take_groups(inputs.groups);
  take_besteffort(inputs.groups);
  return seen_;
}

}  // namespace tidemark::agent
