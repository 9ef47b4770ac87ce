#include "yarn_operator/cluster_cache.h"

#include <utility>

namespace tidemark::yarn_operator {
namespace {

// A whole page is in memory while it is read. A node has about a dozen KB, a pod a few.
constexpr int kNodesAPage = 100;
constexpr int kPodsAPage = 200;

kube::InformerConfig informer(const kube::Resource& resource) {
  kube::InformerConfig config;
  config.resource = resource;
  return config;
}

kube::InformerConfig node_informer() {
  kube::InformerConfig config = informer(kube::kNodes);
  config.page_size = kNodesAPage;
  return config;
}

kube::InformerConfig pod_informer() {
  kube::InformerConfig config = informer(kube::kPods);
  config.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  config.page_size = kPodsAPage;
  return config;
}

// A separate informer: they are few, and their fields are not needed for every other pod.
kube::InformerConfig nm_pod_informer() {
  kube::InformerConfig config = pod_informer();
  config.name = "node_manager_pods";
  config.label_selector = nm_pod_selector();
  return config;
}

// Random numbers of its own, so that the retries of the informers do not coincide.
kube::InformerParts fork(kube::InformerParts& parts) {
  kube::InformerParts out = parts;
  out.random = parts.random.fork();
  return out;
}

}  // namespace

ClusterCache::ClusterCache(kube::InformerParts parts, CacheOptions options)
    : options_(std::move(options)),
      interner_(parts.metrics, "yarn_operator"),
      nodes_(fork(parts), node_informer(), [this](std::string_view bytes) { return decode_node(bytes, interner_); }),
      pods_(fork(parts), pod_informer(), [this](std::string_view bytes) { return decode_pod_row(bytes, interner_); }),
      nm_pods_(fork(parts), nm_pod_informer(),
               [this](std::string_view bytes) { return decode_nm_pod_row(bytes, interner_); }),
      pool_modes_(fork(parts), interner_, options_.config_namespace, options_.zones,
                  [this] { options_.totals_change(); }),
      budgets_(fork(parts), interner_, options_.config_namespace, [this] { options_.budgets_change(); }) {
  pods_.hold_only([](const PodRow& pod) { return pod.batch != model::Resources(); });
  subscribe();
}

void ClusterCache::subscribe() {
  nodes_.subscribe([this](const kube::ObjectKey&, const kube::Node* before, const kube::Node* after) {
    if (!says_the_same(before, after)) {
      options_.totals_change();
    } else if (!carries_the_same(before, after)) {
      options_.annotations_change();
    }
  });
  pods_.subscribe([this](const kube::ObjectKey&, const PodRow* before, const PodRow* after) {
    if (before != nullptr) count_pod(*before, -1);
    if (after != nullptr) count_pod(*after, 1);
    if (before == nullptr || after == nullptr || !says_the_same(*before, *after)) options_.totals_change();
  });
  nm_pods_.subscribe([this](const kube::ObjectKey&, const NmPodRow* before, const NmPodRow* after) {
    if (before == nullptr || after == nullptr || !says_the_same(*before, *after)) options_.totals_change();
  });
}

void ClusterCache::start(net::Scope& scope) {
  scope.spawn(nodes_.run());
  scope.spawn(pods_.run());
  scope.spawn(nm_pods_.run());
  scope.spawn(pool_modes_.run());
  scope.spawn(budgets_.run());
}

std::string ClusterCache::not_listed() const {
  if (!nodes_.synced()) return "nodes are not listed yet";
  if (!pods_.synced() || !nm_pods_.synced()) return "pods are not listed yet";
  if (!pool_modes_.synced()) return "settings are not read yet";
  return "";
}

model::Resources ClusterCache::held_by_pods(std::string_view node) const {
  const auto found = held_by_pods_.find(node);
  return found == held_by_pods_.end() ? model::Resources() : found->second.sum();
}

void ClusterCache::count_pod(const PodRow& pod, int by) {
  const auto sum = held_by_pods_.try_emplace(std::string(pod.node)).first;
  sum->second.add(pod.batch, by);
  if (sum->second.none()) held_by_pods_.erase(sum);
}

}  // namespace tidemark::yarn_operator
