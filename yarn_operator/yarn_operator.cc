#include "yarn_operator/yarn_operator.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/resources.h"
#include "yarn_operator/node_figures.h"
#include "yarn_operator/running_operator.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

// A whole page is in memory while it is read. A node has about a dozen KB, a pod a few.
constexpr int kNodesAPage = 100;
constexpr int kPodsAPage = 200;
constexpr base::Duration kDrainLimit = std::chrono::seconds(10);

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

}  // namespace

void let_answers_go_ahead(kube::ClientConfig& client) {
  client.ahead_burst = kAnsweredAtOnce;
  client.ahead_per_second = kAnsweredPerSecond;
}

RunningOperator::RunningOperator(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters, base::Log log,
                                 base::Registry& metrics, base::Random random, OperatorOptions options)
    : loop_(loop),
      client_(rim.client),
      log_(std::move(log)),
      metrics_(metrics),
      options_(std::move(options)),
      interner_(metrics, "yarn_operator"),
      nodes_({loop, client_, client_, log_, metrics, random.fork()}, node_informer(),
             [this](std::string_view bytes) { return decode_node(bytes, interner_); }),
      pods_({loop, client_, client_, log_, metrics, random.fork()}, pod_informer(),
            [this](std::string_view bytes) { return decode_pod_row(bytes, interner_); }),
      nm_pods_({loop, client_, client_, log_, metrics, random.fork()}, nm_pod_informer(),
               [this](std::string_view bytes) { return decode_nm_pod_row(bytes, interner_); }),
      pool_modes_({loop, client_, client_, log_, metrics, random.fork()}, interner_, options_.config_namespace,
                  rim.zones, [this] { changed(); }),
      budgets_({loop, client_, client_, log_, metrics, random.fork()}, interner_, options_.config_namespace,
               [this] {
                 for (const auto& lane : lanes_) lane->wake.set();
               }),
      recorder_(loop, client_, log_, metrics, "tidemark-yarn-operator"),
      wrong_(metrics.gauge("tidemark_yarn_operator_mismatched_nodes",
                           "Nodes whose NodeManager is not certain; their totals are not sent.")),
      mapped_(metrics.gauge("tidemark_yarn_operator_nodes", "Nodes with a NodeManager.")),
      without_node_(metrics.gauge("tidemark_yarn_operator_node_managers_without_node",
                                  "Active NodeManagers without a node; their totals are not sent.")),
      away_(metrics.gauge("tidemark_yarn_operator_clusters_away",
                          "Clusters whose ResourceManager does not answer, or that have an invalid file.")),
      closed_(metrics.gauge("tidemark_yarn_operator_clusters_closed",
                            "Clusters in which no node has room for a container: applications are refused.")),
      wait_in_vain_(metrics.gauge("tidemark_yarn_operator_clusters_waiting_in_vain",
                                  "Clusters in which applications wait for a container that fits on no node.")),
      ignore_cpu_(
          metrics.gauge("tidemark_yarn_operator_clusters_ignoring_cpu",
                        "Clusters whose scheduler counts only memory: it allocates more vcores than nodes have.")),
      silent_(metrics.gauge("tidemark_yarn_operator_silent_nodes",
                            "Nodes that keep their totals because most nodes of their cluster are not ready.")),
      contested_(metrics.gauge("tidemark_yarn_operator_contested_nodes",
                               "Nodes whose totals were changed three times within five minutes.")),
      renew_after_(metrics.gauge("tidemark_yarn_operator_book_renewal_seconds",
                                 "Renewal interval of a node's YARN ledger while work waits.")),
      invalid_clusters_(rim.invalid_clusters),
      agent_preempted_(metrics.counter("tidemark_yarn_operator_agent_preempted_total",
                                       "Containers preempted because their node's agent reclaimed capacity.")),
      agent_not_preempted_(metrics.counter("tidemark_yarn_operator_agent_not_preempted_total",
                                           "Containers named by an agent that stayed, or others ended instead.")),
      drained_(
          metrics.counter("tidemark_yarn_operator_drained_nodes_total",
                          "Nodes on which YARN held more than its offer at the end of a drain; the excess ended.")),
      reclaimed_(metrics.counter(
          "tidemark_yarn_operator_reclaimed_nodes_total",
          "Nodes on which YARN held more than its class may keep while more timely work waited; the excess "
          "ended.")),
      reclaim_preempted_(metrics.counter("tidemark_yarn_operator_reclaim_preempted_total",
                                         "Containers charged to the hour of their pool for more timely work.")),
      reclaims_wait_(metrics.gauge("tidemark_yarn_operator_reclaims_waiting_nodes",
                                   "Nodes on which a reclaim waits because the hour is used up.")),
      reclaim_requests_(log_),
      annotate_(loop),
      scope_(loop) {
  pods_.hold_only([](const PodRow& pod) { return pod.batch != model::Resources(); });
  // Skips events without a relevant change: kubelet status and the operator's own writes would otherwise trigger a pass
  // over all nodes each.
  nodes_.subscribe([this](const kube::ObjectKey&, const kube::Node* before, const kube::Node* after) {
    if (!says_the_same(before, after)) {
      changed();
    } else if (!carries_the_same(before, after)) {
      annotate_.set();
    }
  });
  pods_.subscribe([this](const kube::ObjectKey&, const PodRow* before, const PodRow* after) {
    if (before != nullptr) count_pod(*before, -1);
    if (after != nullptr) count_pod(*after, 1);
    if (before == nullptr || after == nullptr || !says_the_same(*before, *after)) changed();
  });
  nm_pods_.subscribe([this](const kube::ObjectKey&, const NmPodRow* before, const NmPodRow* after) {
    if (before == nullptr || after == nullptr || !says_the_same(*before, *after)) changed();
  });
  for (YarnCluster& cluster : clusters) {
    const base::Log named = log_.named(base::cat("yarn-operator ", cluster.id));
    lanes_.push_back(std::make_unique<Lane>(*this, rim, std::move(cluster), named, random.fork()));
  }
}

Result<void> RunningOperator::prepare(kube::Client& election, base::Random random) {
  if (options_.leader_elect && !only_observes()) {
    TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, metrics_, random, options_.lease));
    elector_->on_change([this](bool) {
      map_.wrong.clear();  // a new leader reports all mismatches again
      changed();
    });
  }
  TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                                  {.component = [this] { return cluster_figures(links()); },
                                   .offline = [this] { return may_write() ? node_figures(links()) : ""; }}));
  TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
  return {};
}

void RunningOperator::start() {
  scope_.spawn(nodes_.run());
  scope_.spawn(pods_.run());
  scope_.spawn(nm_pods_.run());
  scope_.spawn(pool_modes_.run());
  scope_.spawn(budgets_.run());
  if (!only_observes()) scope_.spawn(recorder_.run());
  if (elector_) scope_.spawn(elector_->run());
  for (const auto& lane : lanes_) {
    scope_.spawn(follow(*lane));
    scope_.spawn(hear_agents(*lane));
  }
  scope_.spawn(annotate());
}

std::string RunningOperator::not_ready() const {
  if (draining_) return "on its way out";
  if (!nodes_.synced()) return "nodes are not listed yet";
  if (!pods_.synced() || !nm_pods_.synced()) return "pods are not listed yet";
  if (!pool_modes_.synced()) return "settings are not read yet";
  return "";
}

net::Task<void> RunningOperator::drain() {
  draining_ = true;
  const auto end = loop_.clock().monotonic() + kDrainLimit;
  while (under_way_ > 0 && loop_.clock().monotonic() < end) co_await loop_.sleep(std::chrono::milliseconds(20));
  if (elector_) co_await elector_->release();
}

void RunningOperator::changed() {
  map_old_ = true;
  for (const auto& lane : lanes_) {
    lane->wake.set();
    lane->asked.set();
  }
  annotate_.set();
}

const NodeMap& RunningOperator::map() {
  if (!map_old_) return map_;
  map_old_ = false;
  MapInput input;
  nodes_.for_each([&](const kube::ObjectKey&, const kube::Node& node) { input.nodes.push_back(place_of(node)); });
  nm_pods_.for_each([&](const kube::ObjectKey&, const NmPodRow& pod) { input.pods.push_back(nm_pod_of(pod)); });
  std::ranges::sort(input.pods, {}, &NmPod::name);
  for (const auto& lane : lanes_) {
    auto& ids = input.known[lane->link.id()];
    // A NodeManager that restarted on a random port leaves its old name behind, as lost.
    for (const auto& [id, report] : lane->link.nodes()) {
      if (hadoop::is_active(report.state)) ids.push_back(id);
    }
  }
  NodeMap made = map_nodes(input);
  for (const auto& [node, why] : made.wrong) {
    const auto before = map_.wrong.find(node);
    if (before == map_.wrong.end() || before->second != why) tell_mismatch(node, why);
  }
  if (made.without_node != map_.without_node) tell_without_node(made.without_node);
  map_ = std::move(made);
  without_node_.set(static_cast<double>(map_.without_node.size()));
  wrong_.set(static_cast<double>(map_.wrong.size()));
  mapped_.set(static_cast<double>(map_.nm_of.size()));
  return map_;
}

// YARN's own machines are not an error: one line for all, when the list changes.
void RunningOperator::tell_without_node(const std::vector<NmName>& now) {
  if (!listed() || now.empty()) return;
  log_.info("NodeManagers without a node", {{"count", std::to_string(now.size())}, {"first", now.front().text()}});
}

void RunningOperator::tell_mismatch(const std::string& name, const std::string& why) {
  log_.warn("node and NodeManager do not match", {{"node", name}, {"why", why}});
  const kube::Node* node = nodes_.find({"", name});
  if (node == nullptr || !may_write()) return;
  recorder_.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                   "TidemarkYarnMismatch", base::cat(why, " [", model::reason_id(Reason::kYarnMismatch), "]"));
}

void RunningOperator::count_pod(const PodRow& pod, int by) {
  const auto sum = held_by_pods_.try_emplace(std::string(pod.node)).first;
  sum->second.add(pod.batch, by);
  if (sum->second.none()) held_by_pods_.erase(sum);
}

std::optional<policy::sell::YarnTotal> RunningOperator::total_of(const kube::Node& node,
                                                                 std::optional<std::int64_t> keep_mib) {
  const auto pods = held_by_pods_.find(node.meta.name.view());
  const model::Resources held = pods == held_by_pods_.end() ? model::Resources() : pods->second.sum();
  auto share = share_of(node, held, pool_modes_.of(node), class_on(node), loop_.clock().wall());
  if (!share) {
    unreadable(std::string(node.meta.name), share.error().message);
    return std::nullopt;
  }
  unreadable_.erase(std::string(node.meta.name));
  share->keep_mib = keep_mib;
  return policy::sell::yarn_total(*share, options_.totals);
}

void RunningOperator::unreadable(const std::string& node, const std::string& why) {
  std::string& said = unreadable_[node];
  if (said == why) return;
  said = why;
  log_.warn("cannot read node annotations; total not sent", {{"node", node}, {"why", why}});
}

const ClusterLink* RunningOperator::link_of(const std::string& cluster) const {
  for (const auto& lane : lanes_) {
    if (lane->link.id() == cluster) return &lane->link;
  }
  return nullptr;
}

std::string_view RunningOperator::class_on(const kube::Node& node) {
  const auto mapped = map().nm_of.find(std::string(node.meta.name));
  const ClusterLink* link = mapped == map_.nm_of.end() ? nullptr : link_of(mapped->second.cluster);
  return link == nullptr ? std::string_view() : std::string_view(link->work_class());
}

std::vector<const ClusterLink*> RunningOperator::links() const {
  std::vector<const ClusterLink*> links;
  links.reserve(lanes_.size());
  for (const auto& lane : lanes_) links.push_back(&lane->link);
  return links;
}

Result<std::unique_ptr<YarnOperator>> YarnOperator::make(net::EventLoop& loop, Rim rim,
                                                         std::vector<YarnCluster> clusters, base::Log log,
                                                         base::Registry& metrics, base::Random random,
                                                         OperatorOptions options) {
  kube::Client& election = rim.election;
  auto made = std::make_unique<RunningOperator>(loop, std::move(rim), std::move(clusters), std::move(log), metrics,
                                                random.fork(), std::move(options));
  TM_TRY_VOID(made->prepare(election, random));
  return made;
}

}  // namespace tidemark::yarn_operator
