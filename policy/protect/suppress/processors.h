// Selects the CPUs of offline work (contract 7.3):
//
//    not        those that are reserved, exclusive to system QoS, or of an LSE pod
//    pool A     those of LSR pods             pool B   all others
//    of n       n × |A| / (|A| + |B|) from A, the rest from B
//    of a pool  grouped by NUMA node (and socket), the largest group first, of equal ones the one that begins lower;
//               round-robin over the groups, the two threads of a core each, until one or none is missing; then single
//               CPUs, continuing with the next group
//
// So offline work is spread over the machine and shares cores with itself. The selection is deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/protect/suppress/observation.h"

namespace tidemark::policy::protect {

struct OfflinePools {
  std::vector<Processor> lsr;
  std::vector<Processor> others;
  std::int64_t size() const { return static_cast<std::int64_t>(lsr.size() + others.size()); }
  bool operator==(const OfflinePools&) const = default;
};

OfflinePools offline_pools(const SuppressObservation& seen);

// Ascending. `n` counts as one within 0 … pools.size().
std::vector<std::int32_t> choose_processors(const OfflinePools& pools, std::int64_t n);

// The same two, for a caller that asks each second and mostly gets the same result: then nothing is allocated or
// selected again.
struct ProcessorMemory {
  OfflinePools pools;                    // of the last pass
  OfflinePools of;                       // that was chosen from last
  std::vector<std::int32_t> chosen;      // of it
  std::vector<std::int32_t> kept, lsrs;  // of a pass, while it runs
};
const OfflinePools& offline_pools(const SuppressObservation& seen, ProcessorMemory& memory);
// Of the pools of the last pass.
const std::vector<std::int32_t>& choose_processors(ProcessorMemory& memory, std::int64_t n);

}  // namespace tidemark::policy::protect
