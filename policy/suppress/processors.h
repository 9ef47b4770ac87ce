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
  bool operator==(const OfflinePools&) const = default;
};

OfflinePools offline_pools(const SuppressObservation& seen);

// Ascending. `n` counts as one within 0 … pools.size().
std::vector<std::int32_t> choose_processors(const OfflinePools& pools, std::int64_t n);

// The same two, for who asks each second and hears the same nearly always: nothing is allocated for that, and nothing
// chosen anew.
struct ProcessorMemory {
  OfflinePools pools;                    // of the last look
  OfflinePools of;                       // that was chosen from last
  std::vector<std::int32_t> chosen;      // of it
  std::vector<std::int32_t> kept, lsrs;  // of a look, while it lasts
};
const OfflinePools& offline_pools(const SuppressObservation& seen, ProcessorMemory& memory);
// Of the pools of the last look.
const std::vector<std::int32_t>& choose_processors(ProcessorMemory& memory, std::int64_t n);

}  // namespace tidemark::policy
