#include "cli/explain.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/get.h"
#include "cli/pools.h"
#include "cli/surroundings.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/pod_projection.h"
#include "manager/evictions/budget_store.h"
#include "manager/settings/effective.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "policy/overcommit/overcommit.h"
#include "policy/render/offer_text.h"
#include "policy/render/overcommit_text.h"
#include "policy/render/sources_text.h"
#include "policy/render/state_text.h"

namespace tidemark::cli {
namespace {

net::Task<Result<std::vector<manager::PodProjection>>> pods_on(kube::Client& client, const ExplainOptions& options,
                                                               kube::Interner& interner) {
  std::vector<manager::PodProjection> pods;
  kube::ListOptions list;
  list.field_selector = base::cat("spec.nodeName=", options.node);
  auto done = co_await client.list(
      kube::kPods, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(auto pod, manager::decode_pod_projection(item, interner));
          pods.push_back(std::move(pod));
          return {};
        }));
        return {};
      },
      [&] { pods.clear(); }, options.limit);
  if (!done) co_return std::unexpected(std::move(done).error().within("listing the node's pods"));
  co_return pods;
}

std::string revision_of(const std::optional<kube::ConfigMap>& map) {
  return map ? map->meta.resource_version : "";
}

}  // namespace

net::Task<Result<std::string>> explain_node(net::EventLoop& loop, kube::Client& client, ExplainOptions options) {
  kube::Interner interner;
  TM_CO_TRY(const auto node_bytes, co_await get_if_there(client, kube::kNodes, "", options.node, options.limit));
  if (!node_bytes) co_return fail(ErrorKind::kNotFound, "there is no node ", base::in_quotes(options.node));
  TM_CO_TRY(const kube::Node node, kube::decode_node(*node_bytes, manager::node_fields(), interner));

  TM_CO_TRY(const auto metric_bytes,
            co_await get_if_there(client, kube::kNodeMetrics, "", options.node, options.limit));
  std::optional<kube::NodeMetric> metric;
  if (metric_bytes) {
    TM_CO_TRY(metric, kube::decode_node_metric(*metric_bytes, manager::metric_fields(), interner));
  }
  TM_CO_TRY(const auto topology_bytes,
            co_await get_if_there(client, kube::kNodeResourceTopologies, "", options.node, options.limit));
  std::optional<kube::NodeResourceTopology> topology;
  if (topology_bytes) {
    TM_CO_TRY(topology, kube::decode_node_resource_topology(*topology_bytes, manager::topology_fields(), interner));
  }
  manager::SettingsMaps maps;
  TM_CO_TRY(maps.slo,
            co_await config_map(client, options.config_namespace, options.config_name, options.limit, interner));
  TM_CO_TRY(maps.tidemark, co_await config_map(client, options.config_namespace,
                                               std::string(model::kTidemarkConfigName), options.limit, interner));
  TM_CO_TRY(maps.revisions, co_await config_map(client, options.config_namespace, std::string(model::kRevisionsName),
                                                options.limit, interner));
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, options.config_namespace, options.limit));
  const auto desired = stored.text ? policy::parse_desired(*stored.text) : Result<policy::DesiredStates>();
  manager::StandingInputs standing = manager::left_to_others(node);
  standing.desired = desired ? &*desired : nullptr;
  standing.desired_known = desired.has_value();
  const auto overrides = overrides_in(stored);
  standing.overrides = overrides ? &*overrides : nullptr;
  TM_CO_TRY(const auto budgets_map, co_await config_map(client, options.config_namespace,
                                                        std::string(model::kBudgetsName), options.limit, interner));
  const auto budgets = budgets_map ? manager::read_budgets(*budgets_map) : manager::StoredBudgets();
  standing.budgets = budgets.state ? &*budgets.state : nullptr;
  standing.budgets_newer = budgets.newer;
  TM_CO_TRY(const std::vector<manager::PodProjection> pods, co_await pods_on(client, options, interner));

  TM_CO_TRY(const auto settings, manager::effective_settings(maps, node, options.zones));
  const policy::TidemarkConfig& ours = settings.revision.tidemark;
  const Surroundings beside =
      co_await read_surroundings(loop, client, options.config_namespace, options.limit,
                                 wanted_by(ours, policy::pool_of(ours, node.meta.labels)), ours.classes);
  const manager::ExpectedUse expected = beside.expected(loop.clock().wall());
  std::vector<const manager::PodProjection*> bound;
  for (const auto& pod : pods) bound.push_back(&pod);
  const manager::NodeSurroundings around{bound,
                                         metric ? &*metric : nullptr,
                                         topology ? &*topology : nullptr,
                                         settings.revision,
                                         options.plugins,
                                         policy::OfferState(),
                                         loop.clock().wall(),
                                         loop.clock().monotonic(),
                                         standing,
                                         &beside.waiting,
                                         false,
                                         &expected};
  const auto decision = manager::decide_node(node, around);
  std::vector<std::string> notes = decision.notes;
  if (decision.pool->ledger != policy::LedgerConfig()) {
    notes.push_back(beside.waiting_pods == 0
                        ? std::string("no batch pod waits for room")
                        : base::cat(beside.waiting_pods, " batch pods wait for room; the ledger goes by that"));
  }
  for (const auto line : base::split(settings.notes, '\n')) {
    if (!line.empty()) notes.emplace_back(line);
  }
  if (decision.offer.motion) {
    notes.emplace_back(
        "how far an offer has moved is the manager's memory; shown is what one that starts now would do");
  }
  if (policy::back_off_of(*decision.pool) > base::Duration(0)) {
    notes.emplace_back(
        "whether offline work was evicted here lately, so that the node sells nothing new, is the manager's memory: "
        "see the Node's events (TidemarkBacksOff)");
  }
  if (!overrides) notes.push_back(base::cat("overrides of the water line: ", overrides.error().message));
  notes.insert(notes.end(), beside.notes.begin(), beside.notes.end());
  std::vector<policy::Source> sources;
  sources.push_back({base::cat("Node ", options.node),
                     node.meta.resource_version,
                     {},
                     {},
                     "capacity, what the kubelet reserves, the node's own settings, what third parties hold",
                     {"capacity", "reservedByKubelet", "reservedByAnnotation", "thirdParty", "onNode"}});
  std::optional<base::Duration> age;
  if (metric && metric->updated) age = loop.clock().wall() - *metric->updated;
  sources.push_back({base::cat("NodeMetric ", options.node),
                     metric ? metric->meta.resource_version : "",
                     age,
                     {},
                     "what the system, pods and host applications use",
                     {"systemUsed", "highPriority", "prodReclaimable", "nodeUnused"}});
  sources.push_back(
      {base::cat("pods of ", options.node), "", {}, pods.size(), "what they request", {"highPriority", "prodRequest"}});
  sources.push_back({base::cat("NodeResourceTopology ", options.node),
                     topology ? topology->meta.resource_version : "",
                     {},
                     {},
                     "NUMA zones, the processor",
                     {"zones", "normalization"}});
  sources.push_back({base::cat("ConfigMap ", options.config_namespace, "/", options.config_name),
                     revision_of(maps.slo),
                     {},
                     {},
                     "percentages, policies and ratios",
                     {"margin", "cap", "policy", "normalization", "amplification"}});
  sources.push_back({base::cat("ConfigMap ", options.config_namespace, "/", model::kTidemarkConfigName),
                     revision_of(maps.tidemark),
                     {},
                     {},
                     "pool, calendar, profile, ledger",
                     {"pool", "offer"}});
  sources.push_back({base::cat("ConfigMap ", options.config_namespace, "/", model::kStateName),
                     stored.revision,
                     {},
                     {},
                     "what was ordered for the cluster and its pools, overrides of the water line",
                     {"state", "offer"}});
  // Where it sells, the terms are those of what the node is told; elsewhere of what it would be told if it were on.
  const bool taken_back = decision.standing.state.strictest() >= policy::NodeState::kDraining;
  const auto& shown = taken_back ? decision.offer.plan : decision.plan();
  if (taken_back) notes.emplace_back("the numbers above are what the settings would give if the node were on");
  const policy::OfferNames names{decision.strategy().profile, decision.calendar, &decision.basis.overrides};
  if (options.json) {
    Json out = policy::render_json(shown, decision.snapshot, decision.strategy());
    out["state"] = policy::render_json(decision.standing.state);
    out["state"]["text"] = Json(manager::standing_text(decision.standing));
    out["state"]["writes"] = Json(decision.writes());
    if (decision.standing.watched) out["state"]["watched"] = Json(model::reason_id(*decision.standing.watched));
    out["pool"] = Json(settings.pool);
    out["settings"] = Json(settings.revision.hash);
    out["offer"] = policy::render_json(decision.offer, names);
    if (!decision.kubernetes_off.classes.empty()) {
      out["takenBackOfClasses"] = Json::object({{"kubernetes", policy::classes_off_json(decision.kubernetes_off)},
                                                {"yarn", policy::classes_off_json(decision.yarn_off)}});
    }
    out["sources"] = policy::render_json(sources);
    out["notes"] = Json::array();
    for (const auto& note : notes) out["notes"].as_array().push_back(Json(note));
    co_return out.dump_pretty() + "\n";
  }
  std::string out = policy::render_text(shown, decision.snapshot, decision.strategy());
  out += policy::render_text(decision.offer, names);
  out += policy::classes_off_text("kubernetes", decision.kubernetes_off);
  out += policy::classes_off_text("yarn", decision.yarn_off);
  out += base::cat("state: ", manager::standing_text(decision.standing), "\n");
  out += policy::render_text(sources);
  out += base::cat("settings: ", settings.revision.hash, ", pool ", settings.pool, "\n");
  for (const auto& note : notes) out += base::cat("note: ", note, "\n");
  co_return out;
}

}  // namespace tidemark::cli
