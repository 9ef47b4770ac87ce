// Carries out overcommit plans: reads the caches, calls the policy, and writes the node if the change is worth it.
//
// Level-triggered: reconcile(node) reads everything about the node. It writes only while this process leads, and each
// write holds only for the revision it was decided on (manager/capacity/capacity_patch.h). A write gets its place in
// the request budget before it is decided (manager/capacity/write_lanes.h). Otherwise a program that writes the node
// often could block our writes.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/silence.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/figures.h"
#include "manager/capacity/least_offers.h"
#include "manager/capacity/node_notes.h"
#include "manager/capacity/observed_sums.h"
#include "manager/capacity/own_writes.h"
#include "manager/capacity/pod_projection.h"
#include "manager/capacity/reclaims.h"
#include "manager/capacity/topology_controller.h"
#include "manager/capacity/write_lanes.h"
#include "manager/leadership.h"
#include "manager/record/decision_journal.h"
#include "manager/settings/settings.h"
#include "manager/shared.h"
#include "model/names.h"
#include "net/loop.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/writes.h"

namespace tidemark::manager {

inline constexpr base::Duration kCapacityWriteLimit = std::chrono::seconds(4);

inline constexpr std::string_view kPodsByNode = "node";  // the index that the pod cache must have

struct OvercommitCaches {
  const kube::Informer<kube::Node>& nodes;
  const kube::Informer<PodProjection>& pods;
  const kube::Informer<kube::NodeMetric>& metrics;
  const kube::Informer<kube::NodeResourceTopology>& topologies;

  // False while a cache budget keeps objects out or at an old version. Missing objects could only make an offer
  // smaller, and a draining node may have sold more than is known.
  bool whole() const {
    return !nodes.core().over_budget() && !pods.core().over_budget() && !metrics.core().over_budget() &&
           !topologies.core().over_budget();
  }
};

enum class WriteEnd : std::uint8_t {
  kDone,
  kRefused,
  kUnknown,  // no answer came: it may be there, now or later
};

struct OvercommitHooks {
  // Inputs of a node's state besides the node (manager/state/node_permit.h).
  std::function<NodePermitInputs(const kube::Node&)> permit;
  std::function<const policy::sell::Waiting*()> waiting;  // batch pods that are not bound
  std::function<bool()> shows;                            // whether this replica exports the metrics by pool
  // Called around each write of a node's amounts, so that writes of other programs can be distinguished from ours.
  std::function<void(const model::NodeName&, const model::ExtendedResources&)> before_write;
  std::function<void(const model::NodeName&, WriteEnd end)> after_write;
  // Whether the NodeSLO of the node matches the settings. The settings count as in force only after that.
  std::function<bool(const kube::Node&)> told;
  std::function<kube::Unheard()> unheard;  // how long no report could arrive (manager/capacity/no_reports.h)
  // Earlier observations that a decision uses.
  struct Learned {
    ExpectedUse expected;          // expected use of pods that warm up
    LeastOffers* least = nullptr;  // minimum offers of nodes lately; null: not learned
    // When offline work of a node was last evicted; null: not tracked.
    std::function<policy::sell::LastEvicted(std::string_view node)> evicted = {};
  };
  Learned learned = {};
  Reclaims* reclaims = nullptr;  // reclaims of work; null: not published
};

struct OvercommitContext {
  const WriteLanes& lanes;
  OvercommitCaches caches;
  const Settings& settings;
  Leadership leadership;
  TopologyController& zones;
  DecisionJournal& journal;
  policy::sell::PluginSet plugins = {};
  base::Duration write_limit = kCapacityWriteLimit;
};

class OvercommitController {
 public:
  OvercommitController(const Shared& shared, OvercommitContext context, OvercommitHooks hooks);

  enum class Done {
    kNothing,    // the node is gone, or no configuration is known yet
    kUnchanged,  // the node is up to date
    kWritten,
    kNotLeading,
    kObserved,    // decided and shown
    kSuperseded,  // the node has a higher epoch: left alone until the Lease shows the leader
    kStepsBack,   // the write takes nothing away, and others wait for the budget
  };
  struct Outcome {
    Done done = Done::kNothing;
    // When time alone changes the answer (the metric turns stale, a refresh is due).
    std::optional<base::Duration> again_after;
  };
  // Writes the node first, then its zones. `place`: the place for one write. Without it, a write that takes nothing
  // away does not wait for a place and does not overtake waiting writes.
  net::Task<Result<Outcome>> reconcile(model::NodeName node_name, kube::Place place = {}, bool others_wait = false);
  // Place for reconcile(); waits without limit.
  net::Task<Result<kube::Place>> place_for_growth() { return lanes_.routine.writer.take_place(kPlaceLimit); }

  // Whether the node or its zones differ from the last write of this process; repairs go first.
  bool needs_repair(const model::NodeName& node_name) const;
  const Figures& figures() const { return figures_; }
  void forget_writes_of(const model::NodeName& node_name) { writes_.forget(node_name); }
  // Call before needs_repair().
  void node_changed(const kube::Node* before, const kube::Node* after);
  bool writing() const { return writing_ > 0; }

 private:
  struct Decision {
    NodeDecision node;
    policy::sell::WriteDecision write{};
    std::string config_hash{};          // of the settings used
    bool told = true;                   // and all of that is in force on the node
    model::Resources batch_requests{};  // of the pods on the node
    std::optional<base::Duration> again_after{};
  };
  Decision decide(const model::NodeName& node_name, const kube::Node& node, const Revision& revision,
                  bool repair) const;
  struct Settled {
    Outcome outcome;
    std::optional<TopologyController::Wanted> zones = {};  // nullopt: they are not ours to write
  };
  // `wrote`: the node carries the decided values.
  static Settled settled(Done done, const Decision& decision, bool wrote = false);
  net::Task<Result<Settled>> settle_node(model::NodeName node_name, kube::Place& place, bool others_wait);
  void observe(const model::NodeName& node, const Decision& decision);
  void count_plugins(const NodeDecision& decision);
  void count_reconcile(std::string_view what, bool succeeded);
  void learn(const model::NodeName& node_name, const NodeDecision& decision);
  policy::sell::OfferState remembered(const model::NodeName& node_name, const kube::Node& node,
                                      const Revision& revision) const;
  void remember(const model::NodeName& node_name, const policy::sell::OfferState& state);
  void take_step_back(const model::NodeName& node_name, const policy::sell::MotionState& before);
  bool zones_lose(const kube::Node& node, const Decision& decision) const;
  // Whether the write takes capacity from Kubernetes or YARN, or is otherwise exempt from waiting.
  static bool takes_away(const kube::Node& node, const Decision& decision);
  void forget(const model::NodeName& node_name);
  CapacityWrite write_of(const kube::Node& node, const Decision& decision, std::int64_t epoch) const;
  net::Task<Result<kube::Node>> read_again(model::NodeName node_name, bool ahead);
  LeftAs left_as(const kube::Node& node) const;

  net::EventLoop& loop_;
  WriteLanes lanes_;
  OvercommitCaches caches_;
  const Settings& settings_;
  Leadership leadership_;
  kube::Interner& interner_;
  base::Log log_;
  TopologyController& zones_;
  DecisionJournal& journal_;
  OvercommitHooks hooks_;
  policy::sell::PluginSet plugins_;
  OwnWrites writes_;
  Figures figures_;
  ObservedSums observed_;
  NodeNotes notes_;
  mutable policy::waterline::LineMemo lines_;
  struct Before {
    policy::sell::OfferState state;
    base::Duration unheard;  // in all, by then
  };
  std::unordered_map<model::NodeName, Before> offers_;  // previous decision per node
  base::Duration write_limit_;
  std::size_t writing_ = 0;
  base::Registry& metrics_;
  base::Counter& conflicts_;
  base::Histogram& decision_seconds_;
  std::array<base::Counter*, 16> plugin_runs_{};  // by plugin, reset or not, and result; created on first use
};

}  // namespace tidemark::manager
