#include "manager/webhook/settings_watch.h"

#include <utility>

#include "base/text.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "policy/admission/pod_json.h"

namespace tidemark::manager {
namespace {

using base::cat;

kube::InformerConfig only(std::string ns, std::string_view name, std::string_view metrics_name) {
  kube::InformerConfig config;
  config.name = metrics_name;
  config.resource = kube::kConfigMaps;
  config.ns = std::move(ns);
  config.field_selector = cat("metadata.name=", name);
  return config;
}

// What the webhook's object selector asks for, by the ConfigMap's name.
std::string_view label_for(std::string_view name) {
  return name == model::kTidemarkConfigName ? "tidemark-config" : "slo-controller-config";
}

bool labelled(const kube::ConfigMap& map) {
  const auto value = map.meta.labels.get(model::kConfigMapTypeLabel);
  return value == "slo-controller-config" || value == "tidemark-config";
}

}  // namespace

SettingsWatch::SettingsWatch(const Shared& shared, base::Random random, SettingsWatchOptions options)
    : options_(std::move(options)),
      loop_(shared.loop),
      recorder_(shared.recorder),
      log_(shared.log),
      metrics_(shared.metrics),
      settings_({shared.loop, shared.reader, shared.watcher, log_, metrics_, random.fork()},
                only(options_.config_namespace, options_.config_name, "webhook-settings"),
                [&interner = shared.interner](std::string_view bytes) {
                  kube::MetaFields fields;
                  fields.labels = {model::kConfigMapTypeLabel};
                  return kube::decode_config_map(bytes, fields, {model::kColocationConfigKey}, interner);
                }),
      ours_({shared.loop, shared.reader, shared.watcher, log_, metrics_, random.fork()},
            only(options_.config_namespace, model::kTidemarkConfigName, "webhook-tidemark-config"),
            [&interner = shared.interner](std::string_view bytes) {
              kube::MetaFields fields;
              fields.labels = {model::kConfigMapTypeLabel};
              return kube::decode_config_map(bytes, fields, {model::kTidemarkConfigKey}, interner);
            }),
      orders_({shared.loop, shared.reader, shared.watcher, log_, metrics_, random.fork()},
              only(options_.config_namespace, model::kStateName, "webhook-state"),
              [&interner = shared.interner](std::string_view bytes) { return decode_state_map(bytes, interner); }),
      scope_(shared.loop) {
  settings_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    take_settings(after);
    watch_label(options_.config_name, after);
  });
  ours_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    take_tidemark(after);
    watch_label(model::kTidemarkConfigName, after);
  });
  orders_.subscribe(
      [this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) { take_orders(after); });
  if (!options_.enhanced_name.empty()) {
    enhanced_ = std::make_unique<kube::Informer<kube::ConfigMap>>(
        kube::InformerParts{shared.loop, shared.reader, shared.watcher, log_, metrics_, random.fork()},
        only(options_.enhanced_namespace, options_.enhanced_name, "webhook-enhanced-settings"),
        [&interner = shared.interner](std::string_view bytes) {
          return kube::decode_config_map(bytes, {}, {"enable", "rules"}, interner);
        });
    enhanced_->subscribe(
        [this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) { take_enhanced(after); });
  }
}

void SettingsWatch::start() {
  scope_.spawn(settings_.run());
  scope_.spawn(ours_.run());
  scope_.spawn(orders_.run());
  if (enhanced_) scope_.spawn(enhanced_->run());
}

bool SettingsWatch::synced() const {
  return settings_.synced() && ours_.synced() && orders_.synced() && (!enhanced_ || enhanced_->synced());
}

void SettingsWatch::take_settings(const kube::ConfigMap* map) {
  if (map == nullptr) return;  // what was in force stays
  model::ConfigSource source;
  if (const auto* text = map->data.find(model::kColocationConfigKey)) source.text = text->view();
  state_ = policy::sell::next_config(state_, source).state;
}

// The manager tells what is wrong with these two; here the last good one goes on.
void SettingsWatch::take_tidemark(const kube::ConfigMap* map) {
  policy::settings::TidemarkSource source;
  source.found = map != nullptr;
  const kube::Text* text = map == nullptr ? nullptr : map->data.find(model::kTidemarkConfigKey);
  if (text != nullptr) source.text = text->view();
  tidemark_ = policy::settings::next_tidemark_config(
                  tidemark_, source, source.text ? options_.zones(*source.text) : policy::waterline::Zones())
                  .state;
}

void SettingsWatch::take_orders(const kube::ConfigMap* map) {
  const kube::Text* text = map == nullptr ? nullptr : map->data.find(model::kStateKey);
  desired_ = policy::state::next_desired(desired_, text == nullptr ? std::nullopt : std::optional(text->view())).state;
}

policy::state::PodScopeState SettingsWatch::scope_of(const Json& pod) const {
  std::vector<model::Label> selector;
  if (const Json* wanted = pod.at("spec", "nodeSelector"); wanted != nullptr && wanted->is_object()) {
    for (const auto& [key, value] : wanted->as_object()) {
      if (value.is_string()) selector.push_back({key, value.as_string()});
    }
  }
  policy::state::PodScope scope;
  if (state_.config) scope.colocation = &*state_.config;
  if (tidemark_.config) scope.config = &*tidemark_.config;
  if (desired_.desired) scope.desired = &*desired_.desired;
  scope.node_selector = selector;
  scope.work_class = policy::admission::pod_text(pod, policy::admission::kLabels, model::kClassLabel).value_or("");
  return policy::state::state_for_pod(scope, loop_.clock().wall());
}

void SettingsWatch::take_enhanced(const kube::ConfigMap* map) {
  if (map == nullptr) {
    enhanced_config_ = {};
    return;
  }
  auto read = policy::admission::read_enhanced_validation(map->data.get("enable"), map->data.get("rules"));
  if (read) {
    enhanced_config_ = std::move(*read);
  } else {
    log_.error("cannot read the required pod labels; the last good ones stay",
               {{"configmap", options_.enhanced_name}, {"error", read.error()}});
  }
}

void SettingsWatch::watch_label(std::string_view name, const kube::ConfigMap* map) {
  if (!options_.warn_of_label) return;
  const bool missing = map != nullptr && !labelled(*map);
  metrics_
      .gauge("tidemark_webhook_settings_unwatched",
             "1 while a ConfigMap of settings lacks the label without which no edit of it is checked.",
             {{"component", name}})
      .set(missing ? 1 : 0);
  if (!missing) return;
  const std::string say =
      cat("edits of this ConfigMap are not validated: it lacks the label ", model::kConfigMapTypeLabel, "=",
          label_for(name), ", by which the API server decides to ask the webhook. kubectl -n ",
          options_.config_namespace, " label configmap ", name, " ", model::kConfigMapTypeLabel, "=", label_for(name));
  log_.warn(say, {{"configmap", name}});
  recorder_.record(
      {"v1", "ConfigMap", std::string(map->meta.ns), std::string(map->meta.name), std::string(map->meta.uid)},
      kube::EventSeverity::kWarning, "SettingsNotChecked", say);
}

}  // namespace tidemark::manager
