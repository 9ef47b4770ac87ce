#include "manager/manager.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kube/convert.h"
#include "kube/informer.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "kube/work_queue.h"
#include "manager/capacity/capacity_workers.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/least_offers.h"
#include "manager/capacity/overcommit_controller.h"
#include "manager/capacity/pod_projection.h"
#include "manager/capacity/topology_controller.h"
#include "manager/capacity/waiting_pods.h"
#include "manager/capacity/write_lanes.h"
#include "manager/evictions/budget_controller.h"
#include "manager/evictions/eviction_limits.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/evictions/node_grants.h"
#include "manager/forecast/forecast_controller.h"
#include "manager/forecast/forecast_pools.h"
#include "manager/profiles/profiles.h"
#include "manager/profiles/recommender.h"
#include "manager/settings/settings.h"
#include "manager/specs/node_specs.h"
#include "manager/state/contests.h"
#include "manager/state/mark_write.h"
#include "manager/state/node_changes.h"
#include "manager/state/object_contests.h"
#include "manager/state/state_controller.h"
#include "manager/state/state_source.h"
#include "model/names.h"
#include "model/reason.h"
#include "net/admin.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kComponent = "tidemark-manager";
constexpr base::Duration kDrainLimit = std::chrono::seconds(10);
constexpr int kRepairWorkers = 2;  // beside those that may all be waiting for a place in the write budget
constexpr std::int64_t kStateWorkers = 2;
constexpr double kStateBudgetShare = 0.3;  // of the requests a second
constexpr base::Duration kJournalDrainLimit = std::chrono::seconds(2);

class RunningManager final : public Manager {
 public:
  RunningManager(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                 base::Random random, ManagerOptions options, const std::string& identity)
      : loop_(loop),
        client_(client),
        log_(std::move(log)),
        metrics_(metrics),
        options_(std::move(options)),
        interner_(metrics, "manager"),
        nodes_(loop, client, client, log_, metrics, random.fork(), informer(kube::kNodes),
               [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner_); }),
        pods_(loop, client, client, log_, metrics, random.fork(), pod_informer(),
              [this](std::string_view bytes) { return decode_pod_projection(bytes, interner_); }),
        node_metrics_(
            loop, client, client, log_, metrics, random.fork(), informer(kube::kNodeMetrics),
            [this](std::string_view bytes) { return kube::decode_node_metric(bytes, metric_fields(), interner_); }),
        topologies_(loop, client, client, log_, metrics, random.fork(), topology_informer(),
                    [this](std::string_view bytes) {
                      return kube::decode_node_resource_topology(bytes, topology_fields(), interner_);
                    }),
        queue_(loop, metrics, "overcommit", random.fork()),
        recorder_(loop, client, log_, metrics, std::string(kComponent)),
        evictions_(eviction_context(client), log_, random.fork()),
        settings_(settings_context(client), log_, random.fork()),
        waiting_(
            loop, client, interner_, log_, metrics, random.fork(),
            [this]() -> const policy::TidemarkConfig& { return settings_.newest().tidemark; },
            [this](WaitingPods::Change change) { look_at_ledgers(change == WaitingPods::Change::kHowMuch); }),
        budgets_(budget_context(client), log_, random.fork()),
        limits_(limits_context()),
        orders_(
            loop, client, recorder_, interner_, nodes_, log_, metrics, random.fork(), options_.config_namespace,
            [this] { return may_write(); }, [this] { enqueue_all(); }),
        contests_(loop, contest_context(client), log_, metrics),
        object_contests_(loop, object_contest_context(client), log_, metrics),
        states_(loop, state_context(client), log_, metrics, random.fork()),
        lanes_(client),
        zones_(loop, lanes_, topologies_, leadership(), interner_, log_, metrics, write_limit(options_),
               &object_contests_),
        journal_(loop, log_, metrics, options_.journal, identity),
        least_(
            history_context(client), [this] { return has_motion(settings_); },
            [this](const model::NodeName& node) { return nodes_.find({"", node.value}) != nullptr; }, log_),
        reclaims_(metrics, recorder_, specs_),
        controller_(loop, lanes_, caches(), settings_, leadership(), interner_, log_, metrics, zones_, journal_,
                    overcommit_hooks(), options_.plugins, write_limit(options_)),
        workers_(queue_, controller_, log_, metrics, options_.retry_period),
        forecasts_(forecast_context(client), log_),
        specs_(loop, client, interner_, nodes_, node_metrics_, settings_, log_, metrics, random.fork(),
               specs_options()),
        profiles_(profiles_context(client), log_),
        recommender_(recommender_context(client), log_),
        grants_(grant_context()),
        all_synced_(loop),
        scope_(loop) {
    pods_.add_index(std::string(kPodsByNode), [](const PodProjection& pod) {
      return pod.node_name.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(pod.node_name)};
    });
    subscribe();
  }

  Result<void> prepare(kube::Client& client, kube::Client& election, base::Random random, std::string identity) {
    if (options_.leader_elect && !only_observes()) {
      kube::LeaderConfig config;
      config.ns = options_.lease_namespace;
      config.name = options_.lease_name;
      config.identity = std::move(identity);
      config.lease_duration = options_.lease_duration;
      config.renew_deadline = options_.renew_deadline;
      config.retry_period = options_.retry_period;
      TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, metrics_, random, std::move(config)));
      elector_->on_change([this](bool leading) {
        settings_.leadership_changed();
        if (webhooks_) webhooks_->leadership_changed();
        forecasts_.leadership_changed();
        least_.leadership_changed();
        grants_.look();
        if (!leading) {
          object_contests_.leave();
          specs_.leave();
          return contests_.leave();
        }
        contests_.take_over();
        object_contests_.take_over();
        enqueue_all();
        specs_.look_at_all();
        profiles_.look();
      });
    }
    if (elector_ == nullptr) {  // whoever is not one of several leads, unless it only looks on
      metrics_.gauge("tidemark_leader", "1 while this process holds the lease.").set(only_observes() ? 0 : 1);
    }
    metrics_.gauge("tidemark_manager_only_observes", "1 where the whole manager only observes (--mode=observe).")
        .set(only_observes() ? 1 : 0);
    options_.webhooks.gates = webhook_gates(options_.feature_gates);
    options_.webhooks.gates.catch_up &= options_.controllers.colocation_profile;
    if (!only_observes() && options_.webhooks.mode == WebhookMode::kOn && options_.webhooks.gates.served) {
      TM_TRY(webhooks_,
             Webhooks::make(loop_, client, log_, metrics_, random.fork(), options_.webhooks,
                            {options_.config_namespace, options_.config_name, options_.zones, nodes_,
                             leadership().leading, [this](std::string_view pod) { return limits_.take(pod); }}));
    }
    TM_TRY(admin_, net::serve_admin(
                       loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                       [this] { return sampled(); }));
    TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
    return {};
  }

  void start() override {
    scope_.spawn(nodes_.run());
    scope_.spawn(pods_.run());
    scope_.spawn(node_metrics_.run());
    scope_.spawn(topologies_.run());
    evictions_.start();
    settings_.start();
    budgets_.start();
    orders_.start();
    journal_.start();
    specs_.start();
    profiles_.start();
    recommender_.start();
    if (!only_observes()) grants_.start();
    if (only_observes()) {
      log_.warn(model::reason_sentence(model::Reason::kStateByManager),
                {{"reason", model::reason_id(model::Reason::kStateByManager)}});
    } else {
      scope_.spawn(recorder_.run());
    }
    scope_.spawn(wait_for_caches());
    waiting_.start();
    if (elector_) scope_.spawn(elector_->run());
    if (webhooks_) webhooks_->start();
    if (!options_.controllers.node_resource) {
      log_.warn("noderesource is off by --controllers: no node is written");
      return;
    }
    for (std::int64_t i = 0; i < options_.workers; ++i) scope_.spawn(work(kube::WorkQueue::Urgency::kRoutine));
    for (int i = 0; i < kRepairWorkers; ++i) scope_.spawn(work(kube::WorkQueue::Urgency::kUrgent));
    for (std::int64_t i = 0; i < kStateWorkers; ++i) scope_.spawn(work_on_states());
    if (options_.sync_period > base::Duration(0)) scope_.spawn(look_again());
  }

  std::string not_ready() const override {
    if (draining_) return "on its way out";
    if (!nodes_.synced()) return "nodes are not listed yet";
    if (!pods_.synced()) return "pods are not listed yet";
    if (!node_metrics_.synced()) return "nodemetrics are not listed yet";
    if (!topologies_.synced()) return "noderesourcetopologies are not listed yet";
    if (auto missing = settings_.not_ready(); !missing.empty()) return missing;
    if (auto missing = specs_.not_ready(); !missing.empty()) return missing;
    if (webhooks_ && !webhooks_->not_ready().empty()) return webhooks_->not_ready();
    if (!orders_.taken()) return "tidemark-state is not read yet";
    if (!all_synced_.is_set()) return "tidemark-budgets is not read yet";
    if (!caches().whole()) return "a cache is over its budget: offers are only cut";
    return "";
  }

  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }

  std::string health_address() const override { return health_ ? health_->address() : ""; }

  net::Task<void> drain() override {
    draining_ = true;
    const auto end = loop_.clock().monotonic() + kDrainLimit;
    while ((controller_.writing() || zones_.writing() || specs_.writing() || states_.writing()) &&
           loop_.clock().monotonic() < end)
      co_await loop_.sleep(std::chrono::milliseconds(20));
    if (elector_) co_await elector_->release();
    co_await journal_.drain(kJournalDrainLimit);
    // Last: a successor may write meanwhile, and questions go on being answered.
    if (webhooks_) co_await webhooks_->drain();
  }

 private:
  static kube::InformerConfig informer(const kube::Resource& resource) {
    kube::InformerConfig config;
    config.resource = resource;
    return config;
  }
  // A pod that ended holds nothing, and one without a node concerns none.
  static kube::InformerConfig pod_informer() {
    kube::InformerConfig config = informer(kube::kPods);
    config.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
    return config;
  }

  // A cluster without NUMA reporting has no such kind.
  static kube::InformerConfig topology_informer() {
    kube::InformerConfig config = informer(kube::kNodeResourceTopologies);
    config.may_be_absent = true;
    return config;
  }

  OvercommitCaches caches() const { return {nodes_, pods_, node_metrics_, topologies_}; }

  // A write must be over before a successor may start, which is lease_duration − renew_deadline after we stop.
  static base::Duration write_limit(const ManagerOptions& options) {
    if (!options.leader_elect) return kCapacityWriteLimit;
    return std::min<base::Duration>(kCapacityWriteLimit, (options.lease_duration - options.renew_deadline) * 4 / 5);
  }

  // What is worked out when somebody asks for the metrics.
  std::string sampled() {
    const auto wait = [this](std::string_view lane, const kube::Client& client) {
      metrics_
          .gauge("tidemark_manager_write_budget_wait_seconds", "How long a call would wait for its place now.",
                 {{"component", lane}})
          .set(std::chrono::duration<double>(client.budget_wait()).count());
    };
    wait("routine", client_);
    wait("ahead", client_.ahead());
    orders_.refresh_metrics();
    forecasts_.refresh_metrics();
    return may_write() ? controller_.figures().text() : "";
  }

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }

  // What a node's state rests on beside the node.
  StandingInputs standing_inputs(const kube::Node& node) {
    StandingInputs inputs = orders_.inputs();
    inputs.sold_known = caches().whole();
    budgets_.enter(inputs);
    if (only_observes()) {
      inputs.only_watched = model::Reason::kStateByManager;
      return inputs;
    }
    auto held = contests_.look(node);
    inputs.only_watched = held.reason;
    inputs.watched_why = std::move(held.why);
    inputs.watched_again_after = held.again_after;
    inputs.objects_left = object_contests_.left(node);
    return inputs;
  }

  Standing standing_of(const kube::Node& node) {
    policy::SoldNow sold;
    const auto pods = pods_.by_index(kPodsByNode, std::string(node.meta.name));
    sold = sold_on(pods, node, kube::to_node_snapshot(node, {}, nullptr, nullptr).snapshot);
    return stand(node, settings_.for_node(node).tidemark, &policy::PoolModes::capacity, standing_inputs(node), sold,
                 loop_.clock().wall());
  }

  // Whether the node's NodeSLO, or NodeMetric, stays as it is.
  bool specs_held(const kube::Node& node, policy::Mode policy::PoolModes::* mode) {
    return !stand(node, settings_.for_node(node).tidemark, mode, standing_inputs(node), {}, loop_.clock().wall())
                .writes();
  }

  OvercommitHooks overcommit_hooks() {
    return {[this](const kube::Node& node) { return standing_inputs(node); },
            [this] { return &waiting_.state(); },
            [this] { return only_observes() || may_write(); },
            [this](const model::NodeName& node, const model::ExtendedResources& amounts) {
              contests_.before_write(node, amounts);
            },
            [this](const model::NodeName& node, WriteEnd end) {
              if (end == WriteEnd::kUnknown) return contests_.lost_write(node);
              contests_.after_write(node, end == WriteEnd::kDone);
            },
            [this](const kube::Node& node) { return specs_.told(node); },
            [this](std::string_view workload) { return profiles_.expected(workload); },
            &least_,
            &reclaims_,
            [this](std::string_view node) { return evictions_.evicted_last(node); }};
  }

  const policy::ProfileSettings& profile_settings() const { return settings_.newest().tidemark.profiles; }
  ProfilesContext profiles_context(kube::Client& client) {
    return {loop_,
            client,
            recorder_,
            metrics_,
            leadership(),
            pods_,
            [this]() -> const policy::ProfileSettings& { return profile_settings(); },
            options_.config_namespace,
            write_limit(options_)};
  }
  RecommenderContext recommender_context(kube::Client& client) {
    return {loop_,
            client,
            client,
            metrics_,
            [this] { return may_write(); },
            pods_,
            profiles_.book(),
            [this] { return profiles_.all_read(); },
            [this]() -> const policy::ProfileSettings& { return profile_settings(); },
            write_limit(options_)};
  }

  ContestContext contest_context(kube::Client& client) {
    return {client,
            recorder_,
            nodes_,
            [this] { return may_write(); },
            [this](const kube::Node& node) { return settings_.pool_of(node).name; },
            [this](const std::string& node) { look_at(node); },
            [this] { enqueue_all(); },
            options_.contest};
  }

  ObjectContestContext object_contest_context(kube::Client& client) {
    auto of_amounts = contest_context(client);
    return {of_amounts.reader,
            of_amounts.recorder,
            of_amounts.nodes,
            std::move(of_amounts.leading),
            std::move(of_amounts.pool_of),
            std::move(of_amounts.look_at),
            std::move(of_amounts.look_at_all),
            of_amounts.config};
  }

  StateContext state_context(kube::Client& client) {
    return {client,
            recorder_,
            interner_,
            nodes_,
            [this](const kube::Node& node) { return standing_of(node); },
            [this] { return may_write(); },
            [this] { return only_observes() || may_write(); },
            options_.queries_per_second * kStateBudgetShare,
            write_limit(options_)};
  }

  NodeSpecsOptions specs_options() {
    return {options_.queries_per_second,
            options_.query_burst,
            options_.workers,
            write_limit(options_),
            [this] { return may_write(); },
            options_.controllers.node_slo,
            options_.controllers.node_metric,
            [this](const kube::Node& node, policy::Mode policy::PoolModes::* mode) { return specs_held(node, mode); },
            [this] { return orders_.overrides(); },
            &recorder_,
            [this](const kube::Node& node) {
              if (node.meta.annotations.get(model::kConfigHashAnnotation) != settings_.for_node(node).hash) {
                queue_.add(std::string(node.meta.name));
              }
            },
            [this](const kube::Node& node) {
              return policy::KnownTold{grants_.told(node), reclaims_.of(node.meta.name.view())};
            },
            &object_contests_};
  }

  HistoryContext history_context(kube::Client& client) {
    return {loop_, client, client, recorder_, metrics_, leadership(), options_.config_namespace, write_limit(options_)};
  }

  ForecastContext forecast_context(kube::Client& client) {
    return {loop_, history_context(client), [this] { return forecast_pools(nodes_, settings_); },
            [this] {
              std::map<std::string, OnlineUse, std::less<>> use;
              for (const auto& [pool, permille] : controller_.figures().online_permille()) {
                use.emplace(pool, OnlineUse{permille.cpu, permille.memory});
              }
              return use;
            },
            [this] { return orders_.overrides(); }};
  }

  EvictionContext eviction_context(kube::Client& client) {
    return {.loop = loop_,
            .reader = client,
            .watcher = client,
            .interner = interner_,
            .metrics = metrics_,
            .nodes = nodes_,
            .pool_of = [this](const kube::Node& node) { return settings_.pool_of(node).name; },
            .known_class =
                [this](const kube::Node& node, std::string_view name) {
                  const auto& classes = settings_.for_node(node).tidemark.classes;
                  return std::ranges::find(classes, name, &policy::WorkClass::name) != classes.end();
                },
            .class_off = [this](const kube::Node& node,
                                std::string_view name) { return class_is_off(node, name, loop_.clock().wall()); },
            .shows = [this] { return only_observes() || may_write(); },
            .evicted = [this](const kube::Node& node, policy::LedgerSide side) { tell_back_off(node, side); }};
  }

  void tell_back_off(const kube::Node& node, policy::LedgerSide side) {
    queue_.add(std::string(node.meta.name));
    const policy::Pool& pool = settings_.pool_of(node);
    const base::Duration pause = policy::back_off_of(pool);
    if (pause == base::Duration(0) || !may_write()) return;
    const bool yarn = side == policy::LedgerSide::kYarn;
    recorder_.record({"v1", "Node", "", std::string(node.meta.name), std::string(node.meta.uid)},
                     kube::EventSeverity::kNormal, yarn ? kYarnBacksOffEvent : kBacksOffEvent,
                     base::cat(model::reason_sentence(model::Reason::kBudgetBackOff), " (work of ",
                               yarn ? "YARN" : "Kubernetes", "; ",
                               std::chrono::ceil<std::chrono::seconds>(pause).count(), " s in pool ", pool.name, ")"));
  }

  BudgetContext budget_context(kube::Client& client) {
    // Of nodes that no roll-out treats first.
    const auto in_force = [this]() -> const Revision& { return settings_.for_node(model::NodeName()); };
    return {.loop = loop_,
            .reader = client,
            .watcher = client,
            .writer = client,
            .recorder = recorder_,
            .interner = interner_,
            .metrics = metrics_,
            .evictions = evictions_,
            .config = [in_force]() -> const policy::TidemarkConfig& { return in_force().tidemark; },
            .asked_for = [in_force] { return in_force().texts.tidemark.has_value(); },
            .leading = [this] { return may_write(); },
            .on_change = [this] { enqueue_all(); },
            .config_namespace = options_.config_namespace,
            .write_limit = write_limit(options_)};
  }

  EvictionLimitsContext limits_context() {
    return {.clock = loop_.clock(),
            .interner = interner_,
            .book = [this]() -> const policy::EvictionBook& { return evictions_.book(); },
            .state = [this]() -> const policy::BudgetState& { return budgets_.state(); },
            .pool_of = [this](std::string_view name, std::string_view work_class) -> std::optional<policy::BudgetPool> {
              const kube::Node* node = nodes_.find({"", std::string(name)});
              if (node == nullptr || !settings_.for_node(model::NodeName()).texts.tidemark) return std::nullopt;
              if (class_is_off(*node, work_class, loop_.clock().wall())) return std::nullopt;
              const policy::Pool& pool = settings_.pool_of(*node);
              return policy::BudgetPool{pool.name, pool.budget};
            }};
  }

  GrantContext grant_context() {
    return {.loop = loop_,
            .nodes = nodes_,
            .metrics = metrics_,
            .pool_of = [this](const kube::Node& node) -> const policy::Pool& { return settings_.pool_of(node); },
            .asked_for = [this] { return settings_.for_node(model::NodeName()).texts.tidemark.has_value(); },
            .leading = [this] { return may_write(); },
            .synced = [this] { return all_synced_.is_set() && specs_.slos().synced(); },
            .carried =
                [this](const std::function<void(const std::string&, const policy::NodeGrant&)>& each) {
                  specs_.slos().for_each([&](const kube::ObjectKey& key, const NodeSloProjection& slo) {
                    if (slo.told.grant) each(key.name, *slo.told.grant);
                  });
                },
            .look_at = [this](const std::string& node) { specs_.look_at(node); }};
  }

  SettingsContext settings_context(kube::Client& client) {
    return {.loop = loop_,
            .reader = client,
            .watcher = client,
            .writer = client,
            .recorder = recorder_,
            .interner = interner_,
            .metrics = metrics_,
            .nodes = &nodes_,
            .evictions = &evictions_,
            .leading = [this] { return may_write(); },
            .writes = [this](const kube::Node& node) { return !specs_held(node, &policy::PoolModes::capacity); },
            .config_namespace = options_.config_namespace,
            .config_name = options_.config_name,
            .write_limit = write_limit(options_),
            .zones = options_.zones};
  }

  Leadership leadership() {
    return {[this] { return may_write(); },
            [this]() -> std::optional<std::int64_t> {
              if (elector_ == nullptr) return std::nullopt;
              return elector_->epoch();
            },
            [this](std::int64_t seen) {
              if (elector_ != nullptr) elector_->raise_epoch(seen);
            }};
  }

  void subscribe() {
    nodes_.subscribe([this](const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after) {
      const bool marked = after != nullptr && mark_changed(before, *after);
      contests_.node_changed(key.name, before, after);
      evictions_.node_changed(before, after);
      object_contests_.node_changed(key.name, before, after);
      queue_.add(key.name, marked ? kube::WorkQueue::Urgency::kUrgent : workers_.urgency_of(key.name));
      if (state_may_change(before, after)) states_.node_changed(key.name);
      if (marked) specs_.look_at(key.name);
      if (after == nullptr) zones_.forget_writes_of(model::NodeName(key.name));
    });
    pods_.subscribe([this](const kube::ObjectKey& key, const PodProjection* before, const PodProjection* after) {
      if (before == nullptr || after == nullptr) waiting_.bound(key, after);
      evictions_.running_changed(before == nullptr ? nullptr : before->end.get(),
                                 after == nullptr ? nullptr : after->end.get(), !pods_.synced());
      // Draining is over when the last of what is sold ends.
      if (before != nullptr && before->sold) states_.look_at(std::string(before->node_name));
      if (before != nullptr && !before->node_name.empty()) queue_.add(std::string(before->node_name));
      if (after != nullptr && !after->node_name.empty()) queue_.add(std::string(after->node_name));
    });
    node_metrics_.subscribe(
        [this](const kube::ObjectKey& key, const kube::NodeMetric* before, const kube::NodeMetric* after) {
          profiles_.metric_changed(before, after);
          if (after == nullptr) {
            controller_.forget_writes_of(model::NodeName(key.name));
            zones_.forget_writes_of(model::NodeName(key.name));
          }
          queue_.add(key.name);
        });
    topologies_.subscribe(
        [this](const kube::ObjectKey& key, const kube::NodeResourceTopology*, const kube::NodeResourceTopology*) {
          queue_.add(key.name, workers_.urgency_of(key.name));
        });
    settings_.subscribe([this](const SettingsChange& change) {
      profiles_.look();
      grants_.look();
      if (change.node) {
        look_at(change.node->value);
      } else {
        enqueue_all();
      }
    });
  }

  net::Task<void> wait_for_caches() {
    for (auto* core : {&nodes_.core(), &pods_.core(), &node_metrics_.core(), &topologies_.core()}) {
      while (!co_await core->wait_synced(std::chrono::minutes(1))) {
        log_.warn("waiting for the API server", {{"missing", not_ready()}});
      }
    }
    while (!co_await settings_.wait_read(std::chrono::minutes(1))) {
      log_.warn("waiting for the API server", {{"missing", not_ready()}});
    }
    co_await orders_.wait_taken();
    if (may_write()) {  // whoever led before the nodes were known found nothing to take over
      contests_.take_over();
      object_contests_.take_over();
    }
    object_contests_.begin();
    specs_.look_at_all();
    forecasts_.start();
    least_.start();
    co_await budgets_.begin();
    log_.info(
        "caches filled",
        {{"nodes", nodes_.core().size()}, {"pods", pods_.core().size()}, {"nodemetrics", node_metrics_.core().size()}});
    all_synced_.set();
    grants_.look();
  }

  void enqueue_all() {
    nodes_.for_each([this](const kube::ObjectKey& key, const kube::Node&) { look_at(key.name); });
  }
  void look_at(const std::string& node) {
    queue_.add(node);
    states_.look_at(node);
    specs_.look_at(node);
  }

  net::Task<void> work_on_states() {
    co_await all_synced_.wait();
    co_await states_.work();
  }

  // How much waits counts in class-aware ledgers alone.
  void look_at_ledgers(bool class_aware) {
    nodes_.for_each([this, class_aware](const kube::ObjectKey& key, const kube::Node& node) {
      const policy::LedgerConfig& ledger = settings_.pool_of(node).ledger;
      if (ledger.class_aware || (!class_aware && ledger != policy::LedgerConfig())) queue_.add(key.name);
    });
  }

  net::Task<void> look_again() {
    while (true) {
      co_await loop_.sleep(options_.sync_period);
      enqueue_all();
    }
  }

  net::Task<void> work(kube::WorkQueue::Urgency least) {
    co_await all_synced_.wait();
    co_await workers_.work(least);
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  ManagerOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<PodProjection> pods_;
  kube::Informer<kube::NodeMetric> node_metrics_;
  kube::Informer<kube::NodeResourceTopology> topologies_;
  kube::WorkQueue queue_;
  kube::EventRecorder recorder_;
  EvictionWatch evictions_;
  Settings settings_;
  WaitingPods waiting_;
  BudgetController budgets_;
  EvictionLimits limits_;
  StateSource orders_;
  Contests contests_;
  ObjectContests object_contests_;
  StateController states_;
  WriteLanes lanes_;
  TopologyController zones_;
  DecisionJournal journal_;
  LeastOffers least_;
  Reclaims reclaims_;
  OvercommitController controller_;
  CapacityWorkers workers_;
  ForecastController forecasts_;
  NodeSpecs specs_;
  Profiles profiles_;
  Recommender recommender_;
  NodeGrants grants_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::unique_ptr<Webhooks> webhooks_;  // null where they are off
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> health_;
  bool draining_ = false;
  net::Event all_synced_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

kube::ClientConfig election_client_config() {
  kube::ClientConfig config;
  config.queries_per_second = 10;
  config.burst = 10;
  config.user_agent = "tidemark-manager-election";
  return config;
}

Result<std::unique_ptr<Manager>> Manager::make(net::EventLoop& loop, kube::Client& client, kube::Client& election,
                                               base::Log log, base::Registry& metrics, base::Random random,
                                               ManagerOptions options, std::string identity) {
  auto manager = std::make_unique<RunningManager>(loop, client, std::move(log), metrics, random.fork(),
                                                  std::move(options), identity);
  TM_TRY_VOID(manager->prepare(client, election, random.fork(), std::move(identity)));
  return manager;
}

}  // namespace tidemark::manager
