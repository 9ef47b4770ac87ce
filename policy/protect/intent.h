// What a strategy wants for a cgroup, independent of the kernel; policy/protect/knobs.h turns it into writes.
//
// Strategies return all their intents each time: a value that is no longer wanted is restored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/node_strategy.h"
#include "model/reason.h"

namespace tidemark::policy::protect {

inline constexpr std::int64_t kNoLimit = -1;

// The range of the kernel (contract 7.2).
inline constexpr std::int64_t kSharesMin = 2, kSharesMax = 262'144;
inline constexpr std::int64_t kQuotaMin = 1'000;  // microseconds

enum class Want : std::uint8_t {
  kCpuQuota,     // microseconds in 100 ms; kNoLimit
  kCpus,         // which CPUs
  kCpuShares,    // as v1 counts them, 2 … 262144
  kCpuPriority,  // a value of CpuPriority
  kMemoryLimit,  // bytes; kNoLimit
  kMemoryMin,    // bytes that are never reclaimed
  kMemoryLow,    // bytes that are reclaimed last
};

// Scheduling priority. The numbers are those of Koordinator's group identity (its `groupIdentity`, -1 … 2).
enum class CpuPriority : std::int8_t {
  kOffline = -1,  // runs when no other work wants the CPU
  kPlain = 0,
  kOnlineLow = 1,
  kOnline = 2,  // runs immediately
};

struct Intent {
  std::string group;  // its path from the root of each hierarchy
  Want want = Want::kCpuQuota;
  std::int64_t value = 0;
  std::vector<std::int32_t> cpus;  // for kCpus: ascending, unique
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  model::Reason reason = model::Reason::kSuppressUnderLine;
  bool operator==(const Intent&) const = default;
};

// Reuses the memory of intents from an earlier answer that is no longer needed.
class IntentsOver {
 public:
  explicit IntentsOver(std::vector<Intent> spare) : intents_(std::move(spare)) {}

  // The caller sets every field: the others may hold old values.
  Intent& next(const std::string& group, Want want, std::int64_t value) {
    if (made_ == intents_.size()) intents_.emplace_back();
    Intent& intent = intents_[made_++];
    intent.group = group;
    intent.want = want;
    intent.value = value;
    intent.cpus.clear();
    return intent;
  }
  std::vector<Intent> take() {
    intents_.resize(made_);
    return std::move(intents_);
  }

 private:
  std::vector<Intent> intents_;
  std::size_t made_ = 0;
};

}  // namespace tidemark::policy::protect
