// Whether a CapacityScheduler counts vcores. Without that it allocates more vcores than a node has.
//
// No interface of a ResourceManager has its resource calculator: /conf does not contain capacity-scheduler.xml. But the
// scheduler computes the used share of its root queue with it:
//
//   DefaultResourceCalculator     used share = memory share
//   DominantResourceCalculator    used share = the larger of memory share and vcore share
//
// So it shows whenever more vcores than memory are used, which is also when it matters.
#pragma once

#include <cstdint>

#include "policy/sell/yarn_total.h"

namespace tidemark::policy::sell {

enum class CpuCounting : std::uint8_t { kUnknown, kCounted, kIgnored };

// Shares must differ by this much. The two answers of the ResourceManager are not of the same moment.
inline constexpr std::int64_t kSharesDifferPermille = 100;
inline constexpr int kSeenInARow = 3;  // readings before a verdict changes

struct CalculatorState {
  CpuCounting verdict = CpuCounting::kUnknown;
  CpuCounting seen = CpuCounting::kUnknown;  // last reading that shows it
  int in_a_row = 0;
};

struct CalculatorReading {
  std::int64_t used_share_permille = 0;  // of the root queue
  YarnAmount used, total;                // of all nodes in service that have no label
};

// Total. A reading that shows nothing changes nothing.
CalculatorState next_calculator(CalculatorState state, const CalculatorReading& reading);

}  // namespace tidemark::policy::sell
