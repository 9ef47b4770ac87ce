// Carries out overcommit plans: reads the caches, asks the policy, writes the node where it is worth it.
//
// Level, not edge: reconcile(node) looks at everything there is about the node now. It writes only while this process
// leads, and each write holds only for the revision it was decided on (manager/capacity/capacity_patch.h). So that
// somebody who writes the node all the time cannot keep us out, a write has its place in the request budget before it
// is decided (manager/capacity/write_lanes.h).
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
#include "model/names.h"
#include "net/loop.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/writes.h"

namespace tidemark::manager {

inline constexpr base::Duration kCapacityWriteLimit = std::chrono::seconds(4);

inline constexpr std::string_view kPodsByNode = "node";  // the index that the pod cache must have

struct OvercommitCaches {
  const kube::Informer<kube::Node>& nodes;
  const kube::Informer<PodProjection>& pods;
  const kube::Informer<kube::NodeMetric>& metrics;
  const kube::Informer<kube::NodeResourceTopology>& topologies;

  // False while a budget keeps objects out, or at an old version: what is missing could only make an offer smaller, and
  // a node that drains may have sold more than is seen.
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
  // What a node's state rests on beside the node (manager/state/standing.h).
  std::function<StandingInputs(const kube::Node&)> standing;
  std::function<const policy::Waiting*()> waiting;  // batch pods that are not bound
  std::function<bool()> shows;  // whether what is by pool is told in metrics: by one of several replicas
  // Around each write of a node's amounts, so that what others write can be told from what we do.
  std::function<void(const model::NodeName&, const model::ExtendedResources&)> before_write;
  std::function<void(const model::NodeName&, WriteEnd end)> after_write;
  // Whether the node's NodeSLO says what the settings say: before that nobody is told that they are in force.
  std::function<bool(const kube::Node&)> told;
  std::function<kube::Unheard()> unheard;  // how long no report could come (manager/capacity/no_reports.h)
  ExpectedUse expected;                    // what pods that warm up are about to use
  LeastOffers* least = nullptr;            // what nodes could offer lately; null: nobody learns it
  Reclaims* reclaims = nullptr;            // what work is to be given back; null: nobody is told
  // When offline work of a node was evicted, last; null: nobody looks.
  std::function<policy::LastEvicted(std::string_view node)> evicted = {};
};

class OvercommitController {
 public:
  OvercommitController(net::EventLoop& loop, const WriteLanes& lanes, OvercommitCaches caches, const Settings& settings,
                       Leadership leadership, kube::Interner& interner, base::Log log, base::Registry& metrics,
                       TopologyController& zones, DecisionJournal& journal, OvercommitHooks hooks,
                       policy::PluginSet plugins = {}, base::Duration write_limit = kCapacityWriteLimit);

  enum class Done {
    kNothing,    // the node is gone, or nothing is known of the configuration yet
    kUnchanged,  // what the node carries is right
    kWritten,
    kNotLeading,
    kObserved,    // decided and shown
    kSuperseded,  // the node carries a higher epoch: left alone until the lease shows whose it is
    kStepsBack,   // it wants a write that takes nothing away, and others wait for the budget
  };
  struct Outcome {
    Done done = Done::kNothing;
    // When time alone changes the answer (the metric turns stale, the node is due for a refresh): look again after
    // this.
    std::optional<base::Duration> again_after;
  };
  // The node first, then its zones. `place`: for one write; where there is none, one that takes nothing away does not
  // wait for it, nor take one before others who do.
  net::Task<Result<Outcome>> reconcile(model::NodeName node_name, kube::Place place = {}, bool others_wait = false);
  // For reconcile(); waits, however long.
  net::Task<Result<kube::Place>> place_for_growth() { return lanes_.routine.writer.take_place(kPlaceLimit); }

  // Whether the node or its zones carry something else than what this process left them with: that goes ahead.
  bool needs_repair(const model::NodeName& node_name) const;
  const Figures& figures() const { return figures_; }
  void forget_writes_of(const model::NodeName& node_name) { writes_.forget(node_name); }
  // Before needs_repair() is asked of it.
  void node_changed(const kube::Node* before, const kube::Node* after);
  bool writing() const { return writing_ > 0; }

 private:
  struct Decision {
    NodeDecision node;
    policy::WriteDecision write{};
    std::string config_hash{};          // of what it was decided by
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
  // `wrote`: the node carries what was decided.
  static Settled settled(Done done, const Decision& decision, bool wrote = false);
  net::Task<Result<Settled>> settle_node(model::NodeName node_name, kube::Place& place, bool others_wait);
  void observe(const model::NodeName& node, const Decision& decision);
  void count_plugins(const NodeDecision& decision);
  void count_reconcile(std::string_view what, bool succeeded);
  void learn(const model::NodeName& node_name, const NodeDecision& decision);
  policy::OfferState remembered(const model::NodeName& node_name, const kube::Node& node,
                                const Revision& revision) const;
  void remember(const model::NodeName& node_name, const policy::OfferState& state);
  void take_step_back(const model::NodeName& node_name, const policy::MotionState& before);
  bool zones_lose(const kube::Node& node, const Decision& decision) const;
  // Of Kubernetes or of YARN; or what it does waits for nothing.
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
  policy::PluginSet plugins_;
  OwnWrites writes_;
  Figures figures_;
  ObservedSums observed_;
  NodeNotes notes_;
  mutable policy::LineMemo lines_;
  struct Before {
    policy::OfferState state;
    base::Duration unheard;  // in all, by then
  };
  std::unordered_map<model::NodeName, Before> offers_;  // what was decided of each before
  base::Duration write_limit_;
  std::size_t writing_ = 0;
  base::Registry& metrics_;
  base::Counter& conflicts_;
  base::Histogram& decision_seconds_;
  std::array<base::Counter*, 16> plugin_runs_{};  // by plugin, reset or not, and how it ended; made when there is one
};

}  // namespace tidemark::manager
