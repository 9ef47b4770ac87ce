#include "manager/specs/node_specs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "manager/capacity/decide.h"
#include "manager/specs/node_metric_spec.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

constexpr base::Duration kSyncPatience = std::chrono::minutes(1);

kube::InformerConfig informer(const kube::Resource& resource) {
  kube::InformerConfig config;
  config.resource = resource;
  return config;
}

// What of a node its specs are made from. (The peer looks again when allocatable changes, which no spec depends on.)
bool same_inputs(const kube::Node& a, const kube::Node& b) {
  const auto same_label = [](const kube::TextMap::Entry& x, const kube::TextMap::Entry& y) {
    return x.key == y.key && x.value == y.value;
  };
  const auto same_annotation = [&](std::string_view key) {
    const kube::Text* x = a.meta.annotations.find(key);
    const kube::Text* y = b.meta.annotations.find(key);
    return x == nullptr || y == nullptr ? x == y : *x == *y;
  };
  return std::equal(a.meta.labels.begin(), a.meta.labels.end(), b.meta.labels.begin(), b.meta.labels.end(),
                    same_label) &&
         same_annotation(model::kNetworkBandwidthAnnotation) && same_annotation(model::kColocationStrategyAnnotation) &&
         same_annotation(model::kNodeSettingsAnnotation);
}

// The peer's names of what it parses, part by part.
constexpr std::array<std::string_view, model::kSloParts> kParseNames{"getResourceThresholdSpec", "getResourceQOSSpec",
                                                                     "getCPUBurstConfigSpec", "getSystemConfigSpec",
                                                                     "getHostApplicationConfig"};

}  // namespace

NodeSpecs::NodeSpecs(const Shared& shared, kube::Informer<kube::Node>& nodes, kube::Informer<kube::NodeMetric>& metrics,
                     Settings& settings, base::Random random, NodeSpecsOptions options)
    : loop_(shared.loop),
      nodes_(nodes),
      metrics_(metrics),
      settings_(settings),
      log_(shared.log),
      registry_(shared.metrics),
      options_(std::move(options)),
      slos_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random.fork()},
            informer(kube::kNodeSlos),
            [&interner = shared.interner](std::string_view bytes) {
              return decode_node_slo_projection(bytes, interner);
            }),
      budget_(options_.queries_per_second * kBudgetShare,
              std::max<std::int64_t>(
                  1, static_cast<std::int64_t>(static_cast<double>(options_.query_burst) * kBudgetShare))),
      slo_writes_(shared.loop,
                  {shared.reader, shared.writer, budget_, options_.leading, options_.write_limit, options_.contests},
                  {kube::kNodeSlos, "nodeslo", "slo_controller_nodeslo_reconcile_count",
                   "NodeSLOs created, patched and deleted.",
                   [this](const model::NodeName& node) { return decide_slo(node); }, KeptObject::kNodeSlo,
                   [&interner = shared.interner](std::string_view bytes) {
                     const auto slo = decode_node_slo_projection(bytes, interner);
                     return slo ? content_of(*slo) : 0;
                   }},
                  shared.log, shared.metrics, random.fork()),
      metric_writes_(shared.loop,
                     {shared.reader, shared.writer, budget_, options_.leading, options_.write_limit, options_.contests},
                     {kube::kNodeMetrics, "nodemetric", "slo_controller_nodemetric_reconcile_count",
                      "NodeMetrics created, patched and deleted.",
                      [this](const model::NodeName& node) { return decide_metric(node); }, KeptObject::kNodeMetric,
                      [&interner = shared.interner](std::string_view bytes) {
                        const auto metric = kube::decode_node_metric(bytes, metric_fields(), interner);
                        return metric ? content_of(*metric) : 0;
                      }},
                     shared.log, shared.metrics, random.fork()),
      scope_(shared.loop) {
  nodes_.subscribe([this](const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after) {
    node_changed(key, before, after);
  });
  slos_.subscribe([this](const kube::ObjectKey& key, const NodeSloProjection*, const NodeSloProjection*) {
    slo_writes_.look_at(key.name);
  });
  // Every report changes the status; only another generation is another spec.
  metrics_.subscribe([this](const kube::ObjectKey& key, const kube::NodeMetric* before, const kube::NodeMetric* after) {
    const bool reported = before != nullptr && after != nullptr && before->meta.uid == after->meta.uid &&
                          before->meta.generation == after->meta.generation;
    if (!reported) metric_writes_.look_at(key.name);
  });
  settings_.subscribe([this](const SettingsChange& change) {
    if (!change.node) return look_at_all();
    slo_writes_.look_at(change.node->value);
    metric_writes_.look_at(change.node->value);
  });
}

void NodeSpecs::start() {
  if (options_.node_slos) {
    scope_.spawn(slos_.run());
    scope_.spawn(start_slo_workers());
  }
  if (options_.node_metrics) scope_.spawn(start_metric_workers());
}

net::Task<void> NodeSpecs::wait_for_nodes() {
  while (!co_await nodes_.wait_synced(kSyncPatience)) {
  }
  while (!co_await settings_.wait_read(kSyncPatience)) {
  }
}

net::Task<void> NodeSpecs::start_slo_workers() {
  co_await wait_for_nodes();
  while (!co_await slos_.wait_synced(kSyncPatience)) {
  }
  for (std::int64_t i = 0; i < options_.workers; ++i) scope_.spawn(slo_writes_.work());
}

net::Task<void> NodeSpecs::start_metric_workers() {
  co_await wait_for_nodes();
  while (!co_await metrics_.wait_synced(kSyncPatience)) {
  }
  for (std::int64_t i = 0; i < options_.workers; ++i) scope_.spawn(metric_writes_.work());
}

void NodeSpecs::look_at(const std::string& node) {
  slo_writes_.look_at(node);
  metric_writes_.look_at(node);
}

void NodeSpecs::look_at_all() {
  nodes_.for_each([this](const kube::ObjectKey& key, const kube::Node&) {
    slo_writes_.look_at(key.name);
    metric_writes_.look_at(key.name);
  });
  slos_.for_each([this](const kube::ObjectKey& key, const NodeSloProjection&) { slo_writes_.look_at(key.name); });
  metrics_.for_each([this](const kube::ObjectKey& key, const kube::NodeMetric&) { metric_writes_.look_at(key.name); });
}

void NodeSpecs::node_changed(const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after) {
  if (before != nullptr && after != nullptr && same_inputs(*before, *after)) return;
  slo_writes_.look_at(key.name);
  metric_writes_.look_at(key.name);
}

std::string NodeSpecs::not_ready() const {
  return slos_.synced() || !options_.node_slos ? "" : "nodeslos are not listed yet";
}

const Revision& NodeSpecs::settings_of(const model::NodeName& node) const {
  const kube::Node* found = nodes_.find({"", node.value});
  return found == nullptr ? settings_.for_node(node) : settings_.for_node(*found);
}

bool NodeSpecs::held(const kube::Node* node, model::Mode model::PoolModes::* mode) const {
  return node != nullptr && options_.held && options_.held(*node, mode);
}

NodeSloDecision NodeSpecs::slo_decision(const kube::Node* node, const kube::ObjectKey& key) const {
  const auto known = node != nullptr && options_.told ? options_.told(*node) : policy::settings::KnownTold();
  return decide_node_slo(node, slos_.find(key), settings_of(model::NodeName(key.name)), loop_.clock().wall(),
                         options_.overrides ? options_.overrides() : nullptr, known, &memos_);
}

bool NodeSpecs::told(const kube::Node& node) const {
  if (!options_.node_slos || held(&node, &model::PoolModes::node_slo)) return true;
  if (!slos_.synced()) return false;
  return slo_decision(&node, {"", std::string(node.meta.name)}).plan.action == NodeObjectPlan::Action::kNone;
}

NodeObjectPlan NodeSpecs::decide_slo(const model::NodeName& node) {
  const kube::ObjectKey key{"", node.value};
  const kube::Node* found = nodes_.find(key);
  if (held(found, &model::PoolModes::node_slo)) {
    forget_own_settings(node.value);
    return {};
  }
  auto decision = slo_decision(found, key);
  if (found != nullptr && decision.plan.action == NodeObjectPlan::Action::kNone && options_.on_told) {
    options_.on_told(*found);
  }
  if (options_.leading()) trouble_of_own_settings(node.value, found, decision);
  if (decision.plan.action == NodeObjectPlan::Action::kRemove) return std::move(decision.plan);
  for (std::size_t i = 0; i < model::kSloParts; ++i) {
    count_parse("slo_controller_nodeslo_spec_parse_count", "Parts of NodeSLO specs computed from the settings.",
                kParseNames[i], decision.spec.parts[i].note != model::Reason::kSloBandwidthUnreadable);
  }
  return std::move(decision.plan);
}

void NodeSpecs::leave() {
  bad_settings_.clear();
  show_bad_settings();
}

void NodeSpecs::forget_own_settings(const std::string& name) {
  if (bad_settings_.erase(name) > 0) show_bad_settings();
}

void NodeSpecs::show_bad_settings() {
  registry_
      .gauge("tidemark_node_settings_invalid",
             "Nodes whose own settings (annotation tidemark.io/settings) are refused.")
      .set(static_cast<double>(bad_settings_.size()));
}

void NodeSpecs::trouble_of_own_settings(const std::string& name, const kube::Node* node,
                                        const NodeSloDecision& decision) {
  const auto known = bad_settings_.find(name);
  if (decision.own_problem.empty()) {
    forget_own_settings(name);
    return;
  }
  if (known != bad_settings_.end() && known->second == decision.own_problem) return;
  bad_settings_.insert_or_assign(name, decision.own_problem);
  const std::string_view why = model::reason_sentence(*decision.own_note);
  log_.error(why, {{"node", name},
                   {"annotation", model::kNodeSettingsAnnotation},
                   {"reason", model::reason_id(*decision.own_note)},
                   {"problem", decision.own_problem}});
  if (options_.recorder != nullptr) {
    options_.recorder->record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                              "NodeSettingsInvalid",
                              base::cat(why, " [", model::reason_id(*decision.own_note), "] ",
                                        model::kNodeSettingsAnnotation, ": ", decision.own_problem));
  }
  show_bad_settings();
}

NodeObjectPlan NodeSpecs::decide_metric(const model::NodeName& node) {
  const kube::ObjectKey key{"", node.value};
  auto decision = decide_node_metric(nodes_.find(key), metrics_.find(key), settings_of(node).colocation);
  // An agent reports only into an existing NodeMetric, and what it would offer is computed from that. An existing one
  // may have another owner and stays.
  const bool missing = decision.plan.action == NodeObjectPlan::Action::kCreate;
  if (!missing && held(nodes_.find(key), &model::PoolModes::capacity)) return {};
  if (decision.collect) {
    count_parse("slo_controller_nodemetric_spec_parse_count", "NodeMetric specs computed from the settings.",
                "getNodeMetricCollectPolicy", decision.collect->reason == model::Reason::kCollectFromStrategy);
  }
  return std::move(decision.plan);
}

// Koordinator's count, by its names.
void NodeSpecs::count_parse(std::string_view metric, std::string_view help, std::string_view what, bool succeeded) {
  registry_.counter(metric, help, {{"status", succeeded ? "succeeded" : "failed"}, {"reason", what}}).add();
}

}  // namespace tidemark::manager
