// What each part of the manager is given of the others: no part knows another, they meet here.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kube/convert.h"
#include "manager/capacity/decide.h"
#include "manager/evictions/budget_pools.h"
#include "manager/running_manager.h"
#include "manager/state/mark_write.h"
#include "manager/state/node_changes.h"
#include "model/names.h"
#include "model/reason.h"

namespace tidemark::manager {
namespace {

constexpr double kStateBudgetShare = 0.3;  // of the requests a second

}  // namespace

NodePermitInputs RunningManager::node_permit_inputs(const kube::Node& node) {
  NodePermitInputs inputs = state_.orders.inputs();
  inputs.sold_known = caches().whole();
  evictions_.budgets.enter(inputs);
  if (only_observes()) {
    inputs.left.reason = model::Reason::kStateByManager;
  } else {
    inputs.left = state_.contests.look(node);
  }
  return inputs;
}

NodePermit RunningManager::node_permit_of(const kube::Node& node) {
  policy::state::SoldNow sold;
  const auto pods = cached_.pods.by_index(kPodsByNode, std::string(node.meta.name));
  sold = sold_on(pods, node, kube::to_node_snapshot(node, {}, nullptr, nullptr).snapshot);
  return node_permit(node, settings_.for_node(node).tidemark, &model::PoolModes::capacity, node_permit_inputs(node),
                     sold, loop_.clock().wall());
}

bool RunningManager::specs_held(const kube::Node& node, model::Mode model::PoolModes::* mode) {
  return !node_permit(node, settings_.for_node(node).tidemark, mode, node_permit_inputs(node), {}, loop_.clock().wall())
              .writes();
}

kube::Unheard RunningManager::unheard() {
  return capacity_.no_reports.look(loop_.clock().monotonic(), cached_.node_metrics.core().unheard(),
                                   elector_ == nullptr ? kube::Unheard() : elector_->unheard());
}

OvercommitContext RunningManager::overcommit_context() {
  return {.lanes = capacity_.lanes,
          .caches = caches(),
          .settings = settings_,
          .leadership = leadership(),
          .zones = capacity_.zones,
          .journal = capacity_.journal,
          .plugins = options_.plugins,
          .write_limit = write_limit(options_)};
}

OvercommitHooks RunningManager::overcommit_hooks() {
  return {
      .permit = [this](const kube::Node& node) { return node_permit_inputs(node); },
      .waiting = [this] { return &waiting_.state(); },
      .shows = [this] { return only_observes() || may_write(); },
      .before_write = [this](const model::NodeName& node,
                             const model::ExtendedResources& amounts) { state_.contests.before_write(node, amounts); },
      .after_write =
          [this](const model::NodeName& node, WriteEnd end) {
            if (end == WriteEnd::kUnknown) return state_.contests.lost_write(node);
            state_.contests.after_write(node, end == WriteEnd::kDone);
          },
      .told = [this](const kube::Node& node) { return specs_.told(node); },
      .unheard = [this] { return unheard(); },
      .learned = {.expected = [this](std::string_view workload) { return workloads_.profiles.expected(workload); },
                  .least = &capacity_.least,
                  .evicted = [this](std::string_view node) { return evictions_.watch.evicted_last(node); }},
      .reclaims = &capacity_.reclaims};
}

ProfilesContext RunningManager::profiles_context(kube::Client& client) {
  return {loop_,
          client,
          recorder_,
          metrics_,
          leadership(),
          cached_.pods,
          [this]() -> const policy::waterline::ProfileSettings& { return profile_settings(); },
          options_.config_namespace,
          write_limit(options_)};
}

RecommenderContext RunningManager::recommender_context() {
  return {// Before the settings are read it is unknown whether recommendations are published.
          .leading = [this] { return may_write() && settings_.not_ready().empty(); },
          .pods = cached_.pods,
          .book = workloads_.profiles.book(),
          .all_read = [this] { return workloads_.profiles.all_read(); },
          .settings = [this]() -> const policy::waterline::ProfileSettings& { return profile_settings(); },
          .write_limit = write_limit(options_)};
}

ContestContext RunningManager::contest_context(kube::Client& client) {
  return {client,
          recorder_,
          cached_.nodes,
          [this] { return may_write(); },
          [this](const std::string& node) { look_at(node); },
          options_.contest};
}

StateContext RunningManager::state_context(kube::Client& client) {
  return {client,
          recorder_,
          cached_.interner,
          cached_.nodes,
          [this](const kube::Node& node) { return node_permit_of(node); },
          [this] { return may_write(); },
          [this] { return only_observes() || may_write(); },
          options_.queries_per_second * kStateBudgetShare,
          write_limit(options_)};
}

NodeSpecsOptions RunningManager::specs_options() {
  return {options_.queries_per_second,
          options_.query_burst,
          options_.workers,
          write_limit(options_),
          [this] { return may_write(); },
          options_.controllers.node_slo,
          options_.controllers.node_metric,
          [this](const kube::Node& node, model::Mode model::PoolModes::* mode) { return specs_held(node, mode); },
          [this] { return state_.orders.overrides(); },
          &recorder_,
          [this](const kube::Node& node) {
            if (node.meta.annotations.get(model::kConfigHashAnnotation) != settings_.for_node(node).hash) {
              queue_.add(std::string(node.meta.name));
            }
          },
          [this](const kube::Node& node) {
            return policy::settings::KnownTold{grants_.told(node), capacity_.reclaims.of(node.meta.name.view())};
          },
          &state_.contests};
}

HistoryContext RunningManager::history_context(kube::Client& client) {
  return {loop_, client, client, recorder_, metrics_, leadership(), options_.config_namespace, write_limit(options_)};
}

EvictionContext RunningManager::eviction_context() {
  return {.nodes = cached_.nodes,
          .pool_of = [this](const kube::Node& node) { return settings_.pool_of(node).name; },
          .known_class =
              [this](const kube::Node& node, std::string_view name) {
                const auto& classes = settings_.for_node(node).tidemark.classes;
                return std::ranges::find(classes, name, &model::WorkClass::name) != classes.end();
              },
          .class_off = [this](const kube::Node& node,
                              std::string_view name) { return class_is_off(node, name, loop_.clock().wall()); },
          .shows = [this] { return only_observes() || may_write(); },
          .evicted = [this](const kube::Node& node, policy::sell::LedgerSide side) { tell_back_off(node, side); }};
}

void RunningManager::tell_back_off(const kube::Node& node, policy::sell::LedgerSide side) {
  queue_.add(std::string(node.meta.name));
  const model::Pool& pool = settings_.pool_of(node);
  const base::Duration pause = model::back_off_of(pool);
  if (pause == base::Duration(0) || !may_write()) return;
  const bool yarn = side == policy::sell::LedgerSide::kYarn;
  recorder_.record(
      {"v1", "Node", "", std::string(node.meta.name), std::string(node.meta.uid)}, kube::EventSeverity::kNormal,
      yarn ? kYarnBacksOffEvent : kBacksOffEvent,
      base::cat(model::reason_sentence(model::Reason::kBudgetBackOff), " (work of ", yarn ? "YARN" : "Kubernetes", "; ",
                std::chrono::ceil<std::chrono::seconds>(pause).count(), " s in pool ", pool.name, ")"));
}

BudgetContext RunningManager::budget_context() {
  return {.evictions = evictions_.watch,
          .operator_grants = [this] { return grants_.of_operator(); },
          .pools = [this] { return budget_pools(settings_.in_force()); },
          .asked_for = [this] { return any_of_tidemark(settings_.in_force()); },
          .leading = [this] { return may_write(); },
          .on_change = [this] { enqueue_all(); },
          .config_namespace = options_.config_namespace,
          .write_limit = write_limit(options_)};
}

EvictionLimitsContext RunningManager::limits_context() {
  return {.clock = loop_.clock(),
          .interner = cached_.interner,
          .book = [this]() -> const policy::evict::EvictionBook& { return evictions_.watch.book(); },
          .state = [this]() -> const policy::evict::BudgetState& { return evictions_.budgets.state(); },
          .pool_of = [this](std::string_view name,
                            std::string_view work_class) -> std::optional<policy::evict::BudgetPool> {
            const kube::Node* node = cached_.nodes.find({"", std::string(name)});
            if (node == nullptr || !settings_.for_node(*node).texts.tidemark) return std::nullopt;
            if (class_is_off(*node, work_class, loop_.clock().wall())) return std::nullopt;
            const model::Pool& pool = settings_.pool_of(*node);
            return policy::evict::BudgetPool{pool.name, pool.budget};
          }};
}

GrantContext RunningManager::grant_context() {
  return {.loop = loop_,
          .nodes = cached_.nodes,
          .metrics = metrics_,
          .pool_of = [this](const kube::Node& node) -> const model::Pool& { return settings_.pool_of(node); },
          .asked_for = [this] { return any_of_tidemark(settings_.in_force()); },
          .leading = [this] { return may_write(); },
          .synced = [this] { return all_synced_.is_set() && specs_.slos().synced(); },
          .carried =
              [this](const std::function<void(const std::string&, const model::NodeGrant&)>& each) {
                specs_.slos().for_each([&](const kube::ObjectKey& key, const NodeSloProjection& slo) {
                  if (slo.told.grant) each(key.name, *slo.told.grant);
                });
              },
          .of_operator = [this]() -> const std::optional<policy::evict::OperatorGrants>& {
            return evictions_.budgets.stored_grants();
          },
          .look_at = [this](const std::string& node) { specs_.look_at(node); }};
}

SettingsContext RunningManager::settings_context() {
  return {.nodes = &cached_.nodes,
          .evictions = &evictions_.watch,
          .leading = [this] { return may_write(); },
          .writes = [this](const kube::Node& node) { return !specs_held(node, &model::PoolModes::capacity); },
          .config_namespace = options_.config_namespace,
          .config_name = options_.config_name,
          .write_limit = write_limit(options_),
          .zones = options_.zones};
}

Leadership RunningManager::leadership() {
  return {[this] { return may_write(); },
          [this]() -> std::optional<std::int64_t> {
            if (elector_ == nullptr) return std::nullopt;
            return elector_->epoch();
          },
          [this](std::int64_t seen) {
            if (elector_ != nullptr) elector_->raise_epoch(seen);
          }};
}

void RunningManager::subscribe() {
  cached_.nodes.subscribe([this](const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after) {
    const bool marked = after != nullptr && mark_changed(before, *after);
    capacity_.controller.node_changed(before, after);
    state_.contests.node_changed(key.name, before, after);
    evictions_.watch.node_changed(before, after);
    queue_.add(key.name, marked ? kube::WorkQueue::Urgency::kUrgent : capacity_.workers.urgency_of(key.name));
    if (state_may_change(before, after)) state_.marks.node_changed(key.name);
    if (marked) specs_.look_at(key.name);
    if (after == nullptr) capacity_.zones.forget_writes_of(model::NodeName(key.name));
  });
  cached_.pods.subscribe([this](const kube::ObjectKey& key, const PodProjection* before, const PodProjection* after) {
    if (before == nullptr || after == nullptr) waiting_.bound(key, after);
    evictions_.watch.running_changed(before == nullptr ? nullptr : before->end.get(),
                                     after == nullptr ? nullptr : after->end.get(), !cached_.pods.synced());
    if (after != nullptr && after->end) evictions_.limits.seen(*after->end);
    // Draining is over when the last of what is sold ends.
    if (before != nullptr && before->sold) state_.marks.look_at(std::string(before->node_name));
    if (before != nullptr && !before->node_name.empty()) queue_.add(std::string(before->node_name));
    if (after != nullptr && !after->node_name.empty()) queue_.add(std::string(after->node_name));
  });
  cached_.node_metrics.subscribe(
      [this](const kube::ObjectKey& key, const kube::NodeMetric* before, const kube::NodeMetric* after) {
        capacity_.no_reports.came();
        workloads_.profiles.metric_changed(before, after);
        if (after == nullptr) {
          capacity_.controller.forget_writes_of(model::NodeName(key.name));
          capacity_.zones.forget_writes_of(model::NodeName(key.name));
        }
        queue_.add(key.name);
      });
  cached_.topologies.subscribe(
      [this](const kube::ObjectKey& key, const kube::NodeResourceTopology*, const kube::NodeResourceTopology*) {
        queue_.add(key.name, capacity_.workers.urgency_of(key.name));
      });
  settings_.subscribe([this](const SettingsChange& change) {
    workloads_.profiles.look();
    grants_.look();
    if (change.node) {
      look_at(change.node->value);
    } else {
      enqueue_all();
    }
  });
}

}  // namespace tidemark::manager
