#include "manager/capacity/topology_controller.h"

#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/own_writes.h"
#include "manager/capacity/zone_patch.h"
#include "model/reason.h"
#include "policy/sell/overcommit/writes.h"

namespace tidemark::manager {
namespace {

constexpr std::int64_t kUrgentRepairsMax = 3;  // in a row
constexpr base::Duration kFightWindow = std::chrono::minutes(5);

}  // namespace

TopologyController::TopologyController(const Shared& shared, const WriteLanes& lanes,
                                       const kube::Informer<kube::NodeResourceTopology>& topologies,
                                       Leadership leadership, base::Duration write_limit, Contests* contests)
    : loop_(shared.loop),
      lanes_(lanes),
      topologies_(topologies),
      leadership_(std::move(leadership)),
      interner_(shared.interner),
      log_(shared.log),
      write_limit_(write_limit),
      contests_(contests),
      metrics_(shared.metrics),
      conflicts_(shared.metrics.counter("tidemark_manager_zone_conflicts_total",
                                        "Zone writes refused because the topology had changed.")) {}

std::vector<TopologyController::Carried> TopologyController::carried_by(const model::TopologyView& view) {
  std::vector<Carried> carried;
  carried.reserve(view.zones.size());
  for (const auto& zone : view.zones) carried.push_back({zone.batch_cpu, zone.batch_memory});
  return carried;
}

bool TopologyController::lacks(const std::vector<Carried>& now, const std::vector<Carried>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (i >= now.size() || (written[i].cpu && !now[i].cpu) || (written[i].memory && !now[i].memory)) return true;
  }
  return false;
}

std::uint64_t TopologyController::content_of(const std::vector<Carried>& zones) {
  base::TextHash hash;
  const auto add = [&](const auto& amounts) {
    if (amounts)
      hash.add(base::cat(amounts->capacity.value, ",", amounts->allocatable.value, ",", amounts->available.value));
    hash.add(";");
  };
  for (const Carried& zone : zones) {
    add(zone.cpu);
    add(zone.memory);
  }
  return hash.value();
}

// The cache has not seen our own write yet.
bool TopologyController::is_behind(const Written& written, const kube::NodeResourceTopology& topology) const {
  const std::uint64_t seen = revision_number(topology.meta.resource_version);
  return seen != 0 && seen < written.revision && loop_.clock().monotonic() - written.when < kBehindMax;
}

// A second writer writes the zones too: repairing ahead each time would starve the rest of the fleet.
bool TopologyController::is_fought_over(const Written& written) const {
  return written.repairs >= kUrgentRepairsMax && loop_.clock().monotonic() - written.repaired_at < kFightWindow;
}

bool TopologyController::overwritten(const kube::NodeResourceTopology& topology) const {
  const auto at = written_.find(model::NodeName(std::string(topology.meta.name)));
  if (at == written_.end() || is_behind(at->second, topology) || is_fought_over(at->second)) return false;
  std::vector<std::string> notes;
  return carried_by(kube::to_topology_view(topology, notes)) != at->second.zones;
}

void TopologyController::not_ours(const model::NodeName& node) {
  if (contests_ != nullptr) contests_->forget(KeptObject::kZones, node.value);
}

net::Task<Result<TopologyController::Done>> TopologyController::settle(model::NodeName node, Wanted wanted,
                                                                       kube::Place& place) {
  const policy::sell::ZonesPlan& plan = wanted.plan;
  const kube::NodeResourceTopology* topology = topologies_.find({"", node.value});
  if (topology == nullptr || plan.zones.empty()) {
    not_ours(node);
    co_return Done::kSettled;
  }

  const std::int64_t on_object = read_epoch(topology->meta.annotations.get(kEpochAnnotation));
  const std::int64_t epoch = leadership_.epoch().value_or(on_object);
  if (on_object > epoch) {
    log_.error("zones of a node have a higher epoch: another manager leads, or the Lease was recreated",
               {{"node", node.value}, {"epoch", epoch}, {"epoch_on_topology", on_object}});
    leadership_.found_higher(on_object);
    co_return Done::kSettled;
  }

  std::vector<std::string> notes;  // reported with those of the node
  const model::TopologyView view = kube::to_topology_view(*topology, notes);
  std::optional<base::Duration> since_write;
  bool repair = false;
  bool fought_over = false;
  std::int64_t repairs = 0;
  base::MonotonicTime repaired_at;
  if (const auto at = written_.find(node); at != written_.end() && at->second.epoch == epoch) {
    if (is_behind(at->second, *topology)) co_return Done::kSettled;
    repair = carried_by(view) != at->second.zones;
    fought_over = is_fought_over(at->second);
    const auto now = loop_.clock().monotonic();
    if (now - at->second.repaired_at < kFightWindow) repairs = at->second.repairs;
    repaired_at = repair ? now : at->second.repaired_at;
    if (repair) ++repairs;
    // What was changed is put right by any amount, not only by a tenth.
    if (!repair) since_write = loop_.clock().monotonic() - at->second.when;
  }
  auto decision = policy::sell::needs_zone_write(view, plan, since_write, wanted.thresholds, wanted.follow);
  // A node that is cut goes ahead of others in some cases; its zones must not say the old number meanwhile.
  const bool ahead = (repair || decision.above_node) && !fought_over;
  if (contests_ != nullptr) {
    const auto carried = carried_by(view);
    const auto at = written_.find(node);
    const bool others = at != written_.end() && repair && !lacks(carried, at->second.zones);
    const auto held = contests_->look(KeptObject::kZones, node,
                                      {content_of(carried), revision_number(topology->meta.resource_version), others});
    if (held.reason) co_return Done::kSettled;
  }
  if (!decision.write.write) co_return Done::kSettled;
  if (repair) decision.write.reason = model::Reason::kWriteRepaired;
  if (!leadership_.leading()) co_return Done::kSettled;
  if (decision.changes.empty() && on_object == epoch) {
    written_[node] = {loop_.clock().monotonic(), epoch, 0, carried_by(view), repairs, repaired_at};
    co_return Done::kSettled;
  }

  if (!place) {
    TM_CO_TRY(place, co_await lanes_.of(ahead).writer.take_place(kPlaceLimit));
    if (place.waited() > base::Duration(0)) co_return Done::kDecideAgain;
  }
  const std::string body = zone_patch({*topology, plan, decision.changes, epoch});
  kube::WriteOptions options;
  options.place = std::exchange(place, {});
  options.note.reason = model::reason_id(decision.write.reason);
  if (contests_ != nullptr) contests_->writes(KeptObject::kZones, node);
  const UnderWay under_way(writing_);
  auto patched = co_await lanes_.of(ahead).writer.patch(kube::kNodeResourceTopologies, node.value,
                                                        kube::PatchType::kJson, body, options, write_limit_);
  metrics_
      .counter("slo_controller_node_resource_reconcile_count", "Results of passes over nodes, by Koordinator's names.",
               {{"status", patched ? "succeeded" : "failed"}, {"reason", "updateNodeResourceTopology"}})
      .add();
  if (!patched) {
    if (patched.error().kind == ErrorKind::kNotFound) co_return Done::kSettled;
    if (patched.error().kind == ErrorKind::kConflict) conflicts_.add();
    co_return fail(std::move(patched).error().within(base::cat("zones of ", node.value)));
  }
  TM_CO_TRY(const auto after, kube::decode_node_resource_topology(*patched, topology_fields(), interner_));
  written_[node] = {loop_.clock().monotonic(),
                    epoch,
                    revision_number(after.meta.resource_version),
                    carried_by(kube::to_topology_view(after, notes)),
                    repairs,
                    repaired_at};
  if (contests_ != nullptr) {
    contests_->wrote(KeptObject::kZones, node, content_of(written_[node].zones), written_[node].revision);
  }
  metrics_
      .counter("tidemark_manager_zone_writes_total", "Topologies written, by why it was worth a write.",
               {{"reason", model::reason_id(decision.write.reason)}})
      .add();
  log_.info("zones written", {{"node", node.value},
                              {"fields", decision.changes.size()},
                              {"why", model::reason_id(plan.reason)},
                              {"write", model::reason_id(decision.write.reason)}});
  co_return Done::kSettled;
}

}  // namespace tidemark::manager
