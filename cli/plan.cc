#include "cli/plan.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/get.h"
#include "cli/list_pages.h"
#include "cli/plan_changes.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/pod_projection.h"
#include "manager/settings/effective.h"
#include "manager/specs/node_slo.h"
#include "model/names.h"
#include "policy/render/admission_text.h"
#include "policy/rollout/stored.h"
#include "policy/settings/check.h"

namespace tidemark::cli {
namespace {

using base::cat;
using Data = std::map<std::string, std::string>;

// The data of the manifests; nullopt: the file has none of that name.
struct NewSettings {
  std::optional<Data> slo;
  std::optional<Data> tidemark;
};

Result<Data> data_in(const Json& map) {
  Data data;
  const Json* members = map.member("data");
  if (members == nullptr || members->is_null()) return data;
  if (!members->is_object()) return fail(ErrorKind::kInvalid, "data: wanted texts by key");
  for (const auto& [key, text] : members->as_object()) {
    if (!text.is_string()) return fail(ErrorKind::kInvalid, "data.", key, ": wanted a text");
    data[key] = text.as_string();
  }
  return data;
}

// Every document that is none of the two is told.
std::vector<std::string> read_manifests(const PlanOptions& options, NewSettings& found) {
  auto documents = base::parse_yaml_documents(options.text);
  if (!documents) return {documents.error().message};
  std::vector<std::string> problems;
  std::vector<Json> objects;
  for (Json& document : *documents) {
    if (const Json* items = document.member("items"); items != nullptr && items->is_array()) {
      objects.insert(objects.end(), items->as_array().begin(), items->as_array().end());
    } else {
      objects.push_back(std::move(document));
    }
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Json& object = objects[i];
    const auto name = object.text_at("metadata", "name");
    const auto place = cat("document ", i + 1, " (", object.text_at("kind"), " ", name, "): ");
    auto* into = name == options.config_name          ? &found.slo
                 : name == model::kTidemarkConfigName ? &found.tidemark
                                                      : nullptr;
    if (object.text_at("kind") != "ConfigMap" || into == nullptr) {
      problems.push_back(cat(place, "wanted ConfigMap ", options.config_name, " or ", model::kTidemarkConfigName));
      continue;
    }
    auto data = data_in(object);
    if (!data) {
      problems.push_back(place + data.error().message);
    } else if (*into) {
      problems.push_back(place + "it is there twice");
    } else {
      *into = std::move(*data);
    }
  }
  if (problems.empty() && !found.slo && !found.tidemark) problems.emplace_back("the file has no ConfigMap");
  return problems;
}

struct ClusterNow {
  kube::Interner interner;
  std::vector<kube::Node> nodes;
  std::map<std::string, kube::NodeMetric, std::less<>> metrics;
  std::map<std::string, kube::NodeResourceTopology, std::less<>> topologies;
  std::vector<manager::PodProjection> pods;
  std::map<std::string_view, std::vector<const manager::PodProjection*>> pods_of;
  manager::SettingsMaps maps;
};

net::Task<Result<void>> read_cluster(net::EventLoop& loop, kube::Client& client, const PlanOptions& options,
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
  pods.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, std::move(pods), options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto pod, manager::decode_pod_projection(item, now.interner));
        now.pods.push_back(std::move(pod));
        return {};
      },
      [&] { now.pods.clear(); }));
  for (const auto& pod : now.pods) now.pods_of[pod.node_name.view()].push_back(&pod);
  const auto map = [&](std::string_view name) {
    return config_map(client, options.config_namespace, std::string(name), options.limit, now.interner);
  };
  TM_CO_TRY(now.maps.slo, co_await map(options.config_name));
  TM_CO_TRY(now.maps.tidemark, co_await map(model::kTidemarkConfigName));
  TM_CO_TRY(now.maps.revisions, co_await map(model::kRevisionsName));
  co_return Result<void>();
}

std::vector<policy::SettingsKey> keys_of(const Data& data) {
  std::vector<policy::SettingsKey> keys;
  for (const auto& [key, text] : data) keys.push_back({key, text});
  return keys;
}

// All that is wrong with the new settings, by the rules of the webhook.
void check(const NewSettings& wanted, const ClusterNow& now, const PlanOptions& options,
           std::vector<std::string>& problems, std::vector<std::string>& warnings) {
  if (wanted.slo) {
    std::vector<std::vector<model::Label>> labels;
    std::vector<policy::LabelledNode> nodes;
    labels.reserve(now.nodes.size());  // under the nodes
    for (const auto& node : now.nodes) {
      labels.push_back(manager::labels_of(node));
      nodes.push_back({node.meta.name.view(), labels.back()});
    }
    // Against nothing, so that every key is looked at.
    const auto after = keys_of(*wanted.slo);
    policy::SettingsEdit edit;
    edit.after = after;
    edit.nodes = nodes;
    const auto verdict = policy::check_settings(edit);
    for (const auto& problem : verdict.errors) problems.push_back(policy::render_text(problem));
    for (const auto& problem : verdict.warnings) warnings.push_back(policy::render_text(problem));
    if (verdict.left_off > 0) problems.push_back(cat("and ", verdict.left_off, " more"));
  }
  if (!wanted.tidemark) return;
  for (const auto& [key, text] : *wanted.tidemark) {
    if (key != model::kTidemarkConfigKey) {
      problems.push_back(cat(model::kTidemarkConfigName, ": key ", key, ": wanted only ", model::kTidemarkConfigKey));
      continue;
    }
    const auto config = policy::parse_tidemark_config(text, options.zones(text));
    if (config) continue;
    for (const auto& problem : config.error()) {
      problems.push_back(
          cat(model::kTidemarkConfigName, ": ", problem.place, problem.place.empty() ? "" : ": ", problem.why));
    }
  }
}

std::string list_text(const std::vector<std::string>& problems, bool json) {
  if (json) {
    Json out = Json::object({{"schema", 1}, {"errors", Json::array()}});
    for (const auto& problem : problems) out["errors"].as_array().push_back(Json(problem));
    return out.dump_pretty() + "\n";
  }
  std::string out = "the new settings cannot be used:\n";
  for (const auto& problem : problems) out += cat("  ", problem, "\n");
  return out;
}

// Of most clusters one set of settings is in force on every node; while a roll-out is under way each is asked for.
class InForce {
 public:
  InForce(const ClusterNow& now, const PlanOptions& options) : now_(now), options_(options) {
    if (!now.maps.revisions) return;
    const auto stored = policy::decode_stored(manager::data_of(*now.maps.revisions));
    by_node_ = stored.state && stored.state->layers.size() > 1;
    if (!by_node_) return;
    if (const auto* target = policy::find_revision(stored.book, stored.state->target())) target_ = target->texts;
  }
  Result<const manager::EffectiveSettings*> on(const kube::Node& node) {
    if (!known_ || by_node_) {
      TM_TRY(known_, manager::effective_settings(now_.maps, node, options_.zones));
    }
    return &*known_;
  }
  bool by_node() const { return by_node_; }
  // Of the settings that every node is to have once a roll-out is over; nullopt: those in force on any node.
  const std::optional<policy::SettingsTexts>& target() const { return target_; }

 private:
  const ClusterNow& now_;
  const PlanOptions& options_;
  bool by_node_ = false;
  std::optional<policy::SettingsTexts> target_;
  std::optional<manager::EffectiveSettings> known_;
};

manager::NodeDecision decided(const ClusterNow& now, const kube::Node& node, const manager::Revision& revision,
                              const PlanOptions& options, const base::Clock& clock) {
  const auto metric = now.metrics.find(node.meta.name.view());
  const auto topology = now.topologies.find(node.meta.name.view());
  const auto pods = now.pods_of.find(node.meta.name.view());
  const manager::NodeSurroundings around{
      pods == now.pods_of.end() ? std::span<const manager::PodProjection* const>() : pods->second,
      metric == now.metrics.end() ? nullptr : &metric->second,
      topology == now.topologies.end() ? nullptr : &topology->second,
      revision,
      options.plugins,
      policy::OfferState(),
      clock.wall(),
      clock.monotonic()};
  return manager::decide_node(node, around);
}

}  // namespace

net::Task<Result<PlanReport>> plan_settings(net::EventLoop& loop, kube::Client& client, PlanOptions options) {
  NewSettings wanted;
  std::vector<std::string> problems = read_manifests(options, wanted);
  if (!problems.empty()) co_return PlanReport{list_text(problems, options.json), false};
  ClusterNow now;
  TM_CO_TRY_VOID(co_await read_cluster(loop, client, options, now));
  PlanView view;
  view.shown_max = options.shown_max;
  check(wanted, now, options, problems, view.warnings);
  if (!problems.empty()) co_return PlanReport{list_text(problems, options.json), false};

  InForce in_force(now, options);
  std::optional<manager::Revision> after;
  std::vector<NodeChange> changes;
  bool moves = false;
  for (const kube::Node& node : now.nodes) {
    TM_CO_TRY(const auto* const before, in_force.on(node));
    if (!after) {
      policy::SettingsTexts texts = in_force.target().value_or(before->revision.texts);
      if (wanted.slo) texts.slo = *wanted.slo;
      if (wanted.tidemark) {
        const auto key = wanted.tidemark->find(std::string(model::kTidemarkConfigKey));
        texts.tidemark = key == wanted.tidemark->end() ? std::nullopt : std::optional(key->second);
      }
      after = manager::revision_of(texts, options.zones);
      if (!after || !after->colocation.config) {
        co_return fail(ErrorKind::kInvalid, "the settings in force beside the new ones cannot be used together");
      }
    }
    const auto labels = manager::labels_of(node);
    const auto was = decided(now, node, before->revision, options, loop.clock());
    const auto is = decided(now, node, *after, options, loop.clock());
    moves = moves || is.offer.motion;
    changes.push_back(
        {std::string(node.meta.name.view()), offered_of(was, policy::pool_of(before->revision.tidemark, labels).name),
         offered_of(is, policy::pool_of(after->tidemark, labels).name),
         changed_parts(manager::decide_node_slo(&node, nullptr, before->revision, loop.clock().wall()).spec,
                       manager::decide_node_slo(&node, nullptr, *after, loop.clock().wall()).spec)});
  }
  if (in_force.by_node())
    view.notes.emplace_back("a roll-out is under way; before is what is in force on each node now");
  if (moves) {
    view.notes.emplace_back("with profile tidemark an offer grows in steps: shown is the first of them");
  }
  view.notes.emplace_back("nodes that are off or observed are shown as if they were on");
  view.notes.emplace_back("new settings reach the nodes as their roll-out says (tidemark list revisions)");
  co_return PlanReport{
      options.json ? plan_json(std::move(changes), view).dump_pretty() + "\n" : plan_text(std::move(changes), view),
      true};
}

}  // namespace tidemark::cli
