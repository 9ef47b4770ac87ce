#include "policy/protect/suppress/processors.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include "model/cpu_list.h"

namespace tidemark::policy::protect {
namespace {

// Whether it was not there. Ascending.
bool insert_once(std::vector<std::int32_t>& list, std::int32_t cpu) {
  const auto at = std::ranges::lower_bound(list, cpu);
  if (at != list.end() && *at == cpu) return false;
  list.insert(at, cpu);
  return true;
}

// The CPUs of one NUMA node, by core; taken from the left, first by twos, then one by one.
class NumaGroup {
 public:
  explicit NumaGroup(std::vector<Processor> processors)
      : processors_(std::move(processors)), taken_(processors_.size()) {}

  std::size_t size() const { return processors_.size(); }
  std::int32_t first() const { return processors_.front().cpu; }

  bool take_pair(std::vector<std::int32_t>& into) {
    for (; pair_at_ + 1 < processors_.size(); ++pair_at_) {
      if (processors_[pair_at_].core != processors_[pair_at_ + 1].core) continue;
      take(pair_at_, into);
      take(pair_at_ + 1, into);
      pair_at_ += 2;
      return true;
    }
    return false;
  }
  bool take_one(std::vector<std::int32_t>& into) {
    for (; one_at_ < processors_.size(); ++one_at_) {
      if (taken_[one_at_]) continue;
      take(one_at_, into);
      return true;
    }
    return false;
  }

 private:
  void take(std::size_t at, std::vector<std::int32_t>& into) {
    taken_[at] = true;
    into.push_back(processors_[at].cpu);
  }

  std::vector<Processor> processors_;
  std::vector<bool> taken_;
  std::size_t pair_at_ = 0;
  std::size_t one_at_ = 0;
};

std::vector<NumaGroup> groups_of(std::vector<Processor> pool) {
  const auto place = [](const Processor& each) { return std::pair(each.numa, each.socket); };
  std::ranges::sort(pool, {}, [&](const Processor& each) { return std::tuple(place(each), each.core, each.cpu); });
  std::vector<NumaGroup> groups;
  for (auto begin = pool.begin(); begin != pool.end();) {
    const auto end =
        std::find_if(begin, pool.end(), [&](const Processor& each) { return place(each) != place(*begin); });
    groups.emplace_back(std::vector<Processor>(begin, end));
    begin = end;
  }
  std::ranges::sort(groups, [](const NumaGroup& a, const NumaGroup& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.first() < b.first();
  });
  return groups;
}

// `n` is no more than the pool has.
void choose_of(const std::vector<Processor>& pool, std::size_t n, std::vector<std::int32_t>& into) {
  if (n == 0) return;
  std::vector<NumaGroup> groups = groups_of(pool);
  const std::size_t wanted = into.size() + n;
  std::size_t at = 0;
  for (bool took = true; wanted - into.size() > 1; at = (at + 1) % groups.size()) {
    if (at == 0 && !std::exchange(took, false)) break;  // a whole round without a pair
    if (groups[at].take_pair(into)) took = true;
  }
  for (; into.size() < wanted; at = (at + 1) % groups.size()) groups[at].take_one(into);
}

}  // namespace

OfflinePools offline_pools(const SuppressObservation& seen) {
  ProcessorMemory memory;
  return offline_pools(seen, memory);
}

const OfflinePools& offline_pools(const SuppressObservation& seen, ProcessorMemory& memory) {
  auto& [pools, of, chosen, kept, lsrs] = memory;
  for (auto* list : {&kept, &lsrs}) list->clear();
  const auto add = [](std::vector<std::int32_t>& list, std::span<const std::int32_t> cpus) {
    for (const std::int32_t cpu : cpus) insert_once(list, cpu);
  };
  add(kept, seen.reserved_cpus);
  add(kept, seen.exclusive_cpus);
  for (const ObservedTask& each : seen.tasks) {
    if (each.task == nullptr || each.task->cpuset.empty() || each.task->terminal()) continue;
    const bool lse = each.task->qos_raw == model::Qos::kLse;
    if (!lse && each.task->qos_raw != model::Qos::kLsr) continue;
    // An unreadable one excludes no CPU, as in Koordinator.
    if (const auto cpus = model::parse_cpus(each.task->cpuset)) add(lse ? kept : lsrs, *cpus);
  }
  pools.lsr.clear();
  pools.others.clear();
  for (const Processor& each : seen.processors) {
    if (each.cpu < 0 || !insert_once(kept, each.cpu)) continue;  // each counts once
    (std::ranges::binary_search(lsrs, each.cpu) ? pools.lsr : pools.others).push_back(each);
  }
  return pools;
}

const std::vector<std::int32_t>& choose_processors(ProcessorMemory& memory, std::int64_t n) {
  const std::int64_t wanted = std::clamp<std::int64_t>(n, 0, memory.pools.size());
  if (std::ssize(memory.chosen) == wanted && memory.of == memory.pools) return memory.chosen;
  memory.chosen = choose_processors(memory.pools, wanted);
  memory.of = memory.pools;
  return memory.chosen;
}

std::vector<std::int32_t> choose_processors(const OfflinePools& pools, std::int64_t n) {
  const std::int64_t all = pools.size();
  const std::int64_t bounded = std::clamp<std::int64_t>(n, 0, all);
  std::vector<std::int32_t> cpus;
  if (bounded == 0) return cpus;
  const std::int64_t of_lsr = bounded * static_cast<std::int64_t>(pools.lsr.size()) / all;
  choose_of(pools.lsr, static_cast<std::size_t>(of_lsr), cpus);
  choose_of(pools.others, static_cast<std::size_t>(bounded - of_lsr), cpus);
  std::ranges::sort(cpus);
  return cpus;
}

}  // namespace tidemark::policy::protect
