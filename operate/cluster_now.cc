#include "operate/cluster_now.h"

#include <utility>

#include "base/text.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "operate/get.h"
#include "operate/list_pages.h"
#include "operate/pools.h"

namespace tidemark::operate {

net::Task<Result<void>> read_cluster(net::EventLoop& loop, kube::Client& client, ClusterQuestion options,
                                     ClusterNow& now) {
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodes, {}, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto node, kube::decode_node(item, manager::node_fields(), now.interner));
        now.nodes.push_back(std::move(node));
        return {};
      },
      [&] { now.nodes.clear(); }));
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodeMetrics, {}, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto metric, kube::decode_node_metric(item, manager::metric_fields(), now.interner));
        std::string name(metric.meta.name);
        now.metrics.insert_or_assign(std::move(name), std::move(metric));
        return {};
      },
      [&] { now.metrics.clear(); }));
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodeResourceTopologies, {}, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto topology, kube::decode_node_resource_topology(item, manager::topology_fields(), now.interner));
        std::string name(topology.meta.name);
        now.topologies.insert_or_assign(std::move(name), std::move(topology));
        return {};
      },
      [&] { now.topologies.clear(); }));
  kube::ListOptions pods;
  pods.field_selector = kBoundPods;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, std::move(pods), options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto pod, manager::decode_pod_projection(item, now.interner));
        now.pods.push_back(std::move(pod));
        return {};
      },
      [&] { now.pods.clear(); }));
  for (const auto& pod : now.pods) now.pods_of[pod.node_name.view()].push_back(&pod);
  co_return co_await read_settings(client, std::move(options), now);
}

net::Task<Result<void>> read_settings(kube::Client& client, ClusterQuestion options, ClusterNow& now) {
  const auto map = [&](std::string_view name) {
    return config_map(client, options.config_namespace, std::string(name), options.limit, now.interner);
  };
  TM_CO_TRY(now.maps.slo, co_await map(options.config_name));
  TM_CO_TRY(now.maps.tidemark, co_await map(model::kTidemarkConfigName));
  TM_CO_TRY(now.maps.revisions, co_await map(model::kRevisionsName));
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, options.config_namespace, options.limit));
  auto desired = stored.text ? policy::state::parse_desired(*stored.text) : Result<policy::state::DesiredStates>();
  if (desired) {
    now.desired = std::move(*desired);
  } else {
    now.notes.push_back(base::cat("what was ordered for the cluster cannot be read: ", desired.error().message));
  }
  auto overrides = overrides_in(stored);
  if (overrides) {
    now.overrides = std::move(*overrides);
  } else {
    now.notes.push_back(base::cat("overrides of the water line: ", overrides.error().message));
  }
  TM_CO_TRY(const auto budgets, co_await map(model::kBudgetsName));
  if (budgets) now.budgets = manager::read_budgets(*budgets);
  if (now.budgets.newer) now.notes.emplace_back(manager::kBudgetsNewer);
  if (!now.budgets.problem.empty()) now.notes.push_back(base::cat(model::kBudgetsName, ": ", now.budgets.problem));
  co_return Result<void>();
}

AboutNode about(const ClusterNow& now, const kube::Node& node) {
  const auto metric = now.metrics.find(node.meta.name.view());
  const auto topology = now.topologies.find(node.meta.name.view());
  const auto pods = now.pods_of.find(node.meta.name.view());
  return {pods == now.pods_of.end() ? std::span<const manager::PodProjection* const>() : pods->second,
          metric == now.metrics.end() ? nullptr : &metric->second,
          topology == now.topologies.end() ? nullptr : &topology->second};
}

manager::NodeDecision decided(const ClusterNow& now, const kube::Node& node, const manager::Revision& revision,
                              const policy::sell::PluginSet& plugins, const base::Clock& clock) {
  return decided(now, node, revision, plugins, clock, about(now, node));
}

manager::NodeDecision decided(const ClusterNow& now, const kube::Node& node, const manager::Revision& revision,
                              const policy::sell::PluginSet& plugins, const base::Clock& clock,
                              const AboutNode& about) {
  manager::NodePermitInputs permit;
  permit.left = manager::left_to_others(node);
  permit.desired = now.desired ? &*now.desired : nullptr;
  permit.desired_known = now.desired.has_value();
  permit.overrides = now.overrides_known();
  permit.budgets = now.budgets.state ? &*now.budgets.state : nullptr;
  permit.budgets_newer = now.budgets.newer;
  const manager::NodeSurroundings around{.objects = {about.pods, about.metric, about.topology},
                                         .revision = revision,
                                         .plugins = plugins,
                                         .before = {about.state},
                                         .now = clock.wall(),
                                         .mono = clock.monotonic(),
                                         .permit = std::move(permit),
                                         .waiting = about.waiting,
                                         .learned = {.expected = about.expected}};
  return manager::decide_node(node, around);
}

}  // namespace tidemark::operate
