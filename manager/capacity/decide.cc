#include "manager/capacity/decide.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kube/convert.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/state/oversold_taint.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "model/oversold.h"
#include "model/quantity.h"
#include "policy/evict/drain.h"
#include "policy/sell/ledger/books.h"
#include "policy/sell/overcommit/warm_up.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::manager {

namespace {

std::optional<std::string_view> strategy_annotation(const kube::Node& node) {
  const auto* text = node.meta.annotations.find(model::kColocationStrategyAnnotation);
  return text == nullptr ? std::nullopt : std::optional(text->view());
}

// What only the node's NodeSLO is made of: it says nothing of itself there.
void note_what_others_read(const kube::Node& node, std::vector<std::string>& notes) {
  const auto* bandwidth = node.meta.annotations.find(model::kNetworkBandwidthAnnotation);
  if (bandwidth == nullptr) return;
  if (const auto read = model::Quantity::parse(bandwidth->view()); !read) {
    notes.push_back(base::cat("annotation ", model::kNetworkBandwidthAnnotation, ": ", read.error().message));
  }
}

bool withdraws_offer(model::NodeState state) {
  return state >= model::NodeState::kDraining;
}

// Only with `profile: tidemark`: the peer counts a pod with what it uses from its first report on.
std::optional<model::WarmUp> warm_up_of(const PodProjection& pod, const model::Pool& pool,
                                        const NodeSurroundings& around) {
  if (pool.profile != model::Profile::kTidemark || !pod.online() || pod.started_s == 0) return std::nullopt;
  const base::WallTime started{std::chrono::seconds(pod.started_s)};
  const std::int64_t left = policy::sell::warm_up_left(started, pool.warm_up, around.now);
  if (left == 0) return std::nullopt;
  model::WarmUp warm_up{left, std::nullopt};
  if (around.learned.expected != nullptr && *around.learned.expected && !pod.workload.empty()) {
    warm_up.expected = (*around.learned.expected)(pod.workload);
  }
  return warm_up;
}

// What motion starts from where the node carries something else than was decided before.
void start_from(policy::sell::OfferState& state, std::optional<model::Resources> offered, base::MonotonicTime now) {
  state.motion.offered = offered;
  state.motion.held.reset();
  state.motion.changed_at = now;
}

// YARN alone is off: the annotation says 0, and what Kubernetes has is what the node still offers.
std::optional<model::Resources> origin_in_force(const model::NodeSnapshot& node,
                                                const policy::state::EffectiveState& state) {
  if (!withdraws_offer(state.yarn) || withdraws_offer(state.k8s)) return node.origin;
  if (!node.published.batch_cpu && !node.published.batch_memory) return node.origin;
  return model::Resources{node.published.batch_cpu.value_or(model::CpuMilli{}),
                          node.published.batch_memory.value_or(model::MemoryBytes{})};
}

}  // namespace

policy::state::SoldNow sold_on(std::span<const PodProjection* const> pods, const kube::Node& node,
                               const model::NodeSnapshot& snapshot) {
  const auto some = [](model::Resources amount) { return amount.cpu.value > 0 || amount.memory.value > 0; };
  policy::state::SoldNow sold;
  sold.k8s = false;
  std::string_view last;  // pods of one class often lie side by side, and most are of none
  for (const PodProjection* pod : pods) {
    if (!pod->sold) continue;
    const std::string_view work_class = pod->work_class;
    if (!*sold.k8s || work_class != last) sold.classes.emplace_back(work_class);
    sold.k8s = true;
    last = work_class;
  }
  if (const auto* text = node.meta.annotations.find(model::kYarnBookAnnotation)) {
    const auto book = model::parse_yarn_book(text->view());
    if (book && book->sold) {
      sold.yarn = std::ranges::any_of(*book->sold, [&](const auto& each) { return some(each.amount); });
      for (const auto& each : *book->sold) {
        if (some(each.amount)) sold.classes.push_back(each.work_class);
      }
    }
  } else if (snapshot.third_party) {
    sold.yarn = std::ranges::any_of(*snapshot.third_party, [&](const auto& each) { return some(each.resources); });
  }
  std::ranges::sort(sold.classes);
  sold.classes.erase(std::ranges::unique(sold.classes).begin(), sold.classes.end());
  return sold;
}

void NodeDecision::keep_cuts_only() {
  policy::sell::keep_cuts_only(obeyed.plan, snapshot);
  auto& offered = state.motion.offered;
  if (offered) offered = model::min(*offered, basis.origin.on_node.value_or(model::Resources{}));
}

static model::Resources batch_of(const policy::sell::OvercommitPlan& plan) {
  return {plan.publish.batch_cpu.value_or(model::CpuMilli{}), plan.publish.batch_memory.value_or(model::MemoryBytes{})};
}

// Classes of work that are off, and what the ledger asks of the others.
static void reclaim(NodeDecision& decision) {
  policy::sell::TakenOff& of_kubernetes = decision.state.kubernetes_off;
  policy::sell::TakenOff& of_yarn = decision.state.yarn_off;
  const model::Resources before = batch_of(decision.plan());
  policy::state::withdraw(decision.obeyed.plan, decision.kubernetes_off.taken());
  of_kubernetes.in_decided = before - batch_of(decision.plan());
  if (decision.yarn_offer) {
    const model::Resources offered = *decision.yarn_offer;
    decision.yarn_offer = model::max(offered - decision.yarn_off.taken(), model::Resources{});
    of_yarn.in_decided = offered - *decision.yarn_offer;
  }
  static const policy::sell::LedgerPlan kNone;
  const policy::sell::LedgerPlan& ledger = decision.offer.ledger ? *decision.offer.ledger : kNone;
  decision.kubernetes_reclaim = policy::state::united(decision.kubernetes_off.reclaim(), ledger.kubernetes.reclaim);
  decision.yarn_reclaim = policy::state::united(decision.yarn_off.reclaim(), ledger.yarn.reclaim);
}

// For the next pass. Only a strict ledger uses the last published amounts.
static void remember_taken_off(NodeDecision& decision) {
  policy::sell::TakenOff& of_kubernetes = decision.state.kubernetes_off;
  policy::sell::TakenOff& of_yarn = decision.state.yarn_off;
  if (!decision.state.kubernetes.seen) {
    of_kubernetes = of_yarn = {};
    return;
  }
  const DecisionBasis& on = decision.basis;
  of_kubernetes = {true, on.kubernetes.told, on.kubernetes.taken_off, batch_of(decision.plan()),
                   of_kubernetes.in_decided};
  of_yarn = {true, on.yarn.book.told, on.yarn.book.taken_off, decision.yarn_offer.value_or(model::Resources{}),
             of_yarn.in_decided};
}

// What orders about the node, and what is not known, leave of the offer.
static void follow_orders(NodeDecision& decision) {
  const DecisionBasis& on = decision.basis;
  policy::sell::OvercommitPlan& plan = decision.obeyed.plan;
  decision.kubernetes_off = policy::state::classes_off(on.in_force.orders, on.kubernetes);
  decision.yarn_off = policy::state::classes_off(on.in_force.orders, on.yarn.book);
  decision.yarn_offer = decision.offer.yarn_offer;
  decision.obeyed = policy::state::obey(decision.offer.plan, on.in_force.orders,
                                        {decision.snapshot.published, decision.snapshot.origin}, on.plugins);
  reclaim(decision);
  // YARN's held amount is unknown: offer YARN no more than before.
  if (on.in_force.cuts_only || !on.yarn.book.sold) decision.keep_yarn_from_growing();
  const bool reset = plan.action == policy::sell::PlanAction::kReset;
  if (decision.yarn_offer ? on.yarn.book.withdrawn || reset : reset && on.node.has_yarn_offer && on.yarn.obeys) {
    decision.yarn_offer = model::Resources{};  // 0 and not unset: an unset offer could as well be unknown
  }
  if (on.kubernetes.withdrawn) {
    plan.zones = policy::sell::reset_zones(decision.snapshot.topology, model::Profile::kTidemark);
  }
  // A withdrawn offer grows again at the configured pace.
  if (on.kubernetes.withdrawn && on.yarn.book.withdrawn && decision.state.motion.offered) {
    start_from(decision.state, model::Resources{}, on.mono);
  }
  if (on.in_force.cuts_only) decision.keep_cuts_only();
  remember_taken_off(decision);
}

// When what YARN holds beyond its offer ends.
static std::optional<base::WallTime> drain_of(const kube::Node& node, const NodeDecision& decision,
                                              const policy::state::EffectiveState& state) {
  if (!decision.yarn_offer || !decision.pool->ends_yarn_work) return std::nullopt;
  const DecisionBasis& on = decision.basis;
  policy::evict::DrainInput input;
  input.wanted = true;
  input.now = on.now;
  if (const auto& line = decision.offer.line) {
    static const policy::waterline::Calendar kNone;
    input.line_comes_down =
        policy::waterline::comes_down_at(decision.calendar == nullptr ? kNone : *decision.calendar, line->cpu.base,
                                         line->memory.base, on.in_force.overrides, on.now);
  }
  if (state.yarn == model::NodeState::kDraining && state.order) input.order_ends = state.order->drain_until;
  if (const auto* text = node.meta.annotations.find(model::kYarnOfferAnnotation)) {
    if (const auto offer = model::parse_yarn_offer(text->view())) {
      input.told = policy::evict::drain_in_force(offer->drain_by, on.now);
      const bool grows = offer->offer == model::Resources() && *decision.yarn_offer != model::Resources();
      const bool lifted = input.told && state.order && state.order->since >= *input.told;
      // An offer may come up from nothing while a line comes down; by itself it is no sign that an order is over.
      input.given_again = grows && !withdraws_offer(state.yarn) && (lifted || !decision.offer.line);
    }
  }
  return policy::evict::yarn_drain(input);
}

std::vector<model::Label> labels_of(const kube::Node& node) {
  std::vector<model::Label> labels;
  labels.reserve(node.meta.labels.size());
  for (const auto& label : node.meta.labels) labels.push_back({std::string(label.key), std::string(label.value)});
  return labels;
}

policy::sell::NodeStrategy strategy_of_node(const kube::Node& node, const policy::sell::ColocationConfig& config,
                                            model::Profile profile) {
  return policy::sell::strategy_for(config, node.meta.labels, strategy_annotation(node), profile);
}

NodeDecision decide(model::NodeSnapshot snapshot, DecisionBasis basis, const Revision& revision,
                    policy::waterline::LineMemo* lines) {
  const model::Pool& pool = policy::waterline::pool_of(revision.tidemark, basis.node.labels);
  const policy::waterline::Calendar* calendar = pool.calendar ? &revision.tidemark.calendars[*pool.calendar] : nullptr;
  const policy::sell::OvercommitSettings settings{
      *revision.colocation.config, revision.normalization ? &*revision.normalization : nullptr,
      revision.amplification ? &*revision.amplification : nullptr, basis.plugins, pool.profile};
  policy::sell::OfferInput input{
      .node = snapshot,
      .strategy = policy::sell::strategy_for(settings, basis.node.labels, basis.node.strategy_annotation),
      .pool = {pool, std::nullopt, calendar == nullptr ? nullptr : &calendar->zone, basis.in_force.guard},
      .origin = basis.origin,
      .kubernetes = basis.kubernetes,
      .yarn = basis.yarn,
      .evicted = basis.evicted,
      .now = basis.now,
      .mono = basis.mono};
  const auto& values = input.strategy.values;
  input.pool.line =
      policy::waterline::water_line(lines, revision.hash, calendar, values.cpu_reclaim_threshold_percent,
                                    values.memory_reclaim_threshold_percent, basis.in_force.overrides, basis.now);
  auto step = policy::sell::offer(basis.state, std::move(input));
  NodeDecision decision(std::move(snapshot), std::move(basis), std::move(step));
  decision.pool = &pool;
  decision.calendar = calendar;
  follow_orders(decision);
  return decision;
}

// The books of both sides. Answers what could not be read of them.
std::string keep_books(const kube::Node& node, const NodeSurroundings& around, DecisionBasis& basis) {
  const std::vector<model::WorkClass>& classes = around.revision.tidemark.classes;
  policy::sell::SideBook& kubernetes = basis.kubernetes;
  const auto published = kube::extended_resources(node.allocatable);
  kubernetes.told = {published.batch_cpu.value_or(model::CpuMilli{}),
                     published.batch_memory.value_or(model::MemoryBytes{})};
  if (around.permit.sold_known) kubernetes.sold.emplace();
  for (const PodProjection* pod : around.objects.pods) {
    if (pod->batch_request == model::Resources{} || !kubernetes.sold) continue;
    const auto work_class = pod->work_class.view();
    policy::sell::add_sold(*kubernetes.sold, policy::sell::class_order(classes, work_class), work_class,
                           pod->batch_request);
  }
  if (around.waiting != nullptr && around.waiting->wants_more) {
    kubernetes.wants_more = true;
    kubernetes.best_order = around.waiting->best_order;
    kubernetes.waits_class = around.waiting->best_class;
    kubernetes.waits_for = around.waiting->amount;
  }
  const auto* text = node.meta.annotations.find(model::kYarnBookAnnotation);
  if (text == nullptr) return "";
  auto book = model::parse_yarn_book(text->view());
  model::YarnOffer offer;
  if (const auto* offered = node.meta.annotations.find(model::kYarnOfferAnnotation)) {
    // What cannot be read was not written by us; what was confirmed counts.
    offer = model::parse_yarn_offer(offered->view()).value_or(model::YarnOffer());
  }
  basis.yarn.obeys = true;
  const auto* renewed = node.meta.annotations.find(model::kYarnBookRenewedAnnotation);
  basis.yarn.mark = base::TextHash().add(text->view()).add("\n").add(renewed == nullptr ? "" : renewed->view()).value();
  if (!book) {
    // An operator obeys, but its text is unreadable (it may be newer): the amount that YARN may act on counts as held.
    basis.yarn.book.told = offer.offer;
    basis.yarn.book.confirmed = model::max(offer.offer, offer.up_to);
    return base::cat(model::kYarnBookAnnotation, ": ", book.error().message);
  }
  basis.yarn.book = policy::sell::yarn_side(*book, offer, classes);
  return "";
}

NodeDecision decide_node(const kube::Node& node, const NodeSurroundings& around) {
  const model::Pool& pool = policy::waterline::pool_of(around.revision.tidemark, node.meta.labels);
  std::vector<model::PodView> views;
  views.reserve(around.objects.pods.size());
  for (const PodProjection* pod : around.objects.pods) {
    views.push_back(pod->view());
    views.back().warm_up = warm_up_of(*pod, pool, around);
  }
  auto conversion = kube::to_node_snapshot(node, std::move(views), around.objects.metric, around.objects.topology);
  NodePermit permit = node_permit(node, around.revision.tidemark, &model::PoolModes::capacity, around.permit,
                                  sold_on(around.objects.pods, node, conversion.snapshot), around.now);
  const policy::state::EffectiveState& state = permit.state;
  const auto origin = origin_in_force(conversion.snapshot, state);
  policy::sell::OfferState before = around.before.state;
  if (around.before.was_observed && permit.writes() && before.motion.offered) {
    start_from(before, origin.value_or(model::Resources{}), around.mono);
  }
  if (!before.arbitrate.looked) before.arbitrate.rejecting = has_oversold_mark(node);
  DecisionBasis basis;
  basis.node.labels = node.meta.labels;
  basis.plugins = around.plugins;
  basis.state = std::move(before);
  basis.origin.on_node = origin;
  basis.now = around.now;
  basis.mono = around.mono;
  basis.origin.least = around.learned.least_offer;
  if (const std::string problem = keep_books(node, around, basis); !problem.empty()) {
    conversion.notes.push_back(problem);
  }
  basis.kubernetes.withdrawn = withdraws_offer(state.k8s);
  basis.yarn.book.withdrawn = withdraws_offer(state.yarn);
  basis.kubernetes.taken_off = policy::sell::taken_off(basis.state.kubernetes_off, basis.kubernetes.told,
                                                       policy::state::classes_off(state, basis.kubernetes).taken());
  basis.yarn.book.taken_off = policy::sell::taken_off(basis.state.yarn_off, basis.yarn.book.told,
                                                      policy::state::classes_off(state, basis.yarn.book).taken());
  note_what_others_read(node, conversion.notes);
  if (const auto annotation = strategy_annotation(node)) basis.node.strategy_annotation = *annotation;
  if (around.permit.overrides != nullptr) {
    basis.in_force.overrides = policy::state::overrides_of(*around.permit.overrides, permit.pool, around.now);
  }
  basis.in_force.guard = permit.guard;
  basis.evicted = around.learned.evicted;
  basis.in_force.orders = state;
  basis.in_force.cuts_only = !permit.may_grow || !around.objects.whole;
  basis.node.has_yarn_offer = node.meta.annotations.has(model::kYarnOfferAnnotation);
  basis.node.revisions.node = node.meta.resource_version;
  if (around.objects.metric != nullptr) basis.node.revisions.metric = around.objects.metric->meta.resource_version;
  if (around.objects.topology != nullptr)
    basis.node.revisions.topology = around.objects.topology->meta.resource_version;
  NodeDecision decision = decide(std::move(conversion.snapshot), std::move(basis), around.revision, around.lines);
  decision.notes = std::move(conversion.notes);
  decision.yarn_drain = drain_of(node, decision, state);
  decision.permit = std::move(permit);
  return decision;
}

model::ConfigSource config_source(const kube::ConfigMap* map, std::string_view key) {
  model::ConfigSource source;
  source.found = map != nullptr;
  if (map != nullptr) {
    if (const auto* text = map->data.find(key)) source.text = text->view();
  }
  return source;
}

kube::NodeFields node_fields() {
  kube::NodeFields fields = kube::overcommit_node_fields();
  fields.meta.annotations = {model::kColocationStrategyAnnotation,
                             model::kNetworkBandwidthAnnotation,
                             model::kReservationAnnotation,
                             model::kOriginAllocatableAnnotation,
                             model::kThirdPartyAllocationsAnnotation,
                             model::kNormalizationRatioAnnotation,
                             model::kAmplificationRatioAnnotation,
                             model::kStateDetailAnnotation,
                             model::kYarnBookAnnotation,
                             model::kYarnBookRenewedAnnotation,
                             model::kYarnOfferAnnotation,
                             model::kEndedTasksAnnotation,
                             model::kYarnPreemptedAnnotation,
                             model::kOversoldAnnotation,
                             kEpochAnnotation,
                             model::kNodeSettingsAnnotation,
                             model::kConfigHashAnnotation};
  fields.condition_messages = {model::kStateCondition};
  return fields;
}

kube::NodeMetricFields metric_fields() {
  return kube::overcommit_node_metric_fields();
}

kube::MetaFields topology_fields() {
  kube::MetaFields fields = kube::overcommit_topology_fields();
  fields.annotations = {model::kCpuBasicInfoAnnotation, kEpochAnnotation};
  return fields;
}

}  // namespace tidemark::manager
