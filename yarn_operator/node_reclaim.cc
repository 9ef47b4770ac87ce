#include "yarn_operator/node_reclaim.h"

#include <algorithm>
#include <limits>

#include "model/reason.h"
#include "policy/evict/drain.h"
#include "yarn_operator/objects.h"

namespace tidemark::yarn_operator {
namespace {

constexpr std::int64_t kAllMemory = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kAllVcores = std::numeric_limits<std::int32_t>::max();

std::int64_t mib(model::MemoryBytes amount) {
  return std::max<std::int64_t>(amount.value, 0) >> 20;
}

// An order for work without a class dates from before the cluster had one.
bool is_asked_of(const model::Reclaim& reclaim, std::string_view work_class) {
  return reclaim.work_class.empty() || reclaim.work_class == work_class;
}

// Work of a class that is `off` must go when the operator ordered it, regardless of cost.
bool is_ordered(const std::vector<model::Reclaim>& reclaim, std::string_view work_class) {
  return std::ranges::any_of(reclaim, [&](const model::Reclaim& each) {
    return is_asked_of(each, work_class) && each.reason == model::reason_id(model::Reason::kStateClassOff);
  });
}

}  // namespace

NodeReclaims drains_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, base::WallTime now,
                        base::Duration grace) {
  NodeReclaims found;
  for (const Wanted& each : wanted) {
    const kube::Node* node = node_of(each.node);
    if (node == nullptr) continue;
    // The mark itself is the order, so that it holds while the manager is down.
    if (const auto order = eviction_order(*node, now)) {
      found.due.push_back({each.node, each.nm, model::Reason::kYarnDrained, order->since.since_epoch.count(),
                           policy::sell::YarnAmount{0, kAllVcores}, each.total.vcores, order->grace, false, true});
      continue;
    }
    const auto offer = offer_on(*node);
    if (!offer || !offer->drain_by) continue;
    const base::WallTime by = *offer->drain_by;
    if (by > now) found.next = std::min(found.next.value_or(by - now), by - now);
    if (!policy::evict::drain_is_due(by, now)) continue;
    const policy::sell::YarnAmount keep{mib(offer->offer.memory), kAllVcores};
    found.due.push_back(
        {each.node, each.nm, model::Reason::kYarnDrained, by.since_epoch.count(), keep, each.total.vcores, grace});
  }
  return found;
}

std::optional<policy::sell::YarnAmount> may_keep(const std::vector<model::Reclaim>& reclaim,
                                                 std::string_view work_class,
                                                 const policy::sell::YarnTotalConfig& config) {
  bool asked = false;
  model::Resources keep, give;
  for (const model::Reclaim& each : reclaim) {
    if (!is_asked_of(each, work_class)) continue;
    asked = true;
    keep += model::max(each.keep, model::Resources{});
    give += model::max(each.amount, model::Resources{});
  }
  if (!asked) return std::nullopt;
  const std::int64_t vcores = keep.cpu.value / std::max<std::int64_t>(config.vcore.value, 1);
  return policy::sell::YarnAmount{
      give.memory.value > 0 ? mib(keep.memory) : kAllMemory,
      give.cpu.value > 0 ? static_cast<std::int32_t>(std::min<std::int64_t>(vcores, kAllVcores)) : kAllVcores};
}

NodeReclaims reclaims_due(const std::vector<Wanted>& wanted, const NodeOf& node_of, std::string_view work_class,
                          const policy::sell::YarnTotalConfig& config, base::Duration grace) {
  NodeReclaims found;
  if (config.rounding == policy::sell::YarnRounding::kPeer)
    return found;  // this mode ignores offers, so it ignores their orders too
  for (const Wanted& each : wanted) {
    const kube::Node* node = node_of(each.node);
    const auto offer = node == nullptr ? std::nullopt : offer_on(*node);
    if (!offer) continue;
    const auto keep = may_keep(offer->reclaim, work_class, config);
    if (!keep) continue;
    found.due.push_back({each.node, each.nm, model::Reason::kYarnReclaimed, offer->generation, *keep, each.total.vcores,
                         grace, !is_ordered(offer->reclaim, work_class)});
  }
  return found;
}

}  // namespace tidemark::yarn_operator
