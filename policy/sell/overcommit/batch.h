// The batch formula of one resource, on a node and in a NUMA zone alike.
//
//   left    = capacity − margin − reserved − high_priority
//   allowed = min(max(left, 0), cap)
//
//   margin        = capacity × (100 − reclaim threshold) %
//   reserved      = max(system use, kubelet's reservation, annotation)   policies usage and maxUsageRequest
//                 = max(kubelet's reservation, annotation)               policy request
//   high_priority = what online work uses, requests, or the larger of both, by policy
//   cap           = capacity × batch threshold %, where one is set
//
// "× p %" is IEEE double arithmetic, truncated: trunc(double(value) × (double(p) / 100)). 100 cores × 29 % are 28,999
// milli-cores, not 29,000. All else is integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/reason.h"
#include "model/resources.h"
#include "model/strategy.h"
#include "model/topology.h"

namespace tidemark::policy::sell {

// trunc(double(value) × (double(percent) / 100)), saturated at the ends of int64.
std::int64_t percent_of(std::int64_t value, std::int64_t percent);
// trunc(double(value) × factor), saturated at the ends of int64.
std::int64_t times(std::int64_t value, double factor);

// Ratios are in hundredths: 125 is 1.25.
inline constexpr std::int64_t kRatioNone = 100;

inline model::CpuMilli share(model::CpuMilli cpu, std::int64_t percent) {
  return {percent_of(cpu.value, percent)};
}
inline model::MemoryBytes share(model::MemoryBytes memory, std::int64_t percent) {
  return {percent_of(memory.value, percent)};
}
// A percentage of memory is whole bytes, of an amount rounded up to bytes.
model::MemoryMilli share(model::MemoryMilli memory, std::int64_t percent);

template <class Amount>
Amount not_negative(Amount amount) {
  return std::max(amount, Amount{0});
}

template <class Amount>
struct BatchInputs {
  Amount capacity;
  Amount system_used;
  Amount reserved_by_kubelet;
  Amount reserved_by_annotation;
  // Online work, counted in each way that a policy may need.
  Amount used;
  Amount requested;
  Amount max_of_both;
};

struct BatchRules {
  model::CalculatePolicy policy = model::CalculatePolicy::kUsage;
  std::int64_t reclaim_threshold_percent = 0;
  std::optional<std::int64_t> threshold_percent;
};

// The terms in the order of the calculation.
template <class Amount>
struct WaterLineTerms {
  Amount capacity;
  Amount margin;               // negative if the threshold is above 100 %
  Amount system_used;          // systemUsage and what host applications of prod and mid use
  Amount reserved_by_kubelet;  // capacity − allocatable
  Amount reserved_by_annotation;
  Amount reserved;  // the largest of those that the policy uses
  model::Reason reserved_by = model::Reason::kReservedByKubelet;
  Amount high_priority;  // the amount of online work
  model::Reason policy = model::Reason::kPolicyUsage;
  Amount left;                // under the water line; negative in an overload
  std::optional<Amount> cap;  // batch threshold percent of capacity
  Amount allowed;
  model::Reason origin_by = model::Reason::kBatchUnderWaterLine;

  bool operator==(const WaterLineTerms&) const = default;
};

template <class Amount>
struct Largest {
  Amount amount;
  model::Reason reason;
};

template <class Amount>
Largest<Amount> largest_reservation(Amount kubelet, Amount annotation, std::optional<Amount> system) {
  Largest<Amount> largest{kubelet, model::Reason::kReservedByKubelet};
  if (annotation > largest.amount) largest = {annotation, model::Reason::kReservedByAnnotation};
  if (system && *system > largest.amount) largest = {*system, model::Reason::kReservedBySystemUsage};
  return largest;
}

template <class Amount>
WaterLineTerms<Amount> under_water_line(const BatchInputs<Amount>& in, const BatchRules& rules) {
  using model::CalculatePolicy;
  using model::Reason;
  WaterLineTerms<Amount> terms;
  terms.capacity = in.capacity;
  // Amount arithmetic, because it does not overflow with any threshold.
  terms.margin = share(terms.capacity, (model::CpuMilli{100} - model::CpuMilli{rules.reclaim_threshold_percent}).value);
  terms.system_used = in.system_used;
  terms.reserved_by_kubelet = in.reserved_by_kubelet;
  terms.reserved_by_annotation = in.reserved_by_annotation;

  std::optional<Amount> system = terms.system_used;
  switch (rules.policy) {
    case CalculatePolicy::kUsage:
      terms.policy = Reason::kPolicyUsage;
      terms.high_priority = in.used;
      break;
    case CalculatePolicy::kRequest:
      terms.policy = Reason::kPolicyRequest;
      terms.high_priority = in.requested;
      system.reset();
      break;
    case CalculatePolicy::kMaxUsageRequest:
      terms.policy = Reason::kPolicyMaxUsageRequest;
      terms.high_priority = in.max_of_both;
      break;
  }
  const auto reserved = largest_reservation(terms.reserved_by_kubelet, terms.reserved_by_annotation, system);
  terms.reserved = reserved.amount;
  terms.reserved_by = reserved.reason;
  terms.left = terms.capacity - terms.margin - terms.reserved - terms.high_priority;

  terms.allowed = not_negative(terms.left);
  if (terms.left <= Amount{0}) terms.origin_by = Reason::kBatchNothingLeft;
  if (rules.threshold_percent) {
    terms.cap = share(terms.capacity, *rules.threshold_percent);
    if (terms.allowed > *terms.cap) {
      terms.allowed = not_negative(*terms.cap);
      terms.origin_by = Reason::kBatchCapped;
    }
  }
  return terms;
}

}  // namespace tidemark::policy::sell
