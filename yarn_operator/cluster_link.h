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
#include "hadoop/resource_manager.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_operator/clusters.h"

namespace tidemark::yarn_operator {

struct Wanted {
  hadoop::NodeId nm;
  hadoop::Resource total;  // memory and processors; what else the node has is sent back as it is
  model::Reason reason = model::Reason::kYarnShared;
};

class ClusterLink {
 public:
  ClusterLink(net::EventLoop& loop, net::WorkerPool& workers, YarnCluster cluster, hadoop::Overcommit overcommit,
              base::Log log, base::Registry& metrics, base::Random random, std::function<void(model::AuditLine)> audit,
              std::string actor);

  const std::string& id() const { return id_; }

  // Asks for all nodes. What was seen before stays where it fails.
  net::Task<Result<void>> refresh();
  // Tells the ResourceManager, in one call, of those whose total is another one. Answers how many that were.
  net::Task<Result<std::size_t>> tell(std::vector<Wanted> wanted);

  bool synced() const { return seen_.has_value(); }
  std::optional<base::MonotonicTime> seen() const { return seen_; }
  const std::map<hadoop::NodeId, hadoop::NodeReport>& nodes() const { return nodes_; }
  const hadoop::NodeReport* find(const hadoop::NodeId& id) const;

 private:
  struct Told {
    hadoop::Resource total;
    base::MonotonicTime at;
    bool confirmed = false;  // a report has shown it
  };
  std::vector<hadoop::NodeUpdate> changed(const std::vector<Wanted>& wanted, std::vector<model::Reason>& reasons);
  void audit(const std::vector<hadoop::NodeUpdate>& updates, const std::vector<model::Reason>& reasons,
             const Error* error, base::Duration took);

  net::EventLoop& loop_;
  const std::string id_;
  const hadoop::Overcommit overcommit_;
  base::Log log_;
  std::function<void(model::AuditLine)> audit_;
  const std::string actor_;
  hadoop::ResourceManager manager_;
  std::map<hadoop::NodeId, hadoop::NodeReport> nodes_;
  std::map<hadoop::NodeId, Told> told_;
  std::set<std::string> refused_;  // reports that could not be read: said once each
  std::optional<base::MonotonicTime> seen_;
  base::Counter& calls_failed_;
  base::Counter& updates_;
  base::Counter& set_again_;
};

}  // namespace tidemark::yarn_operator
