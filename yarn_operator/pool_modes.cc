#include "yarn_operator/pool_modes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace tidemark::yarn_operator {
namespace {

kube::InformerConfig config_of(const std::string& ns) {
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", model::kTidemarkConfigName);
  // Koordinator's role does not allow its operator to list them: then there are none.
  config.may_be_absent = true;
  return config;
}

}  // namespace

const model::Pool& pool_of_node(const policy::waterline::TidemarkConfig& config, const kube::Node& node) {
  return policy::waterline::pool_of(config, node.meta.labels);
}

PoolModes::PoolModes(const kube::InformerParts& parts, kube::Interner& interner, const std::string& ns, ZonesOf zones,
                     std::function<void()> on_change)
    : log_(parts.log),
      ns_(ns),
      zones_(std::move(zones)),
      maps_(parts, config_of(ns), [&interner](std::string_view bytes) {
        return kube::decode_config_map(bytes, {}, kube::KeyFilter::all(), interner);
      }) {
  maps_.subscribe(
      [this, on_change = std::move(on_change)](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap*) {
        old_ = true;
        on_change();
      });
}

void PoolModes::read() {
  old_ = false;
  policy::settings::TidemarkSource source;
  std::string text;
  const kube::ConfigMap* map = maps_.find({ns_, std::string(model::kTidemarkConfigName)});
  source.found = map != nullptr;
  if (map != nullptr) {
    for (const auto& [key, value] : map->data) {
      if (key == model::kTidemarkConfigKey) {
        text = value.view();
        source.text = text;
      } else {
        source.other_keys.emplace_back(key.view());
      }
    }
  }
  auto step =
      policy::settings::next_tidemark_config(state_, source, source.text ? zones_(text) : policy::waterline::Zones());
  state_ = std::move(step.state);
  if (!step.problem.empty()) {
    log_.warn("settings rejected",
              {{"map", model::kTidemarkConfigName}, {"reason", model::reason_id(step.reason)}, {"why", step.problem}});
  }
}

model::Mode PoolModes::of(const kube::Node& node) {
  if (old_) read();
  if (!state_.config) return model::Mode::kObserve;  // no text could ever be read
  return pool_of_node(*state_.config, node).modes.yarn;
}

std::string PoolModes::pool_of(const kube::Node& node) {
  if (old_) read();
  return state_.config ? pool_of_node(*state_.config, node).name : std::string();
}

bool PoolModes::names_class(std::string_view name) {
  if (old_) read();
  if (!state_.config) return true;  // unreadable settings are reported elsewhere
  return std::ranges::find(state_.config->classes, name, &model::WorkClass::name) != state_.config->classes.end();
}

}  // namespace tidemark::yarn_operator
