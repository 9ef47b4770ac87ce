// Which processors offline work gets, of those that it may have at all (contract 7.3):
//
//   not        those that are reserved, exclusive to system QoS, or of an LSE pod
//   pool A     those of LSR pods             pool B   all others
//   of n       n × |A| / (|A| + |B|) from A, the rest from B
//   of a pool  grouped by NUMA node (and socket), the largest group first, of equal ones the one that begins lower;
//              round and round the groups, the two threads of a core each, until one or none is missing; then single
//              processors, going on with the group that is next
//
// So offline work is spread over the machine and shares cores with itself. The same processors are chosen each time.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/suppress/observation.h"

namespace tidemark::policy {

struct OfflinePools {
  std::vector<Processor> lsr;
  std::vector<Processor> others;
  std::int64_t size() const { return static_cast<std::int64_t>(lsr.size() + others.size()); }
};

OfflinePools offline_pools(const SuppressObservation& seen);

// Ascending. `n` counts as one within 0 … pools.size().
std::vector<std::int32_t> choose_processors(const OfflinePools& pools, std::int64_t n);

}  // namespace tidemark::policy
