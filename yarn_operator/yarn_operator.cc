#include "yarn_operator/yarn_operator.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/annotations.h"
#include "model/names.h"
#include "model/resources.h"
#include "yarn_operator/node_figures.h"
#include "yarn_operator/running_operator.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

constexpr base::Duration kDrainLimit = std::chrono::seconds(10);

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
      registry_(metrics),
      options_(std::move(options)),
      metrics_(metrics),
      cache_({loop, client_, client_, log_, metrics, random.fork()},
             {.config_namespace = options_.config_namespace,
              .zones = rim.zones,
              .totals_change = [this] { changed(); },
              .annotations_change = [this] { writes_.wake.set(); },
              .budgets_change =
                  [this] {
                    for (const auto& lane : lanes_) lane->wake.set();
                  }}),
      recorder_(loop, client_, log_, metrics, "tidemark-yarn-operator"),
      invalid_clusters_(rim.invalid_clusters),
      reclaims_(log_),
      writes_(loop),
      scope_(loop) {
  for (YarnCluster& cluster : clusters) {
    const base::Log named = log_.named(base::cat("yarn-operator ", cluster.id));
    lanes_.push_back(std::make_unique<Lane>(*this, rim, std::move(cluster), named, random.fork()));
  }
}

Result<void> RunningOperator::prepare(kube::Client& election, base::Random random) {
  if (options_.totals.rounding == policy::sell::YarnRounding::kPeer && options_.totals.memory_per_vcore_mib > 0) {
    return fail(ErrorKind::kInvalid, "--memory-per-vcore has no effect with --rounding=peer; remove one of them");
  }
  if (options_.leader_elect && !only_observes()) {
    TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, registry_, random, options_.lease));
    elector_->on_change([this](bool) {
      map_.wrong.clear();  // a new leader reports all mismatches again
      changed();
    });
    elector_->annotate(model::kYarnManagersAnnotation, [this] {
      std::vector<model::YarnManager> managers;
      for (const ClusterLink* link : links()) {
        managers.insert(managers.end(), link->managers().begin(), link->managers().end());
      }
      return model::format_yarn_managers(managers);
    });
  }
  TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, registry_, [this] { return not_ready(); },
                                  {.component = [this] { return cluster_figures(links()); },
                                   .offline = [this] { return may_write() ? node_figures(links()) : ""; }}));
  TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
  return {};
}

void RunningOperator::start() {
  cache_.start(scope_);
  if (!only_observes()) scope_.spawn(recorder_.run());
  if (elector_) scope_.spawn(elector_->run());
  for (const auto& lane : lanes_) {
    scope_.spawn(follow(*lane));
    scope_.spawn(hear_agents(*lane));
    if (elector_) scope_.spawn(follow_managers(*lane));
  }
  scope_.spawn(annotate());
}

std::string RunningOperator::not_ready() const {
  if (draining_) return "on its way out";
  return cache_.not_listed();
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
  writes_.wake.set();
}

const NodeMap& RunningOperator::map() {
  if (!map_old_) return map_;
  map_old_ = false;
  MapInput input;
  cache_.for_each_node([&](const std::string&, const kube::Node& node) { input.nodes.push_back(place_of(node)); });
  cache_.nm_pods().for_each([&](const kube::ObjectKey&, const NmPodRow& pod) { input.pods.push_back(nm_pod_of(pod)); });
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
  metrics_.without_node.set(static_cast<double>(map_.without_node.size()));
  metrics_.mismatched_nodes.set(static_cast<double>(map_.wrong.size()));
  metrics_.mapped_nodes.set(static_cast<double>(map_.nm_of.size()));
  return map_;
}

// YARN's own machines are not an error: one line for all, when the list changes.
void RunningOperator::tell_without_node(const std::vector<NmName>& now) {
  if (!cache_.listed() || now.empty()) return;
  log_.info("NodeManagers without a node", {{"count", std::to_string(now.size())}, {"first", now.front().text()}});
}

void RunningOperator::tell_mismatch(const std::string& name, const std::string& why) {
  log_.warn("node and NodeManager do not match", {{"node", name}, {"why", why}});
  const kube::Node* node = cache_.find(name);
  if (node == nullptr || !may_write()) return;
  recorder_.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                   "TidemarkYarnMismatch", base::cat(why, " [", model::reason_id(Reason::kYarnMismatch), "]"));
}

std::optional<policy::sell::YarnTotal> RunningOperator::total_of(const kube::Node& node,
                                                                 std::optional<std::int64_t> keep_mib) {
  const model::Resources held = cache_.held_by_pods(node.meta.name.view());
  auto share = share_of(node, held, cache_.pool_modes().of(node), class_on(node), loop_.clock().wall());
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
