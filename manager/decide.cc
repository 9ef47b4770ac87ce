#include "manager/decide.h"

#include <optional>
#include <string_view>
#include <utility>

#include "kube/convert.h"
#include "manager/capacity_patch.h"
#include "model/names.h"

namespace tidemark::manager {

namespace {

std::optional<std::string_view> strategy_annotation(const kube::Node& node) {
  const auto* text = node.meta.annotations.find(model::kColocationStrategyAnnotation);
  return text == nullptr ? std::nullopt : std::optional(text->view());
}

}  // namespace

std::vector<model::Label> labels_of(const kube::Node& node) {
  std::vector<model::Label> labels;
  labels.reserve(node.meta.labels.size());
  for (const auto& label : node.meta.labels) labels.push_back({std::string(label.key), std::string(label.value)});
  return labels;
}

policy::NodeStrategy strategy_of_node(const kube::Node& node, const policy::ColocationConfig& config,
                                      policy::Profile profile) {
  return policy::strategy_for(config, labels_of(node), strategy_annotation(node), profile);
}

NodeDecision decide_node(const kube::Node& node, const NodeSurroundings& around) {
  std::vector<model::PodView> views;
  views.reserve(around.pods.size());
  for (const PodProjection* pod : around.pods) views.push_back(pod->view());
  auto conversion = kube::to_node_snapshot(node, std::move(views), around.metric, around.topology);
  NodeDecision decision;
  decision.snapshot = std::move(conversion.snapshot);
  decision.notes = std::move(conversion.notes);
  const Revision& revision = around.revision;
  const std::vector<model::Label> labels = labels_of(node);
  const policy::Pool& pool = policy::pool_of(revision.tidemark, labels);
  decision.pool = &pool;
  const policy::OvercommitSettings settings{
      *revision.colocation.config, revision.normalization ? &*revision.normalization : nullptr,
      revision.amplification ? &*revision.amplification : nullptr, around.plugins, pool.profile};
  const auto strategy = policy::strategy_for(settings, labels, strategy_annotation(node));
  if (pool.calendar) decision.calendar = &revision.tidemark.calendars[*pool.calendar];
  const policy::OfferInput input{
      decision.snapshot, strategy, pool, decision.calendar, std::nullopt, decision.snapshot.origin,
      std::nullopt,      {},       {},   around.now,        around.mono};
  auto step = policy::offer(around.state, input);
  decision.offer = std::move(step.offer);
  decision.state = std::move(step.state);
  return decision;
}

policy::ConfigSource config_source(const kube::ConfigMap* map, std::string_view key) {
  policy::ConfigSource source;
  source.found = map != nullptr;
  if (map != nullptr) {
    if (const auto* text = map->data.find(key)) source.text = text->view();
  }
  return source;
}

kube::NodeFields node_fields() {
  kube::NodeFields fields = kube::overcommit_node_fields();
  fields.meta.annotations = {model::kColocationStrategyAnnotation,
                             model::kNetworkBandwidthAnnotation,
                             model::kReservationAnnotation,
                             model::kOriginAllocatableAnnotation,
                             model::kThirdPartyAllocationsAnnotation,
                             model::kNormalizationRatioAnnotation,
                             model::kAmplificationRatioAnnotation,
                             kEpochAnnotation,
                             model::kConfigHashAnnotation};
  return fields;
}

kube::NodeMetricFields metric_fields() {
  return kube::overcommit_node_metric_fields();
}

kube::MetaFields topology_fields() {
  kube::MetaFields fields = kube::overcommit_topology_fields();
  fields.annotations = {model::kCpuBasicInfoAnnotation, kEpochAnnotation};
  return fields;
}

}  // namespace tidemark::manager
