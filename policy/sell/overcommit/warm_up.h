// The counted amount of a young online pod: first its request, then falling to its expected use.
//
//    floor  = max(use, expected)             expected: p95 of its workload at this hour of the day, if known
//    counts = floor + (max(request, floor) − floor) × left        left goes from 1 to 0 over the ramp
//
// If its workload has no history, or the pod has no report: max(use, request) during the ramp. After the ramp a pod
// counts like any other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/pod.h"
#include "model/resources.h"

namespace tidemark::policy::sell {

inline constexpr std::int64_t kWarmUpWhole = 1000;  // thousandths of the ramp

// Thousandths of the ramp that are left, rounded up; 0 once it is over. A pod from the future is new.
inline std::int64_t warm_up_left(base::WallTime started, base::Duration ramp, base::WallTime now) {
  if (ramp <= base::Duration(0)) return 0;
  std::int64_t age = 0;
  if (__builtin_sub_overflow(now.since_epoch.count(), started.since_epoch.count(), &age)) {
    return now.since_epoch > started.since_epoch ? 0 : kWarmUpWhole;
  }
  if (age >= ramp.count()) return 0;
  if (age <= 0) return kWarmUpWhole;
  const auto left = static_cast<__int128>(ramp.count() - age) * kWarmUpWhole;
  return static_cast<std::int64_t>((left + ramp.count() - 1) / ramp.count());
}

namespace detail {
template <class Amount>
Amount warming(Amount request, Amount use, const Amount* expected, std::int64_t left) {
  if (expected == nullptr) return std::max(use, request);
  const Amount floor = std::max(use, *expected);
  if (request <= floor) return floor;
  const auto above = static_cast<__int128>(request.value) - floor.value;
  return Amount{static_cast<std::int64_t>(
      floor.value + (above * std::clamp<std::int64_t>(left, 0, kWarmUpWhole) + kWarmUpWhole - 1) / kWarmUpWhole)};
}
}  // namespace detail

inline model::Resources warming(const model::Resources& request, const model::Resources& use,
                                const model::WarmUp& warm_up) {
  const model::Resources* expected = warm_up.expected ? &*warm_up.expected : nullptr;
  return {detail::warming(request.cpu, use.cpu, expected ? &expected->cpu : nullptr, warm_up.left_permille),
          detail::warming(request.memory, use.memory, expected ? &expected->memory : nullptr, warm_up.left_permille)};
}

}  // namespace tidemark::policy::sell
