// What the operator keeps of Kubernetes: nodes, pods that hold batch, NodeManager pods, the settings and the budgets.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "yarn_operator/budgets_watch.h"
#include "yarn_operator/objects.h"
#include "yarn_operator/pool_modes.h"

namespace tidemark::yarn_operator {

struct CacheOptions {
  std::string config_namespace;
  ZonesOf zones;
  // Called after a change, but not for changes that no decision uses: the status of the kubelet and the operator's own
  // writes would otherwise cause a pass over all nodes each.
  std::function<void()> totals_change;
  std::function<void()> annotations_change;  // of a node: only what the operator writes
  std::function<void()> budgets_change;
};

class ClusterCache {
 public:
  ClusterCache(kube::InformerParts parts, CacheOptions options);

  void start(net::Scope& scope);
  bool listed() const { return not_listed().empty(); }
  std::string not_listed() const;  // "": all is listed

  const kube::Node* find(const std::string& node) const { return nodes_.find({"", node}); }
  template <class Each>
  void for_each_node(Each each) const {
    nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node& node) { each(key.name, node); });
  }
  const kube::Informer<NmPodRow>& nm_pods() const { return nm_pods_; }
  model::Resources held_by_pods(std::string_view node) const;
  PoolModes& pool_modes() { return pool_modes_; }
  const BudgetsWatch& budgets() const { return budgets_; }

 private:
  void subscribe();
  void count_pod(const PodRow& pod, int by);  // -1: it is gone

  CacheOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<PodRow> pods_;  // only those that hold batch
  kube::Informer<NmPodRow> nm_pods_;
  std::map<std::string, BatchSum, std::less<>> held_by_pods_;  // by node; an index of pods is larger
  PoolModes pool_modes_;
  BudgetsWatch budgets_;
};

}  // namespace tidemark::yarn_operator
