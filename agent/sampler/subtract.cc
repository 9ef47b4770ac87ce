// Subtracts the accounts from the node to get the system's use.
#include <algorithm>
#include <cstdlib>

#include "agent/sampler/sampler.h"

namespace tidemark::agent {
namespace {

using base::Duration;

// Fraction of the interval: rates over times that differ more than this do not belong together.
constexpr int kWindowPart = 10;

}  // namespace

// A sum is complete if it has every account with a group, over the time of the node's own reading, and no account went
// since the last pass: its use is still in the node's use. Otherwise the last system use stays; when it is too old,
// unmeasured accounts count as the system's.
// grown old, what is not measured counts as the system's.
void Sampler::subtract_cpu() {
  const auto now = measured_.pass.at;
  const Sample<std::int64_t>& node = measured_.node.cpu_micro;
  if (node.validity != Validity::kGood || node.at != now) return;
  bool whole = !changed_ && measured_.pass.one_instant;
  SystemUse use;
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < accounts_.size(); ++at) {
    if (!accounts_[at].spec.counts || !accounts_[at].group) continue;
    const Sample<std::int64_t>& one = measured_.accounts[at].use.cpu_micro;
    if (one.validity == Validity::kGood && one.at == now) {
      const Duration apart = one.over > node.over ? one.over - node.over : node.over - one.over;
      whole = whole && apart <= options_.interval / kWindowPart;
      sum = sum_of({sum, one.value});
      continue;
    }
    ++use.unmeasured;
    whole = whole && one.validity == Validity::kMissing;
  }
  if (!whole && now - cpu_whole_ <= kSystemGoodFor) return;
  if (whole) cpu_whole_ = now;
  use.cpu_micro = std::max<std::int64_t>(node.value - sum, 0);
  measured_.system_cpu.put(use, now, node.over);
}

void Sampler::subtract_memory() {
  const auto now = measured_.pass.at;
  const Sample<MemoryUse>& node = measured_.node.memory;
  if (node.validity != Validity::kGood || node.at != now) return;
  bool whole = measured_.pass.one_instant;
  SystemMemory use;
  MemoryUse sum;
  for (std::size_t at = 0; at < accounts_.size(); ++at) {
    if (!accounts_[at].spec.counts || !accounts_[at].group) continue;
    const Sample<MemoryUse>& one = measured_.accounts[at].use.memory;
    if (one.validity == Validity::kGood && one.at == now) {
      sum.without_page_cache = sum_of({sum.without_page_cache, one.value.without_page_cache});
      sum.with_page_cache = sum_of({sum.with_page_cache, one.value.with_page_cache});
      continue;
    }
    ++use.unmeasured;
    whole = whole && one.validity == Validity::kMissing;
  }
  if (!whole && now - memory_whole_ <= kSystemGoodFor) return;
  if (whole) memory_whole_ = now;
  use.bytes.without_page_cache = std::max<std::int64_t>(node.value.without_page_cache - sum.without_page_cache, 0);
  use.bytes.with_page_cache = std::max<std::int64_t>(node.value.with_page_cache - sum.with_page_cache, 0);
  measured_.system_memory.put(use, now);
}

// No group tells where it ran or where its memory lies, so the system's use is spread as the node's own is:
//   system × NUMA node / Σ NUMA nodes
void Sampler::apportion() {
  const auto now = measured_.pass.at;
  std::int64_t cpu = 0, memory = 0;
  bool all_cpu = measured_.system_cpu.at == now, all_memory = measured_.system_memory.at == now;
  for (const NumaMeasured& one : measured_.node.numa) {
    all_cpu = all_cpu && one.cpu_micro.validity == Validity::kGood && one.cpu_micro.at == now;
    all_memory = all_memory && one.memory_bytes.validity == Validity::kGood && one.memory_bytes.at == now;
    cpu = sum_of({cpu, one.cpu_micro.value});
    memory = sum_of({memory, one.memory_bytes.value});
  }
  for (NumaMeasured& one : measured_.node.numa) {
    if (all_cpu) {
      const std::int64_t share = share_of(measured_.system_cpu.value.cpu_micro, one.cpu_micro.value, cpu);
      one.system_cpu_micro.put(share, now, measured_.system_cpu.over);
    }
    if (all_memory) {
      const std::int64_t system = measured_.system_memory.value.bytes.without_page_cache;
      one.system_memory_bytes.put(share_of(system, one.memory_bytes.value, memory), now);
    }
  }
}

}  // namespace tidemark::agent
