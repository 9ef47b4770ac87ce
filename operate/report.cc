#include "operate/report.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/evictions/budget_store.h"
#include "manager/settings/effective.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "operate/get.h"
#include "operate/pools.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {
namespace {

// What is read of the cluster. Without pods, metrics and topologies where only states are asked for.
struct Seen {
  std::vector<kube::Node> nodes;
  std::unordered_map<std::string, std::vector<manager::PodProjection>> pods;  // by node
  std::unordered_map<std::string, kube::NodeMetric> metrics;
  std::unordered_map<std::string, kube::NodeResourceTopology> topologies;
  manager::SettingsMaps maps;
  std::optional<policy::state::DesiredStates> desired;
  std::optional<policy::state::Overrides> overrides;
  manager::StoredBudgets budgets;
};

template <class Take>
net::Task<Result<void>> list_all(kube::Client& client, const kube::Resource& resource, base::Duration limit, Take take,
                                 std::function<void()> again) {
  auto listed = co_await client.list(
      resource, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, take));
        return {};
      },
      std::move(again), limit * 4);
  if (listed) co_return Result<void>();
  // A cluster without that kind has none.
  if (listed.error().kind == ErrorKind::kNotFound) co_return Result<void>();
  co_return std::unexpected(std::move(listed).error().within(base::cat("listing ", resource.plural)));
}

net::Task<Result<Seen>> see(kube::Client& client, const ReportOptions& options, kube::Interner& interner) {
  Seen seen;
  TM_CO_TRY_VOID(co_await list_all(
      client, kube::kNodes, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto node, kube::decode_node(item, manager::node_fields(), interner));
        seen.nodes.push_back(std::move(node));
        return {};
      },
      [&] { seen.nodes.clear(); }));
  TM_CO_TRY_VOID(co_await list_all(
      client, kube::kPods, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto pod, manager::decode_pod_projection(item, interner));
        const bool over = pod.phase == model::PodPhase::kSucceeded || pod.phase == model::PodPhase::kFailed;
        if (!pod.node_name.empty() && !over) seen.pods[std::string(pod.node_name)].push_back(std::move(pod));
        return {};
      },
      [&] { seen.pods.clear(); }));
  if (options.about == ReportOf::kDifference) {
    TM_CO_TRY_VOID(co_await list_all(
        client, kube::kNodeMetrics, options.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(auto metric, kube::decode_node_metric(item, manager::metric_fields(), interner));
          std::string name(metric.meta.name);
          seen.metrics.insert_or_assign(std::move(name), std::move(metric));
          return {};
        },
        [&] { seen.metrics.clear(); }));
    TM_CO_TRY_VOID(co_await list_all(
        client, kube::kNodeResourceTopologies, options.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(auto topology, kube::decode_node_resource_topology(item, manager::topology_fields(), interner));
          std::string name(topology.meta.name);
          seen.topologies.insert_or_assign(std::move(name), std::move(topology));
          return {};
        },
        [&] { seen.topologies.clear(); }));
  }
  TM_CO_TRY(seen.maps.slo,
            co_await config_map(client, options.config_namespace, options.config_name, options.limit, interner));
  TM_CO_TRY(seen.maps.tidemark, co_await config_map(client, options.config_namespace,
                                                    std::string(model::kTidemarkConfigName), options.limit, interner));
  TM_CO_TRY(seen.maps.revisions, co_await config_map(client, options.config_namespace,
                                                     std::string(model::kRevisionsName), options.limit, interner));
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, options.config_namespace, options.limit));
  if (auto overrides = overrides_in(stored)) seen.overrides = std::move(*overrides);
  if (!stored.text) {
    seen.desired.emplace();
  } else if (auto desired = policy::state::parse_desired(*stored.text)) {
    seen.desired = std::move(*desired);
  }
  TM_CO_TRY(const auto budgets, co_await config_map(client, options.config_namespace, std::string(model::kBudgetsName),
                                                    options.limit, interner));
  if (budgets) seen.budgets = manager::read_budgets(*budgets);
  co_return seen;
}

BatchAmounts batch_of(const model::ExtendedResources& of) {
  return {of.batch_cpu.value_or(model::CpuMilli{}).value, of.batch_memory.value_or(model::MemoryBytes{}).value};
}

Result<std::vector<ReportedNode>> rows_of(const Seen& seen, const ReportOptions& options, base::WallTime now,
                                          base::MonotonicTime mono) {
  // Unless a roll-out is under way every node goes by the same settings.
  const auto stored = seen.maps.revisions ? policy::settings::decode_stored(manager::data_of(*seen.maps.revisions))
                                          : policy::settings::Stored();
  const bool one_for_all = !stored.state || stored.state->layers.size() <= 1;
  std::optional<manager::EffectiveSettings> settings;
  std::vector<ReportedNode> rows;
  for (const kube::Node& node : seen.nodes) {
    if (!settings || !one_for_all) {
      TM_TRY(settings, manager::effective_settings(seen.maps, node, options.zones));
    }
    const std::string name(node.meta.name);
    std::vector<const manager::PodProjection*> bound;
    if (const auto pods = seen.pods.find(name); pods != seen.pods.end()) {
      for (const auto& pod : pods->second) bound.push_back(&pod);
    }
    const auto metric = seen.metrics.find(name);
    const auto topology = seen.topologies.find(name);
    manager::NodePermitInputs permit;
    permit.left = manager::left_to_others(node);
    permit.desired = seen.desired ? &*seen.desired : nullptr;
    permit.desired_known = seen.desired.has_value();
    permit.overrides = seen.overrides ? &*seen.overrides : nullptr;
    permit.budgets = seen.budgets.state ? &*seen.budgets.state : nullptr;
    permit.budgets_newer = seen.budgets.newer;
    const manager::NodeSurroundings around{.objects = {bound, metric == seen.metrics.end() ? nullptr : &metric->second,
                                                       topology == seen.topologies.end() ? nullptr : &topology->second},
                                           .revision = settings->revision,
                                           .plugins = options.plugins,
                                           .before = {},
                                           .now = now,
                                           .mono = mono,
                                           .permit = std::move(permit)};
    auto decision = manager::decide_node(node, around);
    if (!options.pool.empty() && decision.permit.pool != options.pool) continue;
    ReportedNode row;
    row.name = name;
    row.in_force = batch_of(decision.snapshot.published);
    row.held = decision.plan().action == policy::sell::PlanAction::kHold;
    row.wanted = row.held ? row.in_force : batch_of(decision.plan().publish);
    row.reason = decision.plan().reason;
    row.permit = std::move(decision.permit);
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &ReportedNode::name);
  return rows;
}

}  // namespace

net::Task<Result<NodesReport>> report_nodes(net::EventLoop& loop, kube::Client& client, ReportOptions options) {
  kube::Interner interner;
  TM_CO_TRY(Seen seen, co_await see(client, options, interner));
  NodesReport out;
  out.now = loop.clock().wall();
  TM_CO_TRY(out.nodes, rows_of(seen, options, out.now, loop.clock().monotonic()));
  out.overrides = std::move(seen.overrides);
  out.orders_known = seen.desired.has_value();
  co_return out;
}

}  // namespace tidemark::operate
