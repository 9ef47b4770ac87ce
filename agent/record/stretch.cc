#include "agent/record/stretch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "linux/kmsg.h"
#include "model/node_strategy.h"
#include "policy/protect/intent.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::agent {
namespace {

constexpr std::int64_t kStretchMicroPerMilli = 1000;
constexpr std::int64_t kPermille = 1000;
constexpr std::int64_t kMilliPerCore = 1000;
constexpr std::int64_t kQuotaPerMilli_us = 100;  // of a period of 100 ms

template <class T>
bool is_fresh(const Sample<T>& sample, base::MonotonicTime now) {
  return sample.validity == Validity::kGood && sample.at == now;
}

std::int64_t permille_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? std::min(part * kPermille / whole, kPermille) : 0;
}

std::string_view above(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string name_of(const model::Task& task) {
  return task.ns.empty() ? task.name : base::cat(task.ns, "/", task.name);
}

// The kernel's limit for all offline work: the smaller of CPU set and quota.
std::optional<std::int64_t> limit_of(const policy::protect::SuppressObservation& seen, std::int64_t cpus) {
  std::optional<std::int64_t> limit;
  if (seen.besteffort_cpus && static_cast<std::int64_t>(seen.besteffort_cpus->size()) < cpus) {
    limit = static_cast<std::int64_t>(seen.besteffort_cpus->size()) * kMilliPerCore;
  }
  if (seen.besteffort_quota_us && *seen.besteffort_quota_us != policy::protect::kNoLimit) {
    const std::int64_t quota = *seen.besteffort_quota_us / kQuotaPerMilli_us;
    limit = limit ? std::min(*limit, quota) : quota;
  }
  return limit;
}

}  // namespace

void Stretch::Mean::add(std::int64_t value) {
  sum += value;
  largest = values == 0 ? value : std::max(largest, value);
  ++values;
}
std::optional<std::int64_t> Stretch::Mean::average() const {
  return values > 0 ? std::optional(sum / values) : std::nullopt;
}
std::optional<std::int64_t> Stretch::Mean::peak() const {
  return values > 0 ? std::optional(largest) : std::nullopt;
}

void Stretch::Growth::add(std::int64_t total, base::MonotonicTime at) {
  if (!seen || total < last) {  // a recreated group
    first = total;
    first_at = at;
    seen = true;
  }
  last = total;
  last_at = at;
}
std::int64_t Stretch::Growth::permille() const {
  return permille_of(grown(), std::chrono::duration_cast<std::chrono::microseconds>(last_at - first_at).count());
}
void Stretch::Growth::begin_anew() {
  first = last;
  first_at = last_at;
}

void Stretch::Pressure::add(const Pressures& read, base::MonotonicTime now) {
  if (is_fresh(read.cpu, now)) cpu.add(read.cpu.value.some_total_us, now);
  if (is_fresh(read.memory, now)) memory.add(read.memory.value.some_total_us, now);
  if (is_fresh(read.io, now)) io.add(read.io.value.some_total_us, now);
}
void Stretch::Pressure::begin_anew() {
  cpu.begin_anew();
  memory.begin_anew();
  io.begin_anew();
}

void Stretch::Account::begin_anew() {
  measured = false;
  cpu = {};
  memory = periods = throttled = worst_container = waited_ns = worst_waited_ns = watched_ns = cycles = instructions = 0;
  pressure.begin_anew();
  limit_hits.begin_anew();
  oom_kills.begin_anew();
}

Stretch::Account& Stretch::account(TaskHandle handle) {
  if (handle.slot >= accounts_.size()) accounts_.resize(handle.slot + 1);
  Account& at = accounts_[handle.slot];
  if (at.turn != handle.turn) {
    at = {};
    at.turn = handle.turn;
  }
  return at;
}

void Stretch::take_account(const AccountMeasured& read, base::MonotonicTime now) {
  Account& into = account(read.handle);
  if (const auto cpu = read.use.cpu_micro.last(now)) {
    into.measured = true;
    into.cpu.add(*cpu / kStretchMicroPerMilli);
  }
  if (const auto memory = read.use.memory.last(now)) into.memory = memory->without_page_cache;
  if (is_fresh(read.use.throttling, now)) {
    into.periods += read.use.throttling.value.periods;
    into.throttled += read.use.throttling.value.throttled_periods;
  }
  for (const ContainerMeasured& container : read.containers) {
    const auto& throttling = container.throttling;
    if (!is_fresh(throttling, now)) continue;
    into.worst_container =
        std::max(into.worst_container, permille_of(throttling.value.throttled_periods, throttling.value.periods));
  }
  if (is_fresh(read.run_queue, now)) {
    into.waited_ns += read.run_queue.value.waited_ns;
    into.worst_waited_ns += read.run_queue.value.worst_waited_ns;
    into.watched_ns += read.run_queue.over.count();
  }
  if (is_fresh(read.cpi, now)) {
    into.cycles += read.cpi.value.cycles;
    into.instructions += read.cpi.value.instructions;
  }
  tasks_pressure_ = tasks_pressure_ || is_fresh(read.pressure.cpu, now);
  into.pressure.add(read.pressure, now);
  if (is_fresh(read.memory_events, now)) {
    into.limit_hits.add(read.memory_events.value.limit_hits, now);
    into.oom_kills.add(read.memory_events.value.oom_kills, now);
  }
}

void Stretch::take_classes(std::span<const policy::protect::ClassShare> classes) {
  std::vector<model::ClassRecord>& before = spare_;
  before.swap(classes_);
  classes_.clear();
  for (const policy::protect::ClassShare& each : classes) {
    const auto known = std::ranges::find(before, each.name, &model::ClassRecord::name);
    auto least = each.satisfaction_permille;
    if (known != before.end() && known->satisfaction_permille) {
      least = std::min(least.value_or(*known->satisfaction_permille), *known->satisfaction_permille);
    }
    classes_.push_back({each.name, each.used.value, each.share.value, least});
  }
}

// Tasks and accounts have the same order, and each list may lack entries of the other.
void Stretch::take_tasks(const StretchInputs& inputs) {
  const base::MonotonicTime now = inputs.measured.pass.at;
  const auto& accounts = inputs.measured.accounts;
  std::int64_t cpu = 0, memory = 0, disk = 0, offline_disk = 0;
  bool disks_read = false;
  auto next = accounts.begin();
  for (const ListedTask& listed : inputs.tasks->tasks) {
    const auto read = std::find_if(next, accounts.end(), [&](const auto& one) { return one.handle == listed.handle; });
    if (read == accounts.end()) continue;
    next = read + 1;
    take_account(*read, now);
    const bool counts = policy::protect::is_offline(*listed.task) && !lies_in_offline(*inputs.tasks, listed);
    if (counts) cpu += read->use.cpu_micro.last(now).value_or(0) / kStretchMicroPerMilli;
    if (counts) memory += read->use.memory.last(now).value_or(MemoryUse()).without_page_cache;
    if (!is_fresh(read->io, now)) continue;
    disks_read = true;
    const std::int64_t bytes = read->io.value.read_bytes + read->io.value.write_bytes;
    if (counts) offline_disk += bytes;
    if (!listed.above) disk += bytes;
  }
  offline_cpu_.add(cpu);
  offline_memory_ = memory;
  if (!disks_read) return;
  disk_.add(disk);
  offline_disk_.add(offline_disk);
}

void Stretch::take(const StretchInputs& inputs) {
  const base::MonotonicTime now = inputs.measured.pass.at;
  const NodeMeasured& node = inputs.measured.node;
  constexpr auto kSuppress = static_cast<std::size_t>(model::Strategy::kCpuSuppress);
  if (tasks_) take_leave(*inputs.tasks);
  tasks_ = inputs.tasks;
  permit_ = inputs.permits.off ? "off" : to_string(inputs.permits.permits[kSuppress]);
  cpus_ = node.cpus;
  memory_total_ = node.memory_total_bytes;
  if (const auto cpu = node.cpu_micro.last(now)) cpu_.add(*cpu / kStretchMicroPerMilli);
  if (const auto memory = node.memory.last(now)) memory_ = memory->without_page_cache;
  limit_milli_ = limit_of(inputs.suppress, cpus_);
  pressure_.add(node.pressure, now);
  take_tasks(inputs);
  take_classes(inputs.classes);
}

void Stretch::take(const KernelEvent& event, const TaskSnapshot& tasks, base::WallTime at) {
  if (events_.size() >= model::kNodeRecordEventsMax) return;
  const auto name = [&](const std::optional<TaskHandle>& handle) {
    const ListedTask* owner = handle ? tasks.find(*handle) : nullptr;
    return owner == nullptr ? std::string() : name_of(*owner->task);
  };
  events_.push_back({at, std::string(linux::to_string(event.kind)), event.task, name(event.owner),
                     event.limit_owner ? name(event.limit_owner) : event.limit_group});
}

std::optional<model::TaskRecord> Stretch::record_of(const ListedTask& listed, bool whole) {
  if (listed.handle.slot >= accounts_.size()) return std::nullopt;
  Account& from = accounts_[listed.handle.slot];
  if (from.turn != listed.handle.turn || !from.measured) return std::nullopt;
  const model::Task& task = *listed.task;
  model::TaskRecord out;
  out.throttled_permille = std::max(permille_of(from.throttled, from.periods), from.worst_container);
  out.cpu_pressure = from.pressure.cpu.permille();
  out.memory_pressure = from.pressure.memory.permille();
  out.io_pressure = from.pressure.io.permille();
  out.run_queue = from.watched_ns > 0 ? from.waited_ns * kPermille / from.watched_ns : 0;
  out.run_queue_worst = permille_of(from.worst_waited_ns, from.watched_ns);
  out.cpi = CpiUse{from.cycles, from.instructions}.cpi_milli();
  out.limit_hits = from.limit_hits.grown();
  out.oom_kills = from.oom_kills.grown();
  const bool quiet =
      out.throttled_permille == 0 && out.limit_hits == 0 && out.oom_kills == 0 &&
      std::max({out.cpu_pressure, out.memory_pressure, out.io_pressure, out.run_queue_worst}) < kQuietPressurePermille;
  if (quiet && from.told && !whole) return std::nullopt;
  const bool with_limits = whole || !from.told;
  from.told = true;
  out.source = task.identity.source;
  out.ns = task.ns;
  out.name = task.name;
  out.task = task.identity.task;
  out.group = above(task.path);
  out.offline = policy::protect::is_offline(task);
  if (out.offline) out.work_class = task.identity.work_class;
  if (out.offline && with_limits && limits_of_) out.limits = limits_of_(task);
  out.cpu_milli = from.cpu.average().value_or(0);
  out.cpu_peak_milli = from.cpu.largest;
  out.memory_bytes = from.memory;
  return out;
}

// Their groups are gone, and their slots will be reused.
void Stretch::take_leave(const TaskSnapshot& now) {
  if (tasks_->change == now.change) return;
  for (const ListedTask& each : tasks_->tasks) {
    if (now.find(each.handle) != nullptr) continue;
    auto record = record_of(each, true);
    if (!record) continue;
    record->ended = true;
    ended_.push_back(std::move(*record));
  }
}

model::NodeRecord Stretch::end(base::WallTime now, base::Duration over, bool whole) {
  model::NodeRecord out;
  out.time = now;
  out.node = node_;
  out.over = over;
  out.whole = whole;
  out.permit = permit_;
  out.cpus = cpus_;
  out.cpu_milli = cpu_.average();
  out.cpu_peak_milli = cpu_.peak();
  out.offline_milli = offline_cpu_.average();
  out.offline_peak_milli = offline_cpu_.peak();
  out.offline_limit_milli = limit_milli_;
  out.memory_total = memory_total_;
  out.memory_used = memory_;
  out.offline_memory = offline_memory_;
  if (pressure_.cpu.seen) out.cpu_pressure = pressure_.cpu.permille();
  if (pressure_.memory.seen) out.memory_pressure = pressure_.memory.permille();
  if (pressure_.io.seen) out.io_pressure = pressure_.io.permille();
  out.tasks_pressure = tasks_pressure_;
  out.disk_bytes = disk_.average();
  out.offline_disk_bytes = offline_disk_.average();
  out.tasks = std::exchange(ended_, {});
  if (tasks_) {
    for (const ListedTask& each : tasks_->tasks) {
      if (auto record = record_of(each, whole)) out.tasks.push_back(std::move(*record));
    }
  }
  out.classes = std::exchange(classes_, {});
  out.events = std::exchange(events_, {});
  cpu_ = offline_cpu_ = disk_ = offline_disk_ = {};
  memory_.reset();
  offline_memory_.reset();
  pressure_.begin_anew();
  for (Account& each : accounts_) each.begin_anew();
  return out;
}

}  // namespace tidemark::agent
