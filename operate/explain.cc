#include "operate/explain.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/pod_projection.h"
#include "manager/evictions/budget_store.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/profiles/profile_reader.h"
#include "manager/settings/effective.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "operate/get.h"
#include "operate/last_eviction.h"
#include "operate/pools.h"
#include "operate/surroundings.h"
#include "policy/explain/grounds_text.h"
#include "policy/explain/offer_text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/sources_text.h"
#include "policy/explain/state_text.h"
#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::operate {
namespace {

struct PodsOfNode {
  std::vector<manager::PodProjection> pods;
  std::vector<manager::PodEnd> ends;  // of these and of those that are over, how they ended or are about to
};

net::Task<Result<PodsOfNode>> pods_on(kube::Client& client, const ExplainQuestion& options, kube::Interner& interner) {
  PodsOfNode on;
  kube::ListOptions list;
  list.field_selector = base::cat("spec.nodeName=", options.node);
  auto done = co_await client.list(
      kube::kPods, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(auto end, manager::decode_pod_end(item, interner));
          const bool over = end.over;
          on.ends.push_back(std::move(end));
          if (over) return {};  // it holds nothing any more
          TM_TRY(auto pod, manager::decode_pod_projection(item, interner));
          on.pods.push_back(std::move(pod));
          return {};
        }));
        return {};
      },
      [&] { on = {}; }, options.limit);
  if (!done) co_return std::unexpected(std::move(done).error().within("listing the node's pods"));
  co_return on;
}

std::string revision_of(const std::optional<kube::ConfigMap>& map) {
  return map ? map->meta.resource_version : "";
}

std::string map_name(const ExplainQuestion& options, std::string_view name) {
  return base::cat("ConfigMap ", options.config_namespace, "/", name);
}

// All that was read for one answer.
struct Read {
  kube::Node node;
  std::optional<kube::NodeMetric> metric;
  std::optional<kube::NodeResourceTopology> topology;
  manager::SettingsMaps maps;
  manager::StoredText orders;
  std::optional<kube::ConfigMap> budgets_map;
  manager::StoredBudgets budgets;
  PodsOfNode on;
  Surroundings beside;
  LastEviction evicted;               // where the pool backs off
  std::optional<Remembered> manager;  // by its journal
};

net::Task<Result<Read>> read_all(kube::Client& client, const ExplainQuestion& options, kube::Interner& interner) {
  Read read;
  TM_CO_TRY(const auto node_bytes, co_await get_if_there(client, kube::kNodes, "", options.node, options.limit));
  if (!node_bytes) co_return fail(ErrorKind::kNotFound, "no such node: ", base::in_quotes(options.node));
  TM_CO_TRY(read.node, kube::decode_node(*node_bytes, manager::node_fields(), interner));
  TM_CO_TRY(const auto metric_bytes,
            co_await get_if_there(client, kube::kNodeMetrics, "", options.node, options.limit));
  if (metric_bytes) {
    TM_CO_TRY(read.metric, kube::decode_node_metric(*metric_bytes, manager::metric_fields(), interner));
  }
  TM_CO_TRY(const auto topology_bytes,
            co_await get_if_there(client, kube::kNodeResourceTopologies, "", options.node, options.limit));
  if (topology_bytes) {
    TM_CO_TRY(read.topology,
              kube::decode_node_resource_topology(*topology_bytes, manager::topology_fields(), interner));
  }
  const auto map = [&](std::string_view name) {
    return config_map(client, options.config_namespace, std::string(name), options.limit, interner);
  };
  TM_CO_TRY(read.maps.slo, co_await map(options.config_name));
  TM_CO_TRY(read.maps.tidemark, co_await map(model::kTidemarkConfigName));
  TM_CO_TRY(read.maps.revisions, co_await map(model::kRevisionsName));
  TM_CO_TRY(read.orders, co_await manager::read_desired(client, options.config_namespace, options.limit));
  TM_CO_TRY(read.budgets_map, co_await map(model::kBudgetsName));
  if (read.budgets_map) read.budgets = manager::read_budgets(*read.budgets_map);
  TM_CO_TRY(read.on, co_await pods_on(client, options, interner));
  co_return read;
}

// What the manager alone knows, and what there is to say of it.
void recall(const ExplainQuestion& options, base::WallTime now, Read& read, std::vector<std::string>& notes) {
  if (!options.remember) return;
  auto remembered = options.remember(now);
  if (!remembered) {
    notes.push_back(base::cat("what the manager remembers is not known: ", remembered.error().message));
    return;
  }
  read.manager = std::move(*remembered);
  notes.push_back(base::cat("what only a manager remembers is by its journal: ", read.manager->who));
  const auto unheard = std::chrono::duration_cast<std::chrono::seconds>(read.manager->unheard);
  if (unheard > base::Duration(0)) {
    notes.push_back(base::cat("since then no report could come for ", base::format_go_duration(unheard),
                              ": that is no silence of the node"));
  }
}

// How long ago offline work of the node was evicted, and who says so: the later of what the journal and the API server
// tell.
void find_eviction(const Read& read, base::WallTime now, policy::explain::EvictionGround& ground) {
  if (const auto* told = read.evicted.latest()) {
    ground.evicted_ago = now - told->at;
    ground.told_by = told->object;
  }
  if (read.manager && read.manager->evicted.last()) {
    const base::Duration ago = read.manager->now - *read.manager->evicted.last();
    if (!ground.evicted_ago || ago < *ground.evicted_ago) {
      ground.evicted_ago = ago;
      ground.told_by = "the manager's journal";
    }
  }
}

// The same by side, on the clock that the decision goes by.
policy::sell::LastEvicted evicted_by_side(const Read& read, base::WallTime now, base::MonotonicTime mono) {
  policy::sell::LastEvicted evicted = read.manager ? read.manager->evicted : policy::sell::LastEvicted();
  const auto take = [&](std::optional<base::MonotonicTime>& side, const std::optional<LastEviction::Told>& told) {
    if (told) side = std::max(side, std::optional(mono + (told->at - now)));
  };
  take(evicted.kubernetes, read.evicted.kubernetes);
  take(evicted.yarn, read.evicted.yarn);
  return evicted;
}

std::vector<policy::explain::YoungPod> young_of(const ExplainQuestion& options, const model::NodeSnapshot& snapshot,
                                                const std::vector<manager::PodProjection>& pods) {
  std::vector<policy::explain::YoungPod> young;
  for (const model::PodView& view : snapshot.pods) {
    if (!view.warm_up) continue;
    policy::explain::YoungPod& each = young.emplace_back(policy::explain::young_pod(view, snapshot));
    const auto pod = std::ranges::find(pods, view.id, &manager::PodProjection::id);
    if (pod == pods.end()) continue;
    each.name = base::cat(pod->meta.ns, "/", pod->meta.name);
    each.workload = pod->workload.view();
    if (each.expected) each.profile = map_name(options, manager::profile_map(each.workload));
  }
  return young;
}

std::vector<policy::explain::Source> sources_of(const ExplainQuestion& options, const Read& read,
                                                const policy::explain::Grounds& grounds) {
  const base::WallTime now = grounds.now;
  std::vector<policy::explain::Source> sources;
  const auto add = [&](std::string object, std::string revision, std::string gives,
                       std::vector<std::string_view> terms) -> policy::explain::Source& {
    return sources.emplace_back(policy::explain::Source{std::move(object), std::move(revision), std::nullopt,
                                                        std::nullopt, std::move(gives), std::move(terms)});
  };
  add(base::cat("Node ", options.node), read.node.meta.resource_version,
      "capacity, what the kubelet reserves, the node's own settings and orders, what YARN and third parties hold",
      {"capacity", "reservedByKubelet", "reservedByAnnotation", "thirdParty", "onNode", "pool", "state", "offer"});
  auto& metric = add(base::cat("NodeMetric ", options.node), read.metric ? read.metric->meta.resource_version : "",
                     "what the system, pods and host applications use",
                     {"systemUsed", "highPriority", "prodReclaimable", "nodeUnused"});
  if (read.metric && read.metric->updated) metric.age = now - *read.metric->updated;
  add(base::cat("pods of ", options.node), "", "what they request", {"highPriority", "prodRequest"}).count =
      read.on.pods.size();
  std::map<std::string, std::string> histories;  // and whose
  for (const auto& pod : grounds.young) {
    if (pod.profile.empty()) continue;
    std::string& whose = histories[pod.profile];
    if (whose.find(pod.workload) == std::string::npos) whose += base::cat(whose.empty() ? "" : ", ", pod.workload);
  }
  for (const auto& [object, whose] : histories) {
    const auto name = object.substr(object.rfind('/') + 1);
    const auto& maps = read.beside.profiles->maps;
    const auto found = maps.find(name);
    add(object, found == maps.end() ? "" : found->second, base::cat("what pods are about to use: of ", whose),
        {"highPriority", "youngPods"});
  }
  add(base::cat("NodeResourceTopology ", options.node), read.topology ? read.topology->meta.resource_version : "",
      "NUMA zones, the processor", {"zones", "normalization", "ratioPercent"});
  add(map_name(options, options.config_name), revision_of(read.maps.slo), "percentages, policies and ratios",
      {"margin", "cap", "policy", "unallocatedShare", "staticShare", "normalization", "ratioPercent", "amplification"});
  add(map_name(options, model::kTidemarkConfigName), revision_of(read.maps.tidemark), "pool, calendar, profile, ledger",
      {"pool", "offer"});
  auto& revisions = add(map_name(options, model::kRevisionsName), revision_of(read.maps.revisions),
                        "which revision of the settings is in force on this node", {"settings", "revision"});
  if (grounds.settings.taken) revisions.age = now - *grounds.settings.taken;
  add(map_name(options, model::kStateName), read.orders.revision,
      "what was ordered for the cluster and its pools, overrides of the water line", {"state", "offer"});
  auto& budgets = add(map_name(options, model::kBudgetsName), revision_of(read.budgets_map),
                      "what evictions let the pool do", {"evictions", "offer"});
  if (read.budgets.state) budgets.age = now - read.budgets.state->looked;
  if (const auto* told = read.evicted.latest()) {
    add(told->object, told->revision, "when offline work of the node was evicted last", {"evictions", "offer"}).age =
        now - told->at;
  }
  if (read.manager) {
    auto& journal = add(base::cat("journal ", options.journal), "",
                        "what the manager offered, could offer lately, and saw evicted", {"evictions", "offer"});
    journal.recorded = true;
    journal.age = now - read.manager->decided;
  }
  return sources;
}

}  // namespace

net::Task<Result<Explanation>> explain_node(net::EventLoop& loop, kube::Client& client, ExplainQuestion options) {
  kube::Interner interner;
  TM_CO_TRY(Read read, co_await read_all(client, options, interner));
  const kube::Node& node = read.node;
  const base::WallTime now = loop.clock().wall();
  const auto desired =
      read.orders.text ? policy::state::parse_desired(*read.orders.text) : Result<policy::state::DesiredStates>();
  manager::NodePermitInputs permit;
  permit.left = manager::left_to_others(node);
  permit.desired = desired ? &*desired : nullptr;
  permit.desired_known = desired.has_value();
  const auto overrides = overrides_in(read.orders);
  permit.overrides = overrides ? &*overrides : nullptr;
  permit.budgets = read.budgets.state ? &*read.budgets.state : nullptr;
  permit.budgets_newer = read.budgets.newer;

  TM_CO_TRY(auto found, manager::effective_settings(read.maps, node, options.zones));
  const auto kept = std::make_shared<const manager::EffectiveSettings>(std::move(found));
  const manager::EffectiveSettings& settings = *kept;
  const policy::waterline::TidemarkConfig& ours = settings.revision.tidemark;
  const model::Pool& pool = policy::waterline::pool_of(ours, node.meta.labels);
  read.beside = co_await read_surroundings(loop, client, options.config_namespace, options.limit, wanted_by(ours, pool),
                                           ours.classes);
  std::vector<std::string> remarks;  // of what was read
  recall(options, now, read, remarks);
  policy::explain::Grounds grounds{now, settings.ground, {}, {}};
  grounds.evictions.back_off = model::back_off_of(pool);
  if (grounds.evictions.back_off > base::Duration(0)) {
    read.evicted = co_await last_eviction(client, node, read.on.ends, now, options.limit);
    find_eviction(read, now, grounds.evictions);
  }

  const manager::ExpectedUse expected = read.beside.expected(now);
  std::vector<const manager::PodProjection*> bound;
  for (const auto& pod : read.on.pods) bound.push_back(&pod);
  manager::NodeSurroundings around{
      .objects = {bound, read.metric ? &*read.metric : nullptr, read.topology ? &*read.topology : nullptr},
      .revision = settings.revision,
      .plugins = options.plugins,
      .before = {},
      .now = now,
      .mono = loop.clock().monotonic(),
      .permit = permit,
      .waiting = &read.beside.waiting,
      .learned = {.expected = &expected}};
  if (read.manager) {
    around.before.state = read.manager->state;
    around.mono = read.manager->now;
    around.learned.least_offer = read.manager->least_ever;
  }
  around.learned.evicted = evicted_by_side(read, now, around.mono);
  grounds.evictions.side = around.learned.evicted.last_side();
  auto decision = manager::decide_node(node, around);
  grounds.evictions.guard = decision.permit.guard;
  grounds.evictions.known = !read.budgets.newer;
  const auto* budget = permit.budgets == nullptr ? nullptr : permit.budgets->pool(pool.name);
  if (budget != nullptr) grounds.evictions.breaker = budget->breaker;
  grounds.young = young_of(options, decision.snapshot, read.on.pods);

  std::vector<std::string> notes = decision.notes;
  if (decision.pool->ledger != model::LedgerConfig()) {
    notes.push_back(read.beside.waiting_pods == 0
                        ? std::string("no batch pod waits for room")
                        : base::cat(read.beside.waiting_pods, " batch pods wait for room; the ledger goes by that"));
  }
  for (const auto line : base::split(settings.notes, '\n')) {
    if (!line.empty()) notes.emplace_back(line);
  }
  if (decision.offer.motion && !read.manager) {
    notes.emplace_back(
        "how far an offer has moved is the manager's memory (--journal-dir reads its journal); shown is what one that "
        "starts now would do");
  }
  if (grounds.evictions.back_off > base::Duration(0) && !grounds.evictions.evicted_ago && !read.manager) {
    notes.push_back(base::cat("no pod or event of the node shows the eviction that it backs off from (",
                              manager::kBacksOffEvent, ", ", manager::kYarnBacksOffEvent,
                              "); if both are gone, only the manager's journal has it: give --journal-dir"));
  }
  if (!overrides) notes.push_back(base::cat("overrides of the water line: ", overrides.error().message));
  if (!read.budgets.problem.empty()) {
    notes.push_back(base::cat(map_name(options, model::kBudgetsName), ": ", read.budgets.problem));
  }
  for (const auto* more : {&read.beside.notes, &read.evicted.notes, &remarks}) {
    notes.insert(notes.end(), more->begin(), more->end());
  }
  std::vector<policy::explain::Source> sources = sources_of(options, read, grounds);
  if (decision.permit.state.strictest() >= model::NodeState::kDraining) {
    notes.emplace_back("the numbers above are what the settings would give if the node were on");
  }
  co_return Explanation{kept, std::move(decision), std::move(grounds), std::move(sources), std::move(notes)};
}

const policy::sell::OvercommitPlan& Explanation::shown() const {
  return decision.permit.state.strictest() >= model::NodeState::kDraining ? decision.offer.plan : decision.plan();
}

policy::explain::OfferNames Explanation::names() const {
  return {decision.strategy().profile, decision.calendar, &decision.basis.in_force.overrides,
          policy::sell::back_off_left(*decision.pool, decision.basis.evicted, decision.basis.mono)};
}

Json render_json(const Explanation& explanation) {
  const manager::NodeDecision& decision = explanation.decision;
  Json out = policy::explain::render_json(explanation.shown(), decision.snapshot, decision.strategy());
  out["state"] = policy::explain::render_json(decision.permit.state);
  out["state"]["text"] = Json(manager::node_permit_text(decision.permit));
  out["state"]["writes"] = Json(decision.writes());
  if (decision.permit.left.reason) out["state"]["watched"] = Json(model::reason_id(*decision.permit.left.reason));
  policy::explain::add_json(out, explanation.grounds);
  out["offer"] = policy::explain::render_json(decision.offer, explanation.names());
  if (!decision.kubernetes_off.classes.empty()) {
    out["withdrawnOfClasses"] =
        Json::object({{"kubernetes", policy::explain::classes_off_json(decision.kubernetes_off)},
                      {"yarn", policy::explain::classes_off_json(decision.yarn_off)}});
  }
  out["sources"] = policy::explain::render_json(explanation.sources);
  out["notes"] = Json::array();
  for (const auto& note : explanation.notes) out["notes"].as_array().push_back(Json(note));
  return out;
}

}  // namespace tidemark::operate
