// What `tidemark check ledger` sees of YARN: each ResourceManager's own word on its nodes, asked for again and again,
// and which Kubernetes' node each of them is. Nothing of it comes from an operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "cli/yarn/audit.h"
#include "hadoop/resource_manager.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/task.h"
#include "net/worker.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/node_map.h"

namespace tidemark::cli {

struct RmWatchOptions {
  std::vector<yarn_operator::YarnCluster> clusters;
  net::WorkerPool* workers = nullptr;  // for their names
  std::int64_t millicores_per_vcore = 1000;
  base::Duration poll = std::chrono::seconds(2);
  base::Duration limit = std::chrono::seconds(10);  // for one answer
  std::uint64_t seed = 1;
};

class RmWatch {
 public:
  RmWatch(net::EventLoop& loop, kube::Client& client, RmWatchOptions options);

  // For ever; `looked` after each look at all clusters, with what failed.
  net::Task<void> follow(std::function<void(const Result<void>&)> looked);
  bool followed() const { return followed_; }

  void put(const Json& node);
  void drop(const std::string& name) { places_.erase(name); }
  void clear() { places_.clear(); }
  // nullopt: no ResourceManager knows the node. One that does not fit any more has what it had when it was seen to:
  // YARN may go on to hand that out.
  std::optional<AuditRm> of(const std::string& node) const;
  // NodeManagers that are active and no node's, by name.
  std::map<std::string, AuditRm> without_node() const;

 private:
  struct Cluster {
    std::string id;
    std::unique_ptr<hadoop::ResourceManager> manager;
    std::map<hadoop::NodeId, hadoop::NodeReport> reports;
  };
  const hadoop::NodeReport* report_of(const yarn_operator::NmName& name) const;
  AuditRm as_told(const hadoop::NodeReport& report) const;
  net::Task<Result<void>> look();
  net::Task<Result<void>> look_for_pods();

  net::EventLoop& loop_;
  kube::Client& client_;
  const RmWatchOptions options_;
  std::vector<Cluster> clusters_;
  std::map<std::string, yarn_operator::NodePlace> places_;
  std::vector<yarn_operator::NmPod> pods_;
  std::optional<base::MonotonicTime> pods_at_;
  yarn_operator::NodeMap map_;
  bool followed_ = false;
};

}  // namespace tidemark::cli
