// The running manager: its parts, their connections (wiring.cc), and its life from the first list to the last write
// (manager.cc). Only these two files include it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kube/informer.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "kube/work_queue.h"
#include "manager/capacity/capacity_workers.h"
#include "manager/capacity/least_offers.h"
#include "manager/capacity/no_reports.h"
#include "manager/capacity/overcommit_controller.h"
#include "manager/capacity/pod_projection.h"
#include "manager/capacity/pool_lines.h"
#include "manager/capacity/topology_controller.h"
#include "manager/capacity/waiting_pods.h"
#include "manager/capacity/write_lanes.h"
#include "manager/evictions/budget_controller.h"
#include "manager/evictions/eviction_limits.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/evictions/node_grants.h"
#include "manager/manager.h"
#include "manager/profiles/profiles.h"
#include "manager/profiles/recommender.h"
#include "manager/settings/settings.h"
#include "manager/shared.h"
#include "manager/specs/node_specs.h"
#include "manager/state/contests.h"
#include "manager/state/state_controller.h"
#include "manager/state/state_source.h"
#include "net/admin.h"

namespace tidemark::manager {

class RunningManager final : public Manager {
 public:
  RunningManager(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                 base::Random random, ManagerOptions options);
  Result<void> prepare(kube::Client& client, kube::Client& election, base::Random random);

  void start() override;
  std::string not_ready() const override;
  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }
  std::string health_address() const override { return health_ ? health_->address() : ""; }
  net::Task<void> drain() override;

 private:
  // ---- its life ----

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }
  OvercommitCaches caches() const { return {cached_.nodes, cached_.pods, cached_.node_metrics, cached_.topologies}; }
  // A write must be over before a successor may start, which is lease_duration − renew_deadline after we stop.
  static base::Duration write_limit(const ManagerOptions& options);
  // For the annotation of the Lease.
  std::string queues_text() const;
  // Brings gauges up to date when the metrics are requested.
  void refresh_metrics();
  net::Task<void> wait_for_caches();
  void enqueue_all();
  void look_at(const std::string& node);
  net::Task<void> work_on_states();
  // How much waits counts in class-aware ledgers alone.
  void look_at_ledgers(bool class_aware);
  net::Task<void> look_again();
  net::Task<void> tell_of_silence();
  net::Task<void> work(kube::WorkQueue::Urgency least);

  // ---- what each part is given of the others ----

  // What a node's state rests on beside the node.
  NodePermitInputs node_permit_inputs(const kube::Node& node);
  NodePermit node_permit_of(const kube::Node& node);
  // Whether the node's NodeSLO, or NodeMetric, stays as it is.
  bool specs_held(const kube::Node& node, model::Mode model::PoolModes::* mode);
  const policy::waterline::ProfileSettings& profile_settings() const { return settings_.newest().tidemark.profiles; }
  kube::Unheard unheard();
  OvercommitContext overcommit_context();
  OvercommitHooks overcommit_hooks();
  ProfilesContext profiles_context(kube::Client& client);
  RecommenderContext recommender_context();
  ContestContext contest_context(kube::Client& client);
  StateContext state_context(kube::Client& client);
  NodeSpecsOptions specs_options();
  HistoryContext history_context(kube::Client& client);
  EvictionContext eviction_context();
  void tell_back_off(const kube::Node& node, policy::sell::LedgerSide side);
  BudgetContext budget_context();
  EvictionLimitsContext limits_context();
  GrantContext grant_context();
  SettingsContext settings_context();
  Leadership leadership();
  void subscribe();

  // The parts, by concern. Within each, a later one uses the earlier ones.
  struct Cached {
    Cached(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
           base::Random& random);
    kube::Interner interner;
    kube::Informer<kube::Node> nodes;
    kube::Informer<PodProjection> pods;
    kube::Informer<kube::NodeMetric> node_metrics;
    kube::Informer<kube::NodeResourceTopology> topologies;
  };
  struct Evictions {
    EvictionWatch watch;
    BudgetController budgets;
    EvictionLimits limits;
  };
  struct State {
    StateSource orders;
    Contests contests;
    StateController marks;
  };
  struct Capacity {
    WriteLanes lanes;
    TopologyController zones;
    DecisionJournal journal;
    NoReports no_reports;
    LeastOffers least;
    Reclaims reclaims;
    OvercommitController controller;
    CapacityWorkers workers;
    PoolLines lines;
  };
  struct Workloads {
    Profiles profiles;
    Recommender recommender;
  };

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  ManagerOptions options_;
  Cached cached_;
  kube::WorkQueue queue_;
  kube::EventRecorder recorder_;
  Shared shared_;
  Settings settings_;
  WaitingPods waiting_;
  Evictions evictions_;
  State state_;
  Capacity capacity_;
  NodeSpecs specs_;
  Workloads workloads_;
  NodeGrants grants_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::unique_ptr<Webhooks> webhooks_;  // null where they are off
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> health_;
  bool draining_ = false;
  net::Event all_synced_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
