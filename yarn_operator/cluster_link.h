// One YARN cluster as it was seen last, and what it was told. Clusters know nothing of each other: one that is away, or
// slow, holds up nobody else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "hadoop/containers.h"
#include "hadoop/resource_manager.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/container_room.h"

namespace tidemark::yarn_operator {

struct Wanted {
  std::string node;
  hadoop::NodeId nm;
  hadoop::Resource total;  // memory and processors; what else the node has is sent back as it is
  model::Reason reason = model::Reason::kYarnShared;
  std::int64_t generation = 0;  // of the manager's offer that it is; 0: of none
  // What it counts as for the manager, where containers were taken back and the rest is held back for a moment: the
  // offer stands, and may come into force again by itself.
  std::optional<hadoop::Resource> counts_as{};
  // Whether it waits where that is its total now (policy/yarn_total); empty: never.
  std::function<bool(const hadoop::Resource& now)> waits{};
};

// A total by which its ResourceManager ends containers at once, as pre-empted.
struct Shrink {
  hadoop::NodeId nm;
  hadoop::Resource total;
  model::Reason reason = model::Reason::kYarnTakenBack;
};

// What a NodeManager is known to act on.
struct ActsOn {
  std::int64_t generation = 0;  // of the last offer that came into force; 0: none did
  hadoop::Resource total;
  // Somebody else set another one, or the NodeManager began anew. It is set again in a moment: what lasts is believed.
  std::optional<base::MonotonicTime> differs_since{};
};
inline constexpr base::Duration kBelievedAfter = std::chrono::seconds(30);
// A ResourceManager that became active, or to which a NodeManager came back, learns by and by which containers there
// are: for a moment it reports the node as running with none. Until then it gives out nothing new
// (yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms).
inline constexpr base::Duration kKnowsAllAfter = std::chrono::seconds(10);

struct Telling {
  std::size_t told = 0;
  std::vector<std::string> set_again;  // nodes on which somebody else had set another total, or NodeManagers began anew
  // Those, and nodes whose last total no report has shown: who sets another one within the second is seen by nothing
  // else. Without those of a ResourceManager that has just begun, which answers and may take nothing yet.
  std::vector<std::string> told_again;
};

class ClusterLink {
 public:
  ClusterLink(net::EventLoop& loop, net::WorkerPool& workers, YarnCluster cluster, base::Log log,
              base::Registry& metrics, base::Random random, std::function<void(model::AuditLine)> audit,
              std::string actor);

  const std::string& id() const { return id_; }
  const std::string& work_class() const { return work_class_; }
  const std::string& class_place() const { return class_place_; }  // the file that says so

  // Asks for all nodes, and who waits; in partitions by the web address, beside it: that is known a moment later. What
  // was seen before stays where it fails.
  net::Task<Result<void>> refresh();
  net::Task<Result<void>> refresh_nodes();  // the first half of it
  // Tells the ResourceManager, in one call, of those whose total is another one.
  net::Task<Result<Telling>> tell(std::vector<Wanted> wanted);

  // In one call. What it counts as for the manager stays.
  net::Task<Result<void>> shrink(std::vector<Shrink> shrinks);
  net::Task<Result<hadoop::ContainerReport>> container(const hadoop::ContainerId& id);

  bool synced() const { return seen_.has_value(); }
  bool answers() const { return seen_ && !away_; }  // when it was asked last
  std::optional<base::MonotonicTime> seen() const { return seen_; }
  const std::map<hadoop::NodeId, hadoop::NodeReport>& nodes() const { return nodes_; }
  const hadoop::NodeReport* find(const hadoop::NodeId& id) const;
  // Whether its ResourceManager is another one, or there again, since a moment ago (kKnowsAllAfter).
  bool begins() const;
  // Whether what its report says of containers may be too little (kKnowsAllAfter).
  bool may_hold_more(const hadoop::NodeId& id) const;
  // By a report that was made after it was told; null: nobody knows.
  const ActsOn* acts_on(const hadoop::NodeId& id) const;
  // What applications ask for of a partition and do not have, a while longer than they do, or than anybody knows it;
  // nullopt: nobody knows.
  std::optional<hadoop::QueueWaiting> waiting_in(const std::string& partition) const;
  // What could be given out on that node.
  std::optional<hadoop::QueueWaiting> waiting_for(const hadoop::NodeId& id) const;
  // Once its nodes have what is wanted. nullopt: there is none that could hold a container.
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
  // An update of which nobody knows whether it was taken: until when it may still come into force, and of how many
  // ResourceManagers so far it went to the last. What another one before it was sent is gone with that.
  struct Unsure {
    base::MonotonicTime until;
    std::uint64_t failovers = 0;
  };
  Changes changed(const std::vector<Wanted>& wanted);
  void look_who_answered();
  void take(std::vector<hadoop::NodeReport> reports, bool first);
  void look_what_is_acted_on(const hadoop::NodeReport& report);
  net::Task<void> look_who_waits();
  net::Task<void> look_what_is_shared();
  net::Task<void> look_who_waits_in(std::set<std::string> partitions);
  void take_waiting(const std::string& partition, const hadoop::QueueWaiting& amount);
  void forget_waiting(const std::string& partition);
  void note_unknown(std::string_view what, const Error& why);
  bool unsure(const hadoop::NodeId& id) const;
  net::Task<Result<void>> send(const std::vector<hadoop::NodeUpdate>& updates,
                               const std::vector<model::Reason>& reasons);
  void audit(const std::vector<hadoop::NodeUpdate>& updates, const std::vector<model::Reason>& reasons,
             const Error* error, base::Duration took);

  net::EventLoop& loop_;
  const std::string id_;
  const std::string work_class_;
  const std::string class_place_;
  base::Log log_;
  std::function<void(model::AuditLine)> audit_;
  const std::string actor_;
  const ContainerSizes containers_;
  hadoop::ResourceManager manager_;
  std::map<hadoop::NodeId, hadoop::NodeReport> nodes_;
  std::map<hadoop::NodeId, Told> told_;
  std::map<hadoop::NodeId, ActsOn> acts_on_;
  std::map<hadoop::NodeId, Unsure> unsure_;
  std::optional<base::MonotonicTime> began_;            // when another one answered, or one again
  std::map<hadoop::NodeId, base::MonotonicTime> came_;  // to who answers now, and when
  bool away_ = false;
  std::uint64_t failovers_ = 0;
  struct Waiting {
    hadoop::QueueWaiting amount;
    base::MonotonicTime at;        // when there was any
    base::MonotonicTime asked_at;  // and when that was known
  };
  std::map<std::string, Waiting> waiting_;  // by partition; one that is not there: nobody knows
  std::set<std::string> shared_;            // partitions whose nodes take who asks for none
  std::set<std::string> unknown_said_;      // what cannot be asked
  base::MonotonicTime web_again_;           // not before
  base::MonotonicTime looked_;              // when the report was asked for that is held
  std::set<std::string> refused_;           // reports that could not be read: said once each
  std::optional<base::MonotonicTime> seen_;
  base::Counter& calls_failed_;
  base::Counter& updates_;
  base::Counter& set_again_;
  base::Counter& failovers_seen_;
  net::Scope asking_web_;  // the last member: it uses the others
};

}  // namespace tidemark::yarn_operator
