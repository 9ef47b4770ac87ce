// Last known state of one YARN cluster, and the totals sent to it. Clusters are independent: one that is down or slow
// does not delay the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "hadoop/containers.h"
#include "hadoop/resource_manager.h"
#include "model/annotations.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/sell/yarn_calculator.h"
#include "yarn_operator/clusters.h"

namespace tidemark::yarn_operator {

struct Wanted {
  std::string node;
  hadoop::NodeId nm;
  hadoop::Resource total;  // memory and vcores; other resources of the node are sent back unchanged
  model::Reason reason = model::Reason::kYarnShared;
  std::int64_t generation = 0;  // of the manager's offer; 0: no offer
  // The amount to confirm to the manager while reclaimed capacity is kept back for a moment: the offer stands and may
  // come into force again without a new order.
  std::optional<hadoop::Resource> counts_as{};
  // Whether the update waits if `now` is the current total (policy/sell); empty: never.
  std::function<bool(const hadoop::Resource& now)> waits{};
};

// A total at which the ResourceManager preempts containers.
struct Preemption {
  hadoop::NodeId nm;
  hadoop::Resource total;
  model::Reason reason = model::Reason::kYarnAgentReclaimed;
  base::Duration grace{0};  // between the notice to their applications and the kill
};

// The total that a NodeManager is known to use.
struct ActsOn {
  std::int64_t generation = 0;  // of the last offer that came into force; 0: none
  hadoop::Resource total;
  // Another program set a different total, or the NodeManager restarted. We set ours again soon; a lasting difference
  // is accepted.
  std::optional<base::MonotonicTime> differs_since{};
};
inline constexpr base::Duration kBelievedAfter = std::chrono::seconds(30);
// A ResourceManager that became active, or to which a NodeManager returned, learns of the running containers gradually:
// at first it reports the node as running with none. Until then it allocates nothing new
// (yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms).
inline constexpr base::Duration kKnowsAllAfter = std::chrono::seconds(10);

struct Telling {
  std::size_t told = 0;
  std::vector<std::string> set_again;  // another program had set another total, or the NodeManager restarted
  // `set_again`, and nodes whose last total no report has shown. This is the only sign of a program that sets another
  // total within a second. Excludes a ResourceManager that has just started, which answers but may not apply totals
  // yet.
  std::vector<std::string> told_again;
};

// What fits on the nodes of a cluster. A ResourceManager refuses a request that is larger than its largest node. A
// request that it accepted while a node was larger waits, and its user gets no explanation.
struct ContainerRoom {
  bool for_the_smallest = false;  // on any node
  hadoop::NodeId largest_node;    // without a label; by memory, then by vcores
  hadoop::Resource largest_total;
  // Some of the waiting containers fit on no node, because they request more memory on average. Smaller requests beside
  // them hide that. Vcores are ignored: a scheduler with the DefaultResourceCalculator allocates more than exist.
  bool waits_in_vain = false;
};

// Adds what the used share of the root queue covers of a node.
void add_to(policy::sell::CalculatorReading& reading, const hadoop::NodeReport& report);

struct Auditing {
  std::function<void(model::AuditLine)> write;
  std::string actor;
};

class ClusterLink {
 public:
  ClusterLink(net::EventLoop& loop, net::WorkerPool& workers, YarnCluster cluster, base::Log log,
              base::Registry& metrics, base::Random random, Auditing audit);

  const std::string& id() const { return id_; }
  const std::string& work_class() const { return work_class_; }
  const std::string& class_place() const { return class_place_; }  // the file that sets it

  // Requests all nodes and the waiting amount. On failure the previous data stays.
  net::Task<Result<void>> refresh();
  net::Task<Result<void>> refresh_nodes();  // only the nodes
  net::Task<void> refresh_managers();       // the HA state of each ResourceManager
  // Sends the totals that changed to the ResourceManager, in one call.
  net::Task<Result<Telling>> tell(std::vector<Wanted> wanted);

  // In one call. The confirmed amount (`counts_as`) stays. Returns the nodes whose update the ResourceManager took.
  net::Task<Result<std::set<hadoop::NodeId>>> preempt(std::vector<Preemption> preemptions);
  net::Task<Result<hadoop::ContainerReport>> container(const hadoop::ContainerId& id);

  bool synced() const { return seen_.has_value(); }
  bool answers() const { return seen_ && !away_; }  // the last request
  std::optional<base::MonotonicTime> seen() const { return seen_; }
  const std::vector<model::YarnManager>& managers() const { return managers_; }  // empty before the first answers
  const std::map<hadoop::NodeId, hadoop::NodeReport>& nodes() const { return nodes_; }
  const hadoop::NodeReport* find(const hadoop::NodeId& id) const;
  // Whether another ResourceManager became active, or this one returned, within kKnowsAllAfter.
  bool begins() const;
  // Whether the report may show too few containers (kKnowsAllAfter).
  bool may_hold_more(const hadoop::NodeId& id) const;
  // From a report that was made after the total was sent; null: unknown.
  const ActsOn* acts_on(const hadoop::NodeId& id) const;
  // What applications request of nodes without a label and do not have. Kept for a while after the last request or the
  // last answer; nullopt: unknown, or the node has a label.
  std::optional<hadoop::QueueWaiting> waiting_for(const hadoop::NodeId& id) const;
  // Whether its scheduler counts vcores, as far as its use has shown.
  policy::sell::CpuCounting cpu_counting() const { return calculator_.verdict; }
  // Assumes that the nodes have the wanted totals. nullopt: no node is running.
  std::optional<ContainerRoom> room(const std::vector<Wanted>& wanted) const;

 private:
  struct Told {
    hadoop::Resource total;
    std::int64_t generation = 0;
    base::MonotonicTime at;
    bool confirmed = false;  // a report has shown it
    hadoop::Resource counts_as{};
  };
  struct Changes {
    std::vector<hadoop::NodeUpdate> updates;
    std::vector<const Wanted*> of;
    std::vector<hadoop::Resource> counts_as;
    std::vector<model::Reason> reasons;
    std::vector<std::string> set_again;
    std::vector<std::string> told_again;
  };
  // An update that may or may not have been applied: until when it may come into force, and the failover count when it
  // was sent. After a failover, updates to the previous ResourceManager are void.
  struct Unsure {
    base::MonotonicTime until;
    std::uint64_t failovers = 0;
  };
  Changes changed(const std::vector<Wanted>& wanted);
  void look_who_answered();
  void take(std::vector<hadoop::NodeReport> reports, bool first);
  void look_what_is_acted_on(const hadoop::NodeReport& report);
  net::Task<void> look_who_waits();
  void look_at_calculator(std::optional<std::int64_t> used_share_permille);
  bool unsure(const hadoop::NodeId& id) const;
  struct Sent {
    hadoop::NodeUpdate update;
    std::size_t index = 0;  // among those to send
  };
  struct Sending {
    std::vector<Sent> sent;
    int refused = 0;  // single nodes
  };
  // Those that the ResourceManager took; an error if it took none. It refuses all for one node that it does not know,
  // for example because its NodeManager has just left: then the halves are sent apart.
  net::Task<Result<std::vector<Sent>>> send(std::vector<hadoop::NodeUpdate> updates,
                                            const std::vector<model::Reason>& reasons);
  net::Task<Result<void>> send_part(std::span<const hadoop::NodeUpdate> updates, std::span<const model::Reason> reasons,
                                    std::size_t first, Sending& sending);
  void audit(std::span<const hadoop::NodeUpdate> updates, std::span<const model::Reason> reasons, const Error* error,
             base::Duration took);

  net::EventLoop& loop_;
  const std::string id_;
  const std::string work_class_;
  const std::string class_place_;
  base::Log log_;
  const Auditing audit_;
  const hadoop::Resource smallest_;
  hadoop::ResourceManager manager_;
  std::vector<model::YarnManager> managers_;
  std::map<hadoop::NodeId, hadoop::NodeReport> nodes_;
  std::map<hadoop::NodeId, Told> told_;
  std::map<hadoop::NodeId, ActsOn> acts_on_;
  std::map<hadoop::NodeId, Unsure> unsure_;
  std::optional<base::MonotonicTime> began_;            // when another ResourceManager answered, or this one again
  std::map<hadoop::NodeId, base::MonotonicTime> came_;  // when it registered with the active ResourceManager
  bool away_ = false;
  std::uint64_t failovers_ = 0;
  struct Waiting {
    hadoop::QueueWaiting amount;
    base::MonotonicTime at;        // last time that anything waited
    base::MonotonicTime asked_at;  // last time that it was known
  };
  std::optional<Waiting> waiting_;  // nullopt: unknown
  bool unknown_said_ = false;       // already logged
  policy::sell::CalculatorState calculator_;
  base::MonotonicTime looked_;     // when the current report was requested
  std::set<std::string> refused_;  // unreadable reports, each logged once
  std::optional<base::MonotonicTime> seen_;
  base::Counter& calls_failed_;
  base::Counter& updates_;
  base::Counter& set_again_;
  base::Counter& failovers_seen_;
};

}  // namespace tidemark::yarn_operator
