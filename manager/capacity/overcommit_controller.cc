#include "manager/capacity/overcommit_controller.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "manager/capacity/capacity_due.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/capacity/yarn_offer.h"
#include "manager/state/oversold_taint.h"
#include "model/names.h"
#include "policy/sell/offer/zones_follow.h"

namespace tidemark::manager {
namespace {

// A node whose status changes in the very moment of each write is put back into the queue after so many tries.
constexpr int kTriesMax = 3;

WriteEnd end_of(const Result<std::string>& written) {
  if (written) return WriteEnd::kDone;
  switch (written.error().kind) {
    case ErrorKind::kUnavailable:
    case ErrorKind::kDeadline:
    case ErrorKind::kInternal:
      return WriteEnd::kUnknown;
    default:
      return WriteEnd::kRefused;
  }
}

// Why what was decided is not on the node, if so.
std::optional<model::Reason> not_written(const NodeDecision& decision) {
  if (decision.writes()) return std::nullopt;
  return decision.permit.left.reason ? *decision.permit.left.reason : policy::state::reason_of(decision.permit.state);
}

// Whether the node's last report says how it is there now: for sums of what is used, which an agent that died must not
// go on adding to.
bool still_reports(const NodeDecision& decision, base::WallTime now) {
  const auto& metric = decision.snapshot.metric;
  if (!metric || !metric->update_time) return false;
  if (decision.offer.motion && decision.offer.motion->freshness == policy::sell::Freshness::kFresh) return true;
  std::int64_t age_ns = 0;
  if (__builtin_sub_overflow(now.since_epoch.count(), metric->update_time->since_epoch.count(), &age_ns)) return false;
  const auto limit = std::clamp<std::int64_t>(decision.strategy().values.degrade_time_minutes, 0,
                                              std::chrono::minutes(kLookAgainMax).count());
  return base::Duration(age_ns) <= std::chrono::minutes(limit);
}

std::string_view action_word(policy::sell::PlanAction action) {
  switch (action) {
    case policy::sell::PlanAction::kPublish:
      return "publish";
    case policy::sell::PlanAction::kReset:
      return "reset";
    case policy::sell::PlanAction::kHold:
      return "hold";
  }
  return "";
}

// What the node will carry after the write: a part that is not written stays.
model::ExtendedResources in_full(const CapacityWrite& write, const model::ExtendedResources& carried) {
  model::ExtendedResources all = write.publish;
  if (!write.batch) {
    all.batch_cpu = carried.batch_cpu;
    all.batch_memory = carried.batch_memory;
  }
  if (!write.mid) {
    all.mid_cpu = carried.mid_cpu;
    all.mid_memory = carried.mid_memory;
  }
  return all;
}

// A node is looked at once in many seconds, so its pods are in no cache by then: all are asked of memory at once, and
// not one after the other as they are read.
void fetch_ahead(std::span<const PodProjection* const> pods) {
  constexpr std::size_t kLine = 64;
  for (const PodProjection* pod : pods) {
    for (std::size_t at = 0; at < sizeof(PodProjection); at += kLine) {
      __builtin_prefetch(reinterpret_cast<const char*>(pod) + at);
    }
  }
}

}  // namespace

OvercommitController::OvercommitController(const Shared& shared, OvercommitContext context, OvercommitHooks hooks)
    : loop_(shared.loop),
      lanes_(context.lanes),
      caches_(context.caches),
      settings_(context.settings),
      leadership_(std::move(context.leadership)),
      interner_(shared.interner),
      log_(shared.log),
      zones_(context.zones),
      journal_(context.journal),
      hooks_(std::move(hooks)),
      plugins_(context.plugins),
      writes_(context.plugins),
      observed_(shared.metrics),
      notes_(log_, shared.metrics),
      write_limit_(context.write_limit),
      metrics_(shared.metrics),
      conflicts_(shared.metrics.counter("tidemark_manager_conflicts_total",
                                        "Capacity writes refused because the node had changed.")),
      decision_seconds_(shared.metrics.histogram("tidemark_manager_decision_seconds",
                                                 "One node decided, without the write.",
                                                 {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 5e-3, 20e-3})) {}

LeftAs OvercommitController::left_as(const kube::Node& node) const {
  return writes_.left_as(node, leadership_.epoch(), loop_.clock().monotonic());
}

void OvercommitController::node_changed(const kube::Node* before, const kube::Node* after) {
  if (before == nullptr) return;
  writes_.saw(*before, after, leadership_.leading(), leadership_.epoch(), loop_.clock().monotonic());
}

bool OvercommitController::needs_repair(const model::NodeName& node_name) const {
  const kube::Node* node = caches_.nodes.find({"", node_name.value});
  if (node != nullptr && manager::needs_repair(left_as(*node))) return true;
  const kube::NodeResourceTopology* topology = caches_.topologies.find({"", node_name.value});
  return topology != nullptr && zones_.overwritten(*topology);
}

OvercommitController::Decision OvercommitController::decide(const model::NodeName& node_name, const kube::Node& node,
                                                            const Revision& revision, bool repair) const {
  const kube::ObjectKey key{"", node_name.value};
  const auto pods = caches_.pods.by_index(kPodsByNode, key.name);
  fetch_ahead(pods);
  const OvercommitHooks::Learned& learned = hooks_.learned;
  const NodeSurroundings around{
      .objects = {pods, caches_.metrics.find(key), caches_.topologies.find(key), caches_.whole()},
      .revision = revision,
      .plugins = plugins_,
      .before = {remembered(node_name, node, revision), observed_.has(node_name)},
      .now = loop_.clock().wall(),
      .mono = loop_.clock().monotonic(),
      .permit = hooks_.permit(node),
      .waiting = hooks_.waiting(),
      .learned = {.expected = &learned.expected,
                  .least_offer =
                      learned.least == nullptr ? std::nullopt : learned.least->at(node_name, loop_.clock().wall()),
                  .evicted = learned.evicted ? learned.evicted(key.name) : policy::sell::LastEvicted()},
      .lines = &lines_};
  Decision decision{.node = decide_node(node, around)};
  for (const PodProjection* pod : pods) decision.batch_requests += pod->batch_request;
  decision.again_after = look_again(decision.node, loop_.clock().wall());
  decision.config_hash = revision.hash;
  if (!decision.node.writes()) return decision;
  decision.write =
      worth_a_write(decision.node, writes_.since(node_name, leadership_.epoch(), loop_.clock().monotonic()));
  // The mark goes with the amounts, and for it alone they are written as well.
  if (decision.write.reason != model::Reason::kWriteState && decision.node.oversold() != has_oversold_mark(node) &&
      decision.node.plan().action != policy::sell::PlanAction::kHold) {
    decision.write = {true, decision.node.oversold() ? model::Reason::kArbitrateReject : model::Reason::kArbitrateOver};
  }
  const auto& plan = decision.node.plan();
  if (repair && plan.action != policy::sell::PlanAction::kHold && !writes_.carries(node, plan.publish, plan.origin)) {
    decision.write = {true, model::Reason::kWriteRepaired};  // by any amount, not only by a tenth
  }
  // Operators who change the settings want to see where they are in force.
  if (!decision.write.write) {
    decision.write =
        policy::sell::needs_ratio_write(decision.node.snapshot, decision.node.plan(), decision.node.strategy().profile);
  }
  if (!decision.write.write) decision.write = yarn_needs_write(node, decision.node);
  const bool ours = plugins_.batch_resource || plugins_.mid_resource;
  const bool carries = node.meta.annotations.get(model::kConfigHashAnnotation) == revision.hash;
  decision.told = carries || !hooks_.told || hooks_.told(node);
  if (!decision.write.write && ours && !carries && decision.told) {
    decision.write = {true, model::Reason::kWriteSettings};
  }
  return decision;
}

net::Task<Result<kube::Node>> OvercommitController::read_again(model::NodeName node_name, bool ahead) {
  TM_CO_TRY(const std::string bytes,
            co_await lanes_.of(ahead).reader.get(kube::kNodes, "", node_name.value, kPlaceLimit));
  co_return kube::decode_node(bytes, node_fields(), interner_);
}

void OvercommitController::observe(const model::NodeName& node, const Decision& decision) {
  const model::Pool& pool = *decision.node.pool;
  const FigureBasis basis{decision.batch_requests, not_written(decision.node),
                          still_reports(decision.node, loop_.clock().wall())};
  NodeFigures figures = figures_of(decision.node.snapshot, decision.node.plan(), basis);
  const DecisionBasis& on = decision.node.basis;
  const model::TimeZone* zone = decision.node.calendar == nullptr ? nullptr : &decision.node.calendar->zone;
  figures.offered_real = policy::sell::kubernetes_real({pool, std::nullopt, zone, on.in_force.guard}, on.kubernetes,
                                                       figures.offered, on.now);
  figures_.observe(node, pool.name, pool.business, figures, loop_.clock().monotonic(), leadership_.leading());
  count_plugins(decision.node);
}

// By the peer's names.
void OvercommitController::count_plugins(const NodeDecision& decision) {
  const policy::sell::OvercommitPlan& plan = decision.plan();
  const bool reset = plan.action == policy::sell::PlanAction::kReset;
  const auto ran = [&](std::size_t place, std::string_view plugin, bool succeeded) {
    base::Counter*& runs = plugin_runs_[place * 4 + (reset ? 2 : 0) + (succeeded ? 1 : 0)];
    if (runs == nullptr) {
      runs = &metrics_.counter("slo_controller_node_resource_run_plugin_status",
                               "Runs of the parts of the offer, by Koordinator's names.",
                               {{"plugin", plugin},
                                {"status", succeeded ? "succeeded" : "failed"},
                                {"reason", reset ? "ResourceReset" : "ResourceCalculate"}});
    }
    runs->add();
  };
  const bool held = plan.action == policy::sell::PlanAction::kHold;
  if (plugins_.batch_resource) ran(0, "BatchResource", !held);
  if (plugins_.mid_resource) ran(1, "MidResource", !held);
  if (plugins_.cpu_normalization) ran(2, "CPUNormalization", reset || plan.normalization.ratio_percent.has_value());
  if (plugins_.resource_amplification) {
    const auto reason = plan.amplification.reason;
    ran(3, "ResourceAmplification",
        reset || reason == model::Reason::kAmplificationNone || reason == model::Reason::kAmplificationApplied);
  }
}

void OvercommitController::count_reconcile(std::string_view what, bool succeeded) {
  metrics_
      .counter("slo_controller_node_resource_reconcile_count", "Results of passes over nodes, by Koordinator's names.",
               {{"status", succeeded ? "succeeded" : "failed"}, {"reason", what}})
      .add();
}

// While no report could arrive, no node was silent: after an outage of the API server every offer is unchanged.
policy::sell::OfferState OvercommitController::remembered(const model::NodeName& node_name, const kube::Node& node,
                                                          const Revision& revision) const {
  const auto at = offers_.find(node_name);
  if (at == offers_.end()) return {};
  policy::sell::OfferState state = at->second.state;
  const base::Duration unheard = hooks_.unheard().total - at->second.unheard;
  if (unheard > base::Duration(0)) {
    const model::Pool& pool = policy::waterline::pool_of(revision.tidemark, node.meta.labels);
    state = policy::sell::without_unheard(std::move(state), unheard, pool.motion, loop_.clock().monotonic());
  }
  return state;
}

// Most nodes are decided without a memory; those cost nothing.
void OvercommitController::remember(const model::NodeName& node_name, const policy::sell::OfferState& state) {
  if (state == policy::sell::OfferState()) {
    offers_.erase(node_name);
  } else {
    offers_[node_name] = {state, hooks_.unheard().total};
  }
}

// What was decided and does not stand on the node is no step that the next one goes on from.
void OvercommitController::take_step_back(const model::NodeName& node_name, const policy::sell::MotionState& before) {
  const auto at = offers_.find(node_name);
  if (at == offers_.end()) return;
  policy::sell::MotionState& motion = at->second.state.motion;
  motion.offered = before.offered;
  motion.changed_at = before.changed_at;
}

// Over-offers and overwritten values do not wait in the line.
bool OvercommitController::zones_lose(const kube::Node& node, const Decision& decision) const {
  const kube::NodeResourceTopology* topology = caches_.topologies.find({"", std::string(node.meta.name)});
  const auto& view = decision.node.snapshot.topology;
  if (topology == nullptr || !view) return false;
  if (zones_.overwritten(*topology)) return true;
  const auto& carried = decision.node.snapshot.published;
  return policy::sell::needs_zone_cut(
             *view, decision.node.plan().zones,
             {carried.batch_cpu.value_or(model::CpuMilli{}), carried.batch_memory.value_or(model::MemoryBytes{})})
      .write.write;
}

bool OvercommitController::takes_away(const kube::Node& node, const Decision& decision) {
  switch (decision.write.reason) {
    case model::Reason::kWriteFirst:
    case model::Reason::kWriteRefresh:
    case model::Reason::kWriteAppears:
    case model::Reason::kWriteMoved:
    case model::Reason::kWriteSettings:
      return is_cut(decision.node).write || yarn_loses(node, decision.node);
    default:
      return true;
  }
}

// Excludes temporary orders, and the hypothetical offer of an off node.
void OvercommitController::learn(const model::NodeName& node_name, const NodeDecision& decision) {
  if (hooks_.learned.least == nullptr || !decision.offer.could || !decision.basis.in_force.overrides.empty()) return;
  if (decision.permit.state.strictest() != model::NodeState::kOn) return;
  hooks_.learned.least->learn(node_name, *decision.offer.could, decision.basis.now);
}

net::Task<Result<OvercommitController::Outcome>> OvercommitController::reconcile(model::NodeName node_name,
                                                                                 kube::Place place, bool others_wait) {
  kube::Place zones_place;
  while (true) {
    TM_CO_TRY(Settled settled, co_await settle_node(node_name, place, others_wait));
    if (!settled.zones) {
      if (settled.outcome.done == Done::kObserved) zones_.not_ours(node_name);
      co_return settled.outcome;
    }
    TM_CO_TRY(const auto zones, co_await zones_.settle(node_name, *std::move(settled.zones), zones_place));
    if (zones == TopologyController::Done::kSettled) co_return settled.outcome;
  }
}

OvercommitController::Settled OvercommitController::settled(Done done, const Decision& decision, bool wrote) {
  Settled out{{done, decision.again_after}};
  if (done == Done::kObserved) return out;
  const policy::sell::ZonesPlan& zones = decision.node.plan().zones;
  out.zones = TopologyController::Wanted{zones, write_thresholds(decision.node), std::nullopt};
  const bool moved = zones.reason == model::Reason::kZonesScaled || zones.reason == model::Reason::kZonesHeld;
  const bool follow = moved || done == Done::kStepsBack;
  if (decision.node.strategy().profile != model::Profile::kTidemark && !follow) return out;
  const auto& carried = wrote ? decision.node.plan().publish : decision.node.snapshot.published;
  out.zones->follow = model::Resources{carried.batch_cpu.value_or(model::CpuMilli{}),
                                       carried.batch_memory.value_or(model::MemoryBytes{})};
  out.zones->plan = policy::sell::within_node(std::move(out.zones->plan), *out.zones->follow);
  return out;
}

void OvercommitController::forget(const model::NodeName& node_name) {
  writes_.gone(node_name, loop_.clock().monotonic());
  figures_.forget(node_name);
  notes_.forget(node_name);
  count_reconcile("reconcileNodeNotFound", false);
  offers_.erase(node_name);
  if (hooks_.learned.least != nullptr) hooks_.learned.least->forget(node_name);
  if (hooks_.reclaims != nullptr) hooks_.reclaims->forget(node_name);
  observed_.remove(node_name);
  journal_.forget(node_name);
}

CapacityWrite OvercommitController::write_of(const kube::Node& node, const Decision& decision,
                                             std::int64_t epoch) const {
  CapacityWrite write;
  write.resource_version = node.meta.resource_version;
  write.publish = decision.node.plan().publish;
  write.origin = decision.node.plan().origin.value_or(model::Resources());
  const bool amounts = decision.node.plan().action != policy::sell::PlanAction::kHold;
  write.batch = amounts && plugins_.batch_resource;
  write.mid = amounts && plugins_.mid_resource;
  if (decision.told) write.config_hash = decision.config_hash;
  const auto& ratio = decision.node.plan().normalization;
  if (ratio.annotate) write.normalization = policy::sell::ratio_text(*ratio.ratio_percent);
  write.amplification_action = decision.node.plan().amplification.action;
  write.amplification = decision.node.plan().amplification.text;
  tell_yarn(node, decision.node, amounts, loop_.clock().wall(), write);
  if (amounts && decision.node.oversold() != has_oversold_mark(node)) {
    write.oversold_action =
        decision.node.oversold() ? policy::sell::AnnotationAction::kSet : policy::sell::AnnotationAction::kRemove;
    write.oversold_since = loop_.clock().wall();
  }
  write.epoch = epoch;
  return write;
}

net::Task<Result<OvercommitController::Settled>> OvercommitController::settle_node(model::NodeName node_name,
                                                                                   kube::Place& place,
                                                                                   bool others_wait) {
  std::optional<kube::Node> read;  // after a refusal, in place of the cache
  for (int refusals = 0; refusals < kTriesMax;) {
    const kube::Node* node = read ? &*read : caches_.nodes.find({"", node_name.value});  // until we wait for something
    if (node == nullptr) {
      forget(node_name);
      co_return Settled{};
    }
    const std::int64_t on_node_epoch = read_epoch(node->meta.annotations.get(kEpochAnnotation));
    const std::int64_t epoch = leadership_.epoch().value_or(on_node_epoch);
    if (leadership_.leading() && on_node_epoch > epoch) {
      log_.error("node has a higher epoch: another manager leads, or the Lease was recreated; the next renewal decides",
                 {{"node", node_name.value}, {"epoch", epoch}, {"epoch_on_node", on_node_epoch}});
      leadership_.found_higher(on_node_epoch);
      co_return Settled{{Done::kSuperseded, std::nullopt}};
    }
    const Revision& revision = settings_.for_node(*node);
    if (!revision.colocation.config) co_return Settled{};
    const bool repair = manager::needs_repair(left_as(*node));
    const auto known = offers_.find(node_name);
    const policy::sell::MotionState before =
        known == offers_.end() ? policy::sell::MotionState() : known->second.state.motion;
    const base::MonotonicTime began = loop_.clock().monotonic();
    Decision decision = decide(node_name, *node, revision, repair);
    decision_seconds_.observe(std::chrono::duration<double>(loop_.clock().monotonic() - began).count());
    observe(node_name, decision);
    notes_.tell(node_name, decision.node);
    remember(node_name, decision.node.state);
    learn(node_name, decision.node);
    observed_.take(node_name, decision.node, hooks_.shows());
    if (hooks_.reclaims != nullptr) hooks_.reclaims->take(*node, decision.node, leadership_.leading());
    if (!decision.node.writes()) writes_.forget(node_name);  // what others make of it is not repaired
    if (!decision.node.writes() && !decision.write.write) co_return settled(Done::kObserved, decision);
    if (decision.write.reason == model::Reason::kWriteRefresh &&
        changes_nothing(write_of(*node, decision, epoch), *node)) {
      decision.write = {};
      writes_.stands(*node, loop_.clock().monotonic());
    }
    const bool leading = leadership_.leading();  // what a standby decides comes to nothing
    const bool ahead = repair || decision.write.reason == model::Reason::kWriteState ||
                       decision.write.reason == model::Reason::kArbitrateReject;
    if (leading && decision.write.write && !place) {
      if (!ahead && !takes_away(*node, decision) && (others_wait || lanes_.routine_waits())) {
        take_step_back(node_name, before);
        if (zones_lose(*node, decision)) co_return settled(Done::kStepsBack, decision);
        co_return Settled{{Done::kStepsBack, decision.again_after}};
      }
      TM_CO_TRY(place, co_await lanes_.of(ahead).writer.take_place(kPlaceLimit));
      if (place.waited() > base::Duration(0)) continue;  // the world went on: decided again, and sent at once
    }
    if (leadership_.epoch()) journal_.leads(leading, epoch, loop_.clock().wall());
    auto record = leading ? journal_.begin(decision.node, revision, decision.write.write) : std::nullopt;
    if (!decision.write.write) {
      if (record) {
        journal_.end(std::move(record),
                     done_of(decision.node, decision.write.reason, RecordedResult::kUnchanged, "", epoch));
      }
      if (repair && decision.node.plan().action != policy::sell::PlanAction::kHold) writes_.accept(*node);
      co_return settled(Done::kUnchanged, decision);
    }
    if (!leading) co_return Settled{{Done::kNotLeading, decision.again_after}};

    const bool amounts = decision.node.plan().action != policy::sell::PlanAction::kHold;
    const CapacityWrite write = write_of(*node, decision, epoch);
    kube::WriteOptions options;
    options.subresource = "status";
    options.note = {model::reason_id(decision.write.reason), amounts_json(decision.node.snapshot.published),
                    decision.config_hash};
    options.place = std::exchange(place, {});
    if (amounts) hooks_.before_write(node_name, in_full(write, decision.node.snapshot.published));
    std::optional<UnderWay> under_way(std::in_place, writing_);
    auto patched = co_await lanes_.of(ahead).writer.patch(kube::kNodes, node_name.value, kube::PatchType::kMerge,
                                                          capacity_patch(write), options, write_limit_);
    under_way.reset();
    if (amounts) hooks_.after_write(node_name, end_of(patched));
    if (patched) {
      journal_.end(std::move(record),
                   done_of(decision.node, decision.write.reason, RecordedResult::kWritten, "", epoch));
      TM_CO_TRY(const kube::Node after, kube::decode_node(*patched, node_fields(), interner_));
      writes_.wrote(after, epoch, loop_.clock().monotonic());
      count_reconcile("updateNodeStatus", true);
      if (write.normalization || write.amplification_action != policy::sell::AnnotationAction::kKeep) {
        count_reconcile("patchNodeMeta", true);  // it rides on the same write
      }
      metrics_
          .counter("tidemark_manager_capacity_writes_total", "Nodes written, by why it was worth a write.",
                   {{"reason", model::reason_id(decision.write.reason)}})
          .add();
      log_.info("capacity written",
                {{"node", node_name.value},
                 {"action", action_word(decision.node.plan().action)},
                 {"batch_cpu_milli", decision.node.plan().publish.batch_cpu.value_or(model::CpuMilli{}).value},
                 {"batch_memory_bytes", decision.node.plan().publish.batch_memory.value_or(model::MemoryBytes{}).value},
                 {"why", model::reason_id(decision.node.plan().reason)},
                 {"write", model::reason_id(decision.write.reason)}});
      co_return settled(decision.node.writes() ? Done::kWritten : Done::kObserved, decision, true);
    }
    journal_.end(std::move(record), done_of(decision.node, decision.write.reason, RecordedResult::kFailed,
                                            patched.error().message, epoch));
    if (patched.error().kind == ErrorKind::kNotFound) {
      count_reconcile("updateNodeNotFound", false);
      co_return Settled{};
    }
    if (end_of(patched) == WriteEnd::kRefused) take_step_back(node_name, before);
    if (patched.error().kind != ErrorKind::kConflict) {
      count_reconcile("updateNodeStatus", false);
      co_return std::unexpected(std::move(patched).error());
    }
    conflicts_.add();
    if (++refusals == kTriesMax) break;
    // Its place first: what is read then is not old when it is written.
    TM_CO_TRY(place, co_await lanes_.of(ahead).writer.take_place(kPlaceLimit));
    TM_CO_TRY(read, co_await read_again(node_name, ahead));
  }
  co_return fail(ErrorKind::kConflict, "node ", node_name.value, " changed ", kTriesMax, " times while it was decided");
}

}  // namespace tidemark::manager
