#include "agent/pages/work_pages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::agent {
namespace {

constexpr double kMicroPerCore = 1e6;

struct Workload {
  std::string business;
  std::int64_t requested_milli = 0;
  int pods = 0;
  double cpu_cores = 0, memory_bytes = 0;
  std::optional<double> waiting_threads;

  void add(const Workload& more) {
    requested_milli += more.requested_milli;
    pods += more.pods;
    cpu_cores += more.cpu_cores;
    memory_bytes += more.memory_bytes;
    if (more.waiting_threads) waiting_threads = waiting_threads.value_or(0) + *more.waiting_threads;
  }
};
using Workloads = std::map<std::string, Workload, std::less<>>;

bool is_online_pod(const model::Task& task) {
  return task.kind == model::TaskKind::kPod && !task.terminal() && !policy::protect::is_offline(task);
}

std::string_view lasting_workload(const model::Task& task) {
  if (task.workload.empty() || policy::waterline::parse_workload(task.workload).kind == "Job") return kOther;
  return task.workload;
}

Workload measured_pod(const model::Task& task, const AccountMeasured* read, base::MonotonicTime now) {
  Workload pod;
  pod.business = task.identity.business;
  pod.requested_milli = task.requests.native.cpu.value_or(model::CpuMilli{}).value;
  pod.pods = 1;
  if (read == nullptr) return pod;
  pod.cpu_cores = static_cast<double>(read->use.cpu_micro.last(now).value_or(0)) / kMicroPerCore;
  pod.memory_bytes = static_cast<double>(read->use.memory.last(now).value_or(MemoryUse()).without_page_cache);
  const auto& waits = read->run_queue;
  if (const auto run_queue = waits.last(now); run_queue && waits.over.count() > 0) {
    pod.waiting_threads = static_cast<double>(run_queue->waited_ns) / static_cast<double>(waits.over.count());
  }
  return pod;
}

// By requests, which are stable: a series that comes and goes with the use of its workload is a new one each time.
Workloads largest(Workloads all) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [name, workload] : all) {
    if (name != kOther) order.emplace_back(-workload.requested_milli, name);
  }
  if (order.size() <= kOnlineWorkloadsMax) return all;
  std::ranges::sort(order);
  for (std::size_t i = kOnlineWorkloadsMax; i < order.size(); ++i) {
    const auto small = all.find(order[i].second);
    all[std::string(kOther)].add(small->second);
    all.erase(small);
  }
  all[std::string(kOther)].business.clear();
  return all;
}

struct OfClass {
  int tasks = 0;
  double cpu_cores = 0, memory_bytes = 0;
};

std::string_view side_of(const model::Task& task) {
  if (task.kind == model::TaskKind::kPod) return "kubernetes";
  return task.kind == model::TaskKind::kHostApplication ? std::string_view("local") : task.identity.source;
}

}  // namespace

std::string online_page(const Measured& measured, const TaskSnapshot& tasks) {
  Workloads workloads;
  for (const ListedTask& listed : tasks.tasks) {
    if (!is_online_pod(*listed.task)) continue;
    const auto at = workloads.try_emplace(std::string(lasting_workload(*listed.task))).first;
    const Workload pod = measured_pod(*listed.task, measured.find(listed.handle), measured.pass.at);
    if (at->second.pods == 0 && at->first != kOther) at->second.business = pod.business;
    at->second.add(pod);
  }

  base::Registry page;
  for (const auto& [name, of] : largest(std::move(workloads))) {
    const base::Labels labels = {{"workload", name}, {"business", of.business}};
    page.gauge("tidemark_online_pods", "Online pods of a workload on this node.", labels).set(of.pods);
    page.gauge("tidemark_online_requested_cpu_cores", "CPU requests of these pods.", labels)
        .set(static_cast<double>(of.requested_milli) / 1000);
    page.gauge("tidemark_online_used_cpu_cores", "CPU use of these pods.", labels).set(of.cpu_cores);
    page.gauge("tidemark_online_used_memory_bytes", "Memory of these pods without page cache.", labels)
        .set(of.memory_bytes);
    if (of.waiting_threads) {
      page.gauge("tidemark_online_waiting_threads",
                 "First threads of their processes that were ready to run without a CPU, on average.", labels)
          .set(*of.waiting_threads);
    }
  }
  return page.text();
}

std::string offline_page(const Measured& measured, const TaskSnapshot& tasks) {
  std::map<std::tuple<std::string, std::string>, OfClass> classes;
  std::map<std::string, std::size_t, std::less<>> known;
  for (const ListedTask& listed : tasks.tasks) {
    if (policy::protect::is_offline(*listed.task)) known.try_emplace(listed.task->identity.work_class);
  }
  std::size_t rank = 0;
  for (auto& [name, at] : known) at = rank++;
  for (const ListedTask& listed : tasks.tasks) {
    const model::Task& task = *listed.task;
    if (!policy::protect::is_offline(task) || task.terminal() || lies_in_offline(tasks, listed)) continue;
    const std::string& name = task.identity.work_class;
    OfClass& of =
        classes[{known.at(name) < kOfflineClassesMax ? name : std::string(kOther), std::string(side_of(task))}];
    ++of.tasks;
    const AccountMeasured* read = measured.find(listed.handle);
    if (read == nullptr) continue;
    of.cpu_cores += static_cast<double>(read->use.cpu_micro.last(measured.pass.at).value_or(0)) / kMicroPerCore;
    of.memory_bytes +=
        static_cast<double>(read->use.memory.last(measured.pass.at).value_or(MemoryUse()).without_page_cache);
  }

  base::Registry page;
  for (const auto& [key, of] : classes) {
    const base::Labels labels = {{"class", std::get<0>(key)}, {"side", std::get<1>(key)}};
    page.gauge("tidemark_offline_tasks", "Offline tasks of a class on this node.", labels).set(of.tasks);
    page.gauge("tidemark_offline_used_cpu_cores", "CPU use of these tasks.", labels).set(of.cpu_cores);
    page.gauge("tidemark_offline_used_memory_bytes", "Memory of these tasks without page cache.", labels)
        .set(of.memory_bytes);
  }
  return page.text();
}

}  // namespace tidemark::agent
