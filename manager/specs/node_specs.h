// Connects the parts that write NodeSLO and NodeMetric specs: the cache of NodeSLOs, a queue and workers per kind, and
// the events that trigger a pass.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/settings/settings.h"
#include "manager/shared.h"
#include "manager/specs/node_objects.h"
#include "manager/specs/node_slo.h"
#include "net/loop.h"

namespace tidemark::manager {

// Wide, because the manager hands over its parts here, once.
struct NodeSpecsOptions {
  double queries_per_second = 30;  // of the whole manager
  std::int64_t query_burst = 50;
  std::int64_t workers = 4;       // of each kind
  base::Duration write_limit{0};  // of one request
  std::function<bool()> leading;
  bool node_slos = true;  // what is off is neither written nor taken away
  bool node_metrics = true;
  // Whether a node's objects stay as they are, by what its pool's settings say of this part. Null: never.
  std::function<bool(const kube::Node&, model::Mode model::PoolModes::*)> held;
  std::function<const policy::state::Overrides*()> overrides;  // of the water line; null, as its answer: none
  kube::EventRecorder* recorder = nullptr;
  // Called when the node's NodeSLO matches the settings; may be null.
  std::function<void(const kube::Node&)> on_told;
  // Content of a NodeSLO besides the settings (decide_node_slo); may be null.
  std::function<policy::settings::KnownTold(const kube::Node&)> told;
  Contests* contests = nullptr;  // null: second writers are not tracked
};

class NodeSpecs {
 public:
  // The share of the request budget that these writes may have; what a node may sell goes by the rest.
  static constexpr double kBudgetShare = 0.5;

  // Subscribes to what it is given: before those run.
  NodeSpecs(const Shared& shared, kube::Informer<kube::Node>& nodes, kube::Informer<kube::NodeMetric>& metrics,
            Settings& settings, base::Random random, NodeSpecsOptions options);

  void start();  // until destroyed
  void look_at(const std::string& node);
  void look_at_all();  // all nodes, and all objects whose node may be gone
  std::string not_ready() const;
  const kube::Informer<NodeSloProjection>& slos() const { return slos_; }
  // Whether the node's NodeSLO says what the settings say, as far as this manager keeps it.
  bool told(const kube::Node& node) const;
  void leave();  // another one leads: what only the leader shows is taken away
  std::array<const kube::WorkQueue*, 2> queues() const { return {&slo_writes_.queue(), &metric_writes_.queue()}; }
  bool writing() const { return slo_writes_.writing() + metric_writes_.writing() > 0; }

 private:
  const Revision& settings_of(const model::NodeName& node) const;  // until the loop runs again
  bool held(const kube::Node* node, model::Mode model::PoolModes::* mode) const;
  NodeSloDecision slo_decision(const kube::Node* node, const kube::ObjectKey& key) const;
  NodeObjectPlan decide_slo(const model::NodeName& node);
  NodeObjectPlan decide_metric(const model::NodeName& node);
  void forget_own_settings(const std::string& name);
  void show_bad_settings();
  void trouble_of_own_settings(const std::string& name, const kube::Node* node, const NodeSloDecision& decision);
  void node_changed(const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after);
  void count_parse(std::string_view metric, std::string_view help, std::string_view what, bool succeeded);
  net::Task<void> start_slo_workers();
  net::Task<void> start_metric_workers();
  net::Task<void> wait_for_nodes();

  net::EventLoop& loop_;
  kube::Informer<kube::Node>& nodes_;
  kube::Informer<kube::NodeMetric>& metrics_;
  Settings& settings_;
  base::Log log_;
  base::Registry& registry_;
  NodeSpecsOptions options_;
  mutable LineMemos memos_;
  kube::Informer<NodeSloProjection> slos_;
  std::map<std::string, std::string, std::less<>> bad_settings_;  // what is wrong with those of a node
  base::TokenBucket budget_;
  NodeObjects slo_writes_;
  NodeObjects metric_writes_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
