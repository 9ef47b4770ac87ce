// The running operator: its parts and loops. Each YARN cluster has a loop (lanes.cc), and one loop patches nodes
// (node_loop.cc). Shared state, start and stop are in yarn_operator.cc. Internal to this directory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/leader.h"
#include "kube/recorder.h"
#include "net/admin.h"
#include "yarn_operator/agent_reclaims.h"
#include "yarn_operator/cluster_cache.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/contested.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/node_reclaim.h"
#include "yarn_operator/node_words.h"
#include "yarn_operator/operator_metrics.h"
#include "yarn_operator/preempted_containers.h"
#include "yarn_operator/reclaim_progress.h"
#include "yarn_operator/reclaim_requests.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kGather = std::chrono::milliseconds(50);  // changes within it are sent together
inline constexpr base::Duration kPatchLimit = std::chrono::seconds(4);    // as kTellLimit of cluster_link.cc

class RunningOperator final : public YarnOperator {
 public:
  RunningOperator(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters, base::Log log,
                  base::Registry& metrics, base::Random random, OperatorOptions options);
  Result<void> prepare(kube::Client& election, base::Random random);

  void start() override;
  std::string not_ready() const override;
  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }
  net::Task<void> drain() override;

 private:
  struct Lane {
    Lane(RunningOperator& of, Rim& rim, YarnCluster cluster, base::Log named, base::Random random)
        : log(named),
          link(of.loop_, rim.workers, std::move(cluster), std::move(named), of.registry_, random,
               {rim.audit, rim.actor}),
          wake(of.loop_),
          asked(of.loop_),
          agent_reclaims(
              of.loop_, link, [&of] { return of.may_write(); },
              [&of, this](const AgentReclaim& reclaim, const model::ReclaimAnswer& answer) {
                of.note_answer(*this, reclaim, answer);
              }) {}
    base::Log log;
    ClusterLink link;
    net::Event wake;
    net::Event asked;  // an agent may want to reclaim
    AgentReclaims agent_reclaims;
    bool away = false;
    bool closed = false;         // no node has room for the smallest container
    bool ignores_cpu = false;    // its scheduler counts only memory
    bool waits_in_vain = false;  // a container waits that fits on no node
    std::size_t silent = 0;      // nodes
    ContestedTotals contested;
    std::size_t contested_nodes = 0;
    bool classless = false;          // the settings do not contain the class of its work
    std::set<std::string> in_grace;  // nodes with containers in their grace
    std::size_t waits = 0;           // nodes whose hour allows no evictions now
    Pace reclaims;
  };
  struct UnderWay {
    explicit UnderWay(int& all) : count(all) { ++count; }
    ~UnderWay() { --count; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    int& count;
  };
  // What the containers of a NodeManager held at the last report.
  struct Held {
    model::Resources batch;
    base::MonotonicTime seen;       // last report, or first request
    base::MonotonicTime may_begin;  // until then more may have started, because its NodeManager was active
  };
  struct WhatIsDue {
    NodeReclaims drains;
    NodeReclaims reclaims;
    std::vector<NodeReclaim> all_drains, all_reclaims;  // also those that are not to be tried now
    std::size_t asked_to_return = 0;                    // nodes, including those that are done
    HourRoom room;                                      // for reclaims
    std::vector<std::string> wait;                      // nodes that wait for their hour
    bool none() const { return drains.due.empty() && reclaims.due.empty(); }
  };

  // Counts the writes of one pass.
  struct WritePass {
    base::MonotonicTime order_old_at;
    int in_vain = 0;  // consecutive writes without an answer
  };

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }
  void changed();

  // ---- shared state ----

  const NodeMap& map();
  void tell_without_node(const std::vector<NmName>& now);
  void tell_mismatch(const std::string& name, const std::string& why);
  // `keep_mib`: limit while reclaimed capacity is kept back for a moment.
  std::optional<policy::sell::YarnTotal> total_of(const kube::Node& node,
                                                  std::optional<std::int64_t> keep_mib = std::nullopt);
  void unreadable(const std::string& node, const std::string& why);
  const ClusterLink* link_of(const std::string& cluster) const;
  // Class of the YARN cluster of the node.
  std::string_view class_on(const kube::Node& node);
  std::vector<const ClusterLink*> links() const;

  // ---- the loop of one cluster ----

  net::Task<void> follow(Lane& lane);
  net::Task<void> follow_managers(Lane& lane);  // for the annotation of the Lease
  WhatIsDue what_is_due(const Lane& lane);
  // Executes drains and reclaims. The next totals of their nodes follow at once. Returns the time until the next one is
  // due.
  net::Task<std::optional<base::Duration>> end_what_is_due(Lane& lane);
  // Returns the number of nodes that were not tried before.
  net::Task<std::size_t> end(Lane& lane, ReclaimProgress& progress, ReclaimProgress::Begun begun);
  void note_grace(Lane& lane, const WhatIsDue& found);
  // For these nodes, minus what was preempted in their pools within the hour.
  HourRoom hour_room(const std::set<std::string>& bounded);
  void count_preempted(Lane& lane, const ReclaimProgress::Begun& begun);
  void note_waits(Lane& lane, const WhatIsDue& found);
  // Answers reclaim requests of agents while totals of other nodes go on; those of their own nodes follow at once.
  net::Task<void> hear_agents(Lane& lane);
  net::Task<void> reclaim_for_agents(Lane& lane);
  std::vector<AgentReclaim> agent_reclaims_of(const Lane& lane);
  static void leave_out_reclaimed(const Lane& lane, std::vector<Wanted>& wanted);
  static std::size_t leave_out_who_is_silent(std::vector<Wanted>& wanted);
  void note_silent(Lane& lane, std::size_t nodes);
  void note_answer(Lane& lane, const AgentReclaim& asked, const model::ReclaimAnswer& answer);
  net::Task<void> answer_agent(std::string node, model::ReclaimAnswer answer);
  void note(Lane& lane, const Result<void>& seen);
  static void note_not_told(Lane& lane, const Error& why);
  void note_room(Lane& lane, const std::vector<Wanted>& wanted);
  void note_largest(Lane& lane, const ContainerRoom& room);
  void note_calculator(Lane& lane);
  std::size_t lanes_that(const std::function<bool(const Lane&)>& are) const;
  // A class that the settings may add at any time: no reason to stop.
  void note_class(Lane& lane);
  void tell_set_again(const std::vector<std::string>& names);
  void note_contested(Lane& lane);
  std::vector<Wanted> wanted_of(const std::string& cluster);

  // ---- the loop of what is written onto nodes ----

  // nullopt: unknown now, the published value stays.
  std::optional<model::Resources> held_by_yarn(const kube::Node& object);
  // Whether the report of its NodeManager is too old to use.
  bool long_unseen(const std::string& node) const;
  net::Task<void> annotate();
  // Nodes with a NodeManager and nodes that had one, ordered by turn: a confirmed offer goes first, because the other
  // side waits for the capacity.
  std::vector<std::string> nodes_to_annotate();
  // Until all are written, or until something changed and the order is old: then the order is computed again.
  net::Task<void> write_in_turn(std::vector<std::string> names, base::Duration order_holds);
  bool is_over(const WritePass& pass) const;
  void note_renewals(std::size_t nodes);
  NodeSight sight_of(const kube::Node& node);
  model::Resources worth(std::int64_t memory_mib, std::int64_t vcores) const;
  net::Task<void> annotate_one(std::string name, WritePass& pass);
  void note_unwritten(const std::string& node, const Error& error, WritePass& pass);

  // What is written onto nodes.
  struct NodeWrites {
    explicit NodeWrites(net::EventLoop& loop) : wake(loop) {}
    net::Event wake;
    std::map<std::string, Held> held;                 // by node
    std::map<std::string, base::MonotonicTime> last;  // by node: time of the last write
    bool renews_too_seldom = false;                   // logged
  };
  // What YARN must return, and how far that is.
  struct Reclaims {
    explicit Reclaims(const base::Log& log) : requests(log) {}
    ReclaimRequests requests;
    ReclaimProgress drains;
    ReclaimProgress returns;
    PreemptedContainers preempted;
  };

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& registry_;
  const OperatorOptions options_;
  OperatorMetrics metrics_;
  ClusterCache cache_;
  kube::EventRecorder recorder_;
  std::unique_ptr<kube::LeaderElector> elector_;
  const std::size_t invalid_clusters_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  NodeMap map_;
  bool map_old_ = true;
  std::map<std::string, std::string> unreadable_;
  Reclaims reclaims_;
  NodeWrites writes_;
  int under_way_ = 0;
  bool draining_ = false;
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> health_;
  net::Scope scope_;
};

}  // namespace tidemark::yarn_operator
