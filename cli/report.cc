#include "cli/report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/get.h"
#include "cli/pools.h"
#include "kube/decode.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/evictions/budget_store.h"
#include "manager/settings/effective.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "policy/render/override_text.h"
#include "policy/render/state_text.h"
#include "policy/rollout/stored.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kShownMax = 100;  // lines of text; JSON has all

// What is read of the cluster. Without pods, metrics and topologies where only states are asked for.
struct Seen {
  std::vector<kube::Node> nodes;
  std::unordered_map<std::string, std::vector<manager::PodProjection>> pods;  // by node
  std::unordered_map<std::string, kube::NodeMetric> metrics;
  std::unordered_map<std::string, kube::NodeResourceTopology> topologies;
  manager::SettingsMaps maps;
  std::optional<policy::DesiredStates> desired;
  std::optional<policy::Overrides> overrides;
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
  } else if (auto desired = policy::parse_desired(*stored.text)) {
    seen.desired = std::move(*desired);
  }
  TM_CO_TRY(const auto budgets, co_await config_map(client, options.config_namespace, std::string(model::kBudgetsName),
                                                    options.limit, interner));
  if (budgets) seen.budgets = manager::read_budgets(*budgets);
  co_return seen;
}

struct Amounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const Amounts&) const = default;
  Amounts& operator+=(const Amounts& other) {
    cpu_milli += other.cpu_milli;
    memory_bytes += other.memory_bytes;
    return *this;
  }
};
Amounts batch_of(const model::ExtendedResources& of) {
  return {of.batch_cpu.value_or(model::CpuMilli{}).value, of.batch_memory.value_or(model::MemoryBytes{}).value};
}

struct Row {
  std::string name;
  manager::Standing standing;
  Amounts in_force;
  Amounts wanted;
  model::Reason reason = model::Reason::kPublished;  // of what is wanted
  bool held = false;                                 // nothing can be decided: it stays
};

struct Sum {
  std::size_t nodes = 0;
  std::size_t different = 0;
  Amounts in_force;
  Amounts wanted;
  std::map<std::string, std::size_t> states;  // how many nodes, by word
};

Result<std::vector<Row>> rows_of(const Seen& seen, const ReportOptions& options, base::WallTime now,
                                 base::MonotonicTime mono) {
  // Unless a roll-out is under way every node goes by the same settings.
  const auto stored =
      seen.maps.revisions ? policy::decode_stored(manager::data_of(*seen.maps.revisions)) : policy::Stored();
  const bool one_for_all = !stored.state || stored.state->layers.size() <= 1;
  std::optional<manager::EffectiveSettings> settings;
  std::vector<Row> rows;
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
    manager::StandingInputs standing = manager::left_to_others(node);
    standing.desired = seen.desired ? &*seen.desired : nullptr;
    standing.desired_known = seen.desired.has_value();
    standing.overrides = seen.overrides ? &*seen.overrides : nullptr;
    standing.budgets = seen.budgets.state ? &*seen.budgets.state : nullptr;
    standing.budgets_newer = seen.budgets.newer;
    const manager::NodeSurroundings around{bound,
                                           metric == seen.metrics.end() ? nullptr : &metric->second,
                                           topology == seen.topologies.end() ? nullptr : &topology->second,
                                           settings->revision,
                                           options.plugins,
                                           policy::OfferState(),
                                           now,
                                           mono,
                                           std::move(standing)};
    auto decision = manager::decide_node(node, around);
    if (!options.pool.empty() && decision.standing.pool != options.pool) continue;
    Row row;
    row.name = name;
    row.in_force = batch_of(decision.snapshot.published);
    row.held = decision.plan().action == policy::PlanAction::kHold;
    row.wanted = row.held ? row.in_force : batch_of(decision.plan().publish);
    row.reason = decision.plan().reason;
    row.standing = std::move(decision.standing);
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &Row::name);
  return rows;
}

std::string state_word(const manager::Standing& standing) {
  return standing.watched ? "left to another writer" : policy::state_words(standing.state);
}

std::map<std::string, Sum> sums_of(const std::vector<Row>& rows) {
  std::map<std::string, Sum> sums;
  for (const Row& row : rows) {
    Sum& sum = sums[row.standing.pool];
    ++sum.nodes;
    sum.different += row.wanted == row.in_force ? 0 : 1;
    sum.in_force += row.in_force;
    sum.wanted += row.wanted;
    ++sum.states[state_word(row.standing)];
  }
  return sums;
}

std::string cores(std::int64_t milli) {
  return base::cat(milli, "m");
}
std::string signed_text(std::int64_t value, std::string_view unit) {
  return base::cat(value > 0 ? "+" : "", value, unit);
}

// Of the cluster where `pool` is empty.
const policy::LineOverride* override_of(const Seen& seen, std::string_view pool, base::WallTime now) {
  const auto* line = seen.overrides ? seen.overrides->of(pool) : nullptr;
  return line != nullptr && now < line->until ? line : nullptr;
}

std::string override_line(const Seen& seen, std::string_view pool, base::WallTime now) {
  const auto* line = override_of(seen, pool, now);
  if (line == nullptr) return "";
  return base::cat(pool.empty() ? "cluster" : "  ", pool.empty() ? ": " : "",
                   "water line overridden: ", policy::override_text(*line), "\n");
}

std::string states_text(const std::vector<Row>& rows, const ReportOptions& options, const Seen& seen,
                        base::WallTime now) {
  std::string out = override_line(seen, "", now);
  for (const auto& [pool, sum] : sums_of(rows)) {
    std::string states;
    for (const auto& [word, nodes] : sum.states) states += base::cat(states.empty() ? "" : ", ", nodes, " ", word);
    out += base::cat("pool ", pool, ": ", sum.nodes, sum.nodes == 1 ? " node: " : " nodes: ", states, "\n");
    out += override_line(seen, pool, now);
  }
  std::size_t shown = 0;
  for (const Row& row : rows) {
    if (!options.all && !manager::condition_of(row.standing)) continue;
    if (++shown <= kShownMax) out += base::cat("  ", row.name, ": ", manager::standing_text(row.standing), "\n");
  }
  if (shown > kShownMax) out += base::cat("  and ", shown - kShownMax, " more; -o json shows all\n");
  return out;
}

std::string difference_text(const std::vector<Row>& rows, const ReportOptions& options, const Seen& seen,
                            base::WallTime now) {
  std::string out = override_line(seen, "", now);
  for (const auto& [pool, sum] : sums_of(rows)) {
    out += base::cat("pool ", pool, ": ", sum.nodes, sum.nodes == 1 ? " node, " : " nodes, ", sum.different,
                     " different\n  batch-cpu     in force ", cores(sum.in_force.cpu_milli), ", would be ",
                     cores(sum.wanted.cpu_milli), " (", signed_text(sum.wanted.cpu_milli - sum.in_force.cpu_milli, "m"),
                     ")\n  batch-memory  in force ", sum.in_force.memory_bytes, ", would be ", sum.wanted.memory_bytes,
                     " (", signed_text(sum.wanted.memory_bytes - sum.in_force.memory_bytes, ""), " bytes)\n");
    out += override_line(seen, pool, now);
  }
  std::size_t shown = 0;
  for (const Row& row : rows) {
    if (!options.all && row.wanted == row.in_force) continue;
    if (++shown > kShownMax) continue;
    out += base::cat("  ", row.name, " (", state_word(row.standing), "): batch-cpu ", cores(row.in_force.cpu_milli),
                     " -> ", cores(row.wanted.cpu_milli), ", batch-memory ", row.in_force.memory_bytes, " -> ",
                     row.wanted.memory_bytes, "  ", row.held ? "stays: " : "", model::reason_sentence(row.reason), " [",
                     model::reason_id(row.reason), "]\n");
  }
  if (shown > kShownMax) out += base::cat("  and ", shown - kShownMax, " more; -o json shows all\n");
  return out;
}

Json amounts_json(const Amounts& amounts) {
  return Json::object({{"batchCpuMilli", Json(amounts.cpu_milli)}, {"batchMemoryBytes", Json(amounts.memory_bytes)}});
}

Json to_json(const std::vector<Row>& rows, const ReportOptions& options, const Seen& seen, base::WallTime now) {
  const bool difference = options.about == ReportOf::kDifference;
  Json out = Json::object({{"schema", 1}, {"report", Json(difference ? "difference" : "states")}});
  if (const auto* line = override_of(seen, "", now)) out["override"] = policy::override_json(*line);
  Json pools = Json::array();
  for (const auto& [pool, sum] : sums_of(rows)) {
    Json entry = Json::object({{"pool", Json(pool)}, {"nodes", Json(static_cast<std::int64_t>(sum.nodes))}});
    Json states = Json::object();
    for (const auto& [word, nodes] : sum.states) states[word] = Json(static_cast<std::int64_t>(nodes));
    entry["states"] = std::move(states);
    if (const auto* line = override_of(seen, pool, now)) entry["override"] = policy::override_json(*line);
    if (difference) {
      entry["different"] = Json(static_cast<std::int64_t>(sum.different));
      entry["inForce"] = amounts_json(sum.in_force);
      entry["wouldBe"] = amounts_json(sum.wanted);
    }
    pools.as_array().push_back(std::move(entry));
  }
  out["pools"] = std::move(pools);
  Json nodes = Json::array();
  for (const Row& row : rows) {
    Json entry = Json::object({{"name", Json(row.name)}, {"pool", Json(row.standing.pool)}});
    entry["state"] = policy::render_json(row.standing.state);
    entry["writes"] = Json(row.standing.writes());
    entry["text"] = Json(manager::standing_text(row.standing));
    if (difference) {
      entry["inForce"] = amounts_json(row.in_force);
      entry["wouldBe"] = amounts_json(row.wanted);
      entry["reason"] = Json(model::reason_id(row.reason));
    }
    nodes.as_array().push_back(std::move(entry));
  }
  out["nodes"] = std::move(nodes);
  return out;
}

}  // namespace

net::Task<Result<std::string>> report(net::EventLoop& loop, kube::Client& client, ReportOptions options) {
  kube::Interner interner;
  TM_CO_TRY(const Seen seen, co_await see(client, options, interner));
  const base::WallTime now = loop.clock().wall();
  TM_CO_TRY(const auto rows, rows_of(seen, options, now, loop.clock().monotonic()));
  if (options.json) co_return to_json(rows, options, seen, now).dump_pretty() + "\n";
  std::string out = options.about == ReportOf::kStates ? states_text(rows, options, seen, now)
                                                       : difference_text(rows, options, seen, now);
  if (!seen.overrides) out += "note: the overrides of the water line (ConfigMap tidemark-state) cannot be read\n";
  if (!seen.desired) out += "note: what was ordered for the cluster (ConfigMap tidemark-state) cannot be read\n";
  co_return out.empty() ? std::string("no nodes\n") : out;
}

}  // namespace tidemark::cli
