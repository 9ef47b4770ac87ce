#include "gateway/live_signals.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tidemark::gateway {
namespace {

using namespace policy::route;

// What the run will request that its pods do not request yet.
RunNeed claim_of(const RunInSight& run, const IdleCapacity& capacity) {
  if (!run.at_kubernetes) return run.need;
  const RunNeed requested = capacity.requested(run.id);
  return {max(run.need.batch - requested.batch, model::Resources()),
          std::max<std::int64_t>(run.need.pods - requested.pods, 0)};
}

void add_claim(std::vector<CapacityClaim>& claims, std::string_view business, const model::Resources& batch) {
  if (batch == model::Resources()) return;
  for (CapacityClaim& each : claims) {
    if (each.business != business) continue;
    each.batch += batch;
    return;
  }
  claims.push_back({std::string(business), batch});
}

// Takes what runs have claimed from the room of their namespace.
void take(QuotaRoom& room, const RunNeed& claim) {
  if (room.batch_cpu) *room.batch_cpu -= claim.batch.cpu;
  if (room.batch_memory) *room.batch_memory -= claim.batch.memory;
  if (room.pods) *room.pods -= claim.pods;
}

}  // namespace

void LiveSignals::add_to(RouteSignals& signals, const RunInSight& run, std::string_view queue,
                         std::span<const RunInSight> others) const {
  signals.need = run.need;
  if (queues_ != nullptr) signals.queue = queues_->queue(queue);
  if (capacity_ == nullptr) return;
  const auto ns_of = [&](const RunInSight& each) {
    return each.ns.empty() ? std::string_view(default_namespace_) : each.ns;
  };
  signals.capacity = capacity_->capacity();
  signals.quota = capacity_->quota(ns_of(run));
  const auto nodes =
      signals.capacity ? std::span<const OwnedCapacity>(signals.capacity->nodes) : std::span<const OwnedCapacity>();
  for (const RunInSight& each : others) {
    const bool first = each.waits_for_room && goes_first({each.business, each.id}, {run.business, run.id}, nodes);
    if (!each.at_kubernetes && !first) continue;
    const RunNeed claim = claim_of(each, *capacity_);
    if (signals.capacity) add_claim(signals.capacity->claims, each.business, claim.batch);
    if (signals.quota && ns_of(each) == ns_of(run)) take(*signals.quota, claim);
  }
}

}  // namespace tidemark::gateway
