#include "manager/manager.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "manager/capacity/decide.h"
#include "manager/running_manager.h"
#include "model/annotations.h"
#include "model/names.h"
#include "model/reason.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kComponent = "tidemark-manager";
constexpr base::Duration kDrainLimit = std::chrono::seconds(10);
constexpr int kRepairWorkers = 2;  // beside those that may all be waiting for a place in the write budget
constexpr std::int64_t kStateWorkers = 2;
constexpr base::Duration kSilenceLook = std::chrono::seconds(10);
constexpr base::Duration kJournalDrainLimit = std::chrono::seconds(2);

kube::InformerConfig informer(const kube::Resource& resource) {
  kube::InformerConfig config;
  config.resource = resource;
  return config;
}

// A pod that ended holds nothing, and one without a node concerns none.
kube::InformerConfig pod_informer() {
  kube::InformerConfig config = informer(kube::kPods);
  // By far the longest list, and each page is a read of the server's in etcd.
  config.page_size = 1000;
  config.read_ahead = true;
  config.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  return config;
}

// A cluster without NUMA reporting has no such kind.
kube::InformerConfig topology_informer() {
  kube::InformerConfig config = informer(kube::kNodeResourceTopologies);
  config.may_be_absent = true;
  return config;
}

}  // namespace

RunningManager::Cached::Cached(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                               base::Registry& metrics, base::Random& random)
    : interner(metrics, "manager"),
      nodes({loop, client, client, log, metrics, random.fork()}, informer(kube::kNodes),
            [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner); }),
      pods({loop, client, client, log, metrics, random.fork()}, pod_informer(),
           [this](std::string_view bytes) { return decode_pod_projection(bytes, interner); }),
      node_metrics(
          {loop, client, client, log, metrics, random.fork()}, informer(kube::kNodeMetrics),
          [this](std::string_view bytes) { return kube::decode_node_metric(bytes, metric_fields(), interner); }),
      topologies({loop, client, client, log, metrics, random.fork()}, topology_informer(),
                 [this](std::string_view bytes) {
                   return kube::decode_node_resource_topology(bytes, topology_fields(), interner);
                 }) {
  pods.add_index(std::string(kPodsByNode), [](const PodProjection& pod) {
    return pod.node_name.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(pod.node_name)};
  });
}

RunningManager::RunningManager(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                               base::Random random, ManagerOptions options)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      metrics_(metrics),
      options_(std::move(options)),
      cached_(loop, client, log_, metrics, random),
      queue_(loop, metrics, "overcommit", random.fork()),
      recorder_(loop, client, log_, metrics, std::string(kComponent)),
      shared_{loop, client, client, client, recorder_, cached_.interner, log_, metrics},
      settings_(shared_, settings_context(), random.fork()),
      waiting_(
          shared_, random.fork(),
          [this]() -> const policy::waterline::TidemarkConfig& { return settings_.newest().tidemark; },
          [this](WaitingPods::Change change) { look_at_ledgers(change == WaitingPods::Change::kHowMuch); }),
      evictions_{EvictionWatch(shared_, eviction_context(), random.fork()),
                 BudgetController(shared_, budget_context(), random.fork()), EvictionLimits(limits_context())},
      state_{StateSource(
                 shared_, cached_.nodes, random.fork(), options_.config_namespace, [this] { return may_write(); },
                 [this] { enqueue_all(); }),
             Contests(loop, contest_context(client), log_, metrics),
             StateController(loop, state_context(client), log_, metrics, random.fork())},
      capacity_{
          WriteLanes(client),
          TopologyController(shared_, capacity_.lanes, cached_.topologies, leadership(), write_limit(options_),
                             &state_.contests),
          DecisionJournal(loop, log_, metrics, options_.journal, options_.lease.identity),
          NoReports(),
          LeastOffers(
              history_context(client), [this] { return has_motion(settings_); },
              [this](const model::NodeName& node) { return cached_.nodes.find({"", node.value}) != nullptr; }, log_),
          Reclaims(metrics, recorder_, specs_),
          OvercommitController(shared_, overcommit_context(), overcommit_hooks()),
          CapacityWorkers(loop, queue_, capacity_.controller, log_, metrics, options_.lease.retry_period),
          PoolLines(PoolLinesContext{loop_, cached_.nodes, settings_, metrics_, [this] { return may_write(); },
                                     [this] { return state_.orders.overrides(); }})},
      specs_(shared_, cached_.nodes, cached_.node_metrics, settings_, random.fork(), specs_options()),
      workloads_{Profiles(profiles_context(client), log_), Recommender(shared_, recommender_context())},
      grants_(grant_context()),
      all_synced_(loop),
      scope_(loop) {
  subscribe();
}

Result<void> RunningManager::prepare(kube::Client& client, kube::Client& election, base::Random random) {
  if (options_.leader_elect && !only_observes()) {
    TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, metrics_, random, options_.lease));
    elector_->on_change([this](bool leading) {
      settings_.leadership_changed();
      if (webhooks_) webhooks_->leadership_changed();
      capacity_.least.leadership_changed();
      grants_.look();
      if (!leading) {
        specs_.leave();
        return state_.contests.leave();
      }
      state_.contests.take_over();
      enqueue_all();
      specs_.look_at_all();
      workloads_.profiles.look();
    });
    elector_->annotate(model::kQueuesAnnotation, [this] { return queues_text(); });
  }
  if (elector_ == nullptr) {  // a single manager leads, unless it only observes
    metrics_.gauge("tidemark_leader", "1 while this process holds the lease.").set(only_observes() ? 0 : 1);
  }
  metrics_.gauge("tidemark_manager_only_observes", "1 if the whole manager only observes (--mode=observe).")
      .set(only_observes() ? 1 : 0);
  options_.webhooks.gates = webhook_gates(options_.feature_gates);
  options_.webhooks.gates.catch_up &= options_.controllers.colocation_profile;
  if (!only_observes() && options_.webhooks.mode == WebhookMode::kOn && options_.webhooks.gates.served) {
    TM_TRY(webhooks_, Webhooks::make(loop_, client, log_, metrics_, random.fork(), options_.webhooks,
                                     {options_.config_namespace, options_.config_name, options_.zones, cached_.nodes,
                                      leadership().leading,
                                      [this](std::string_view pod) { return evictions_.limits.take(pod); }}));
  }
  TM_TRY(admin_,
         net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                          {.refresh = [this] { refresh_metrics(); },
                           .offline = [this] { return may_write() ? capacity_.controller.figures().text() : ""; }}));
  TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
  return {};
}

std::string RunningManager::queues_text() const {
  std::vector<const kube::WorkQueue*> queues = {&queue_, &state_.marks.queue()};
  for (const kube::WorkQueue* of_specs : specs_.queues()) queues.push_back(of_specs);
  if (webhooks_ && webhooks_->queue() != nullptr) queues.push_back(webhooks_->queue());
  std::vector<model::ManagerQueue> out;
  for (const kube::WorkQueue* each : queues) {
    const auto load = each->load();
    auto& shown = out.emplace_back(each->name(), static_cast<std::int64_t>(load.length));
    if (!load.oldest_since) continue;
    shown.oldest_since = loop_.clock().wall() + -(loop_.clock().monotonic() - *load.oldest_since);
  }
  return model::format_queues(out);
}

void RunningManager::start() {
  scope_.spawn(cached_.nodes.run());
  scope_.spawn(cached_.pods.run());
  scope_.spawn(cached_.node_metrics.run());
  scope_.spawn(cached_.topologies.run());
  evictions_.watch.start();
  settings_.start();
  evictions_.budgets.start();
  state_.orders.start();
  capacity_.journal.start();
  specs_.start();
  workloads_.profiles.start();
  workloads_.recommender.start();
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
  scope_.spawn(capacity_.workers.serve_line());
  for (int i = 0; i < kRepairWorkers; ++i) scope_.spawn(work(kube::WorkQueue::Urgency::kUrgent));
  for (std::int64_t i = 0; i < kStateWorkers; ++i) scope_.spawn(work_on_states());
  if (options_.sync_period > base::Duration(0)) scope_.spawn(look_again());
  scope_.spawn(tell_of_silence());
}

std::string RunningManager::not_ready() const {
  if (draining_) return "on its way out";
  if (!cached_.nodes.synced()) return "nodes are not listed yet";
  if (!cached_.pods.synced()) return "pods are not listed yet";
  if (!cached_.node_metrics.synced()) return "nodemetrics are not listed yet";
  if (!cached_.topologies.synced()) return "noderesourcetopologies are not listed yet";
  if (auto missing = settings_.not_ready(); !missing.empty()) return missing;
  if (auto missing = specs_.not_ready(); !missing.empty()) return missing;
  if (webhooks_ && !webhooks_->not_ready().empty()) return webhooks_->not_ready();
  if (!state_.orders.taken()) return "tidemark-state is not read yet";
  if (!all_synced_.is_set()) return "tidemark-budgets is not read yet";
  if (!caches().whole()) return "a cache is over its budget: offers are only cut";
  return "";
}

net::Task<void> RunningManager::drain() {
  draining_ = true;
  const auto end = loop_.clock().monotonic() + kDrainLimit;
  while ((capacity_.controller.writing() || capacity_.zones.writing() || specs_.writing() || state_.marks.writing()) &&
         loop_.clock().monotonic() < end)
    co_await loop_.sleep(std::chrono::milliseconds(20));
  if (elector_) co_await elector_->release();
  co_await capacity_.journal.drain(kJournalDrainLimit);
  // Last: a successor may write meanwhile, and questions go on being answered.
  if (webhooks_) co_await webhooks_->drain();
}

base::Duration RunningManager::write_limit(const ManagerOptions& options) {
  if (!options.leader_elect) return kCapacityWriteLimit;
  return std::min<base::Duration>(kCapacityWriteLimit,
                                  (options.lease.lease_duration - options.lease.renew_deadline) * 4 / 5);
}

void RunningManager::refresh_metrics() {
  const auto wait = [this](std::string_view lane, const kube::Client& client) {
    metrics_
        .gauge("tidemark_manager_write_budget_wait_seconds", "How long a call would wait for its place now.",
               {{"component", lane}})
        .set(std::chrono::duration<double>(client.budget_wait()).count());
  };
  wait("routine", client_);
  wait("ahead", client_.ahead());
  state_.orders.refresh_metrics();
}

net::Task<void> RunningManager::wait_for_caches() {
  for (auto* core :
       {&cached_.nodes.core(), &cached_.pods.core(), &cached_.node_metrics.core(), &cached_.topologies.core()}) {
    while (!co_await core->wait_synced(std::chrono::minutes(1))) {
      log_.warn("waiting for the API server", {{"missing", not_ready()}});
    }
  }
  while (!co_await settings_.wait_read(std::chrono::minutes(1))) {
    log_.warn("waiting for the API server", {{"missing", not_ready()}});
  }
  co_await state_.orders.wait_taken();
  if (may_write())
    state_.contests.take_over();  // a leader elected before the nodes were known found nothing to take over
  state_.contests.begin();
  specs_.look_at_all();
  capacity_.lines.start();
  capacity_.least.start();
  co_await evictions_.budgets.begin();
  log_.info("caches filled", {{"nodes", cached_.nodes.core().size()},
                              {"pods", cached_.pods.core().size()},
                              {"nodemetrics", cached_.node_metrics.core().size()}});
  all_synced_.set();
  grants_.look();
}

void RunningManager::enqueue_all() {
  cached_.nodes.for_each([this](const kube::ObjectKey& key, const kube::Node&) { look_at(key.name); });
}

void RunningManager::look_at(const std::string& node) {
  queue_.add(node);
  state_.marks.look_at(node);
  specs_.look_at(node);
}

net::Task<void> RunningManager::work_on_states() {
  co_await all_synced_.wait();
  co_await state_.marks.work();
}

void RunningManager::look_at_ledgers(bool class_aware) {
  cached_.nodes.for_each([this, class_aware](const kube::ObjectKey& key, const kube::Node& node) {
    const model::LedgerConfig& ledger = settings_.pool_of(node).ledger;
    if (ledger.class_aware || (!class_aware && ledger != model::LedgerConfig())) queue_.add(key.name);
  });
}

net::Task<void> RunningManager::look_again() {
  while (true) {
    co_await loop_.sleep(options_.sync_period);
    enqueue_all();
  }
}

net::Task<void> RunningManager::tell_of_silence() {
  while (true) {
    co_await loop_.sleep(kSilenceLook);
    capacity_.journal.unheard(unheard(), loop_.clock().wall());
  }
}

net::Task<void> RunningManager::work(kube::WorkQueue::Urgency least) {
  co_await all_synced_.wait();
  co_await capacity_.workers.work(least);
}

kube::ClientConfig election_client_config() {
  kube::ClientConfig config;
  config.queries_per_second = 10;
  config.burst = 10;
  config.user_agent = "tidemark-manager-election";
  return config;
}

Result<std::unique_ptr<Manager>> Manager::make(net::EventLoop& loop, kube::Client& client, kube::Client& election,
                                               base::Log log, base::Registry& metrics, base::Random random,
                                               ManagerOptions options) {
  auto manager =
      std::make_unique<RunningManager>(loop, client, std::move(log), metrics, random.fork(), std::move(options));
  TM_TRY_VOID(manager->prepare(client, election, random.fork()));
  return manager;
}

}  // namespace tidemark::manager
