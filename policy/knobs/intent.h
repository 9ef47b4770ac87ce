// What a strategy wants of a group, in the words of no kernel; policy/knobs/knobs.h makes writes of it.
//
// Strategies answer with everything that they want, each time: what is not wanted any more is put back to what was
// found there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/node_strategy.h"
#include "model/reason.h"

namespace tidemark::policy {

inline constexpr std::int64_t kNoLimit = -1;

// What a kernel takes (contract 7.2).
inline constexpr std::int64_t kSharesMin = 2, kSharesMax = 262'144;
inline constexpr std::int64_t kQuotaMin = 1'000;  // microseconds

enum class Want : std::uint8_t {
  kCpuQuota,     // microseconds in 100 ms; kNoLimit
  kCpus,         // which processors
  kCpuShares,    // as v1 counts them, 2 … 262144
  kCpuPriority,  // a value of CpuPriority
  kMemoryLimit,  // bytes; kNoLimit
  kMemoryMin,    // bytes that are never reclaimed
  kMemoryLow,    // bytes that are reclaimed last
};

// Who runs first. The numbers are those of Koordinator's group identity (its `groupIdentity`, -1 … 2).
enum class CpuPriority : std::int8_t {
  kOffline = -1,  // runs when nobody else wants to
  kPlain = 0,
  kOnlineLow = 1,
  kOnline = 2,  // runs at once
};

struct Intent {
  std::string group;  // its path from the root of each hierarchy
  Want want = Want::kCpuQuota;
  std::int64_t value = 0;
  std::vector<std::int32_t> cpus;  // of kCpus: ascending, each once
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  model::Reason reason = model::Reason::kSuppressUnderLine;
  bool operator==(const Intent&) const = default;
};

// Intents over those of an earlier answer, which nobody needs any more, for their memory.
class IntentsOver {
 public:
  explicit IntentsOver(std::vector<Intent> spare) : intents_(std::move(spare)) {}

  // What is not said of it is to be set: it may be an old one.
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

}  // namespace tidemark::policy
