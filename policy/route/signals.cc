#include "policy/route/signals.h"

#include <algorithm>
#include <cmath>

namespace tidemark::policy::route {
namespace {

using model::Resources;

constexpr std::int64_t kPercent = 100;
constexpr std::int64_t kFull = 100;  // percent
constexpr double kQuantile = 0.95;
constexpr double kConfidence = 0.95;

template <class Unit>
model::Amount<Unit> percent_of(std::int64_t percent, model::Amount<Unit> amount) {
  return {amount.value / kPercent * percent + amount.value % kPercent * percent / kPercent};
}

Resources percent_of(std::int64_t percent, const Resources& amount) {
  return {percent_of(percent, amount.cpu), percent_of(percent, amount.memory)};
}

bool within(const Resources& need, const Resources& room) {
  return need.cpu <= room.cpu && need.memory <= room.memory;
}

Resources idle_of(std::string_view owner, std::span<const OwnedCapacity> nodes) {
  Resources sum;
  for (const OwnedCapacity& each : nodes) {
    if (each.owner == owner) sum += each.idle;
  }
  return sum;
}

bool owns_nodes(std::string_view business, std::span<const OwnedCapacity> nodes) {
  return !business.empty() &&
         std::ranges::any_of(nodes, [&](const OwnedCapacity& each) { return each.owner == business; });
}

}  // namespace

Resources room_of(std::string_view business, const BatchCapacity& capacity, std::int64_t owner_keeps_percent) {
  Resources room;
  for (const OwnedCapacity& each : capacity.nodes) {
    if (each.owner.empty() || each.owner == business) {
      room += each.idle;
      continue;
    }
    Resources left = each.idle - percent_of(owner_keeps_percent, each.total);
    for (const CapacityClaim& claim : capacity.claims) {
      if (claim.business == each.owner) left = left - claim.batch;
    }
    room += max(left, Resources());
  }
  for (const CapacityClaim& claim : capacity.claims) {
    if (claim.business == business || claim.business.empty()) {
      room -= claim.batch;
    } else {
      room -= max(claim.batch - idle_of(claim.business, capacity.nodes), Resources());
    }
  }
  return room;
}

CapacityFit fit(const RunNeed& need, std::string_view business, const BatchCapacity& capacity,
                std::int64_t owner_keeps_percent) {
  if (within(need.batch, room_of(business, capacity, owner_keeps_percent))) return CapacityFit::kFits;
  BatchCapacity shared = capacity;  // as if no business owned nodes, and none of its runs went first
  for (OwnedCapacity& each : shared.nodes) each.owner.clear();
  std::erase_if(shared.claims, [&](const CapacityClaim& claim) {
    return claim.business != business && owns_nodes(claim.business, capacity.nodes);
  });
  return within(need.batch, room_of(business, shared, 0)) ? CapacityFit::kForOwner : CapacityFit::kFull;
}

bool goes_first(const RunInLine& a, const RunInLine& b, std::span<const OwnedCapacity> nodes) {
  const bool a_owns = owns_nodes(a.business, nodes);
  const bool b_owns = owns_nodes(b.business, nodes);
  return a_owns != b_owns ? a_owns : a.id < b.id;
}

bool fits(const RunNeed& need, const QuotaRoom& room) {
  return (!room.batch_cpu || need.batch.cpu <= *room.batch_cpu) &&
         (!room.batch_memory || need.batch.memory <= *room.batch_memory) && (!room.pods || need.pods <= *room.pods);
}

std::optional<base::Duration> expected_wait(const YarnQueue& queue) {
  if (queue.pending == 0 && queue.pending_containers == 0 && queue.used_percent < kFull) return base::Duration(0);
  if (!queue.p95_bound_s) return std::nullopt;
  return std::chrono::seconds(*queue.p95_bound_s);
}

std::optional<std::int64_t> p95_bound(std::span<const std::int64_t> waits) {
  // The k-th smallest of n exceeds the quantile unless at least k of n lie below it: P(Binomial(n, q) < k) ≥
  // confidence.
  const auto n = static_cast<std::int64_t>(waits.size());
  std::vector<std::int64_t> sorted(waits.begin(), waits.end());
  std::ranges::sort(sorted);
  double below = 0;  // P(Binomial < k)
  for (std::int64_t k = 1; k <= n; ++k) {
    const auto successes = static_cast<double>(k - 1);
    const auto all = static_cast<double>(n);
    below += std::exp(std::lgamma(all + 1) - std::lgamma(successes + 1) - std::lgamma(all - successes + 1) +
                      successes * std::log(kQuantile) + (all - successes) * std::log(1 - kQuantile));
    if (below >= kConfidence) return sorted[static_cast<std::size_t>(k - 1)];
  }
  return std::nullopt;
}

}  // namespace tidemark::policy::route
