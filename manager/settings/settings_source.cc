#include "manager/settings/settings_source.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "manager/capacity/decide.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kTidemarkRefusedEvent = "TidemarkConfigInvalid";

kube::InformerConfig only(std::string ns, std::string_view name, std::string_view metrics_name) {
  kube::InformerConfig config;
  config.name = metrics_name;
  config.resource = kube::kConfigMaps;
  config.ns = std::move(ns);
  config.field_selector = base::cat("metadata.name=", name);
  return config;
}

kube::Informer<kube::ConfigMap>::Decode all_data(kube::Interner& interner) {
  return [&interner](std::string_view bytes) {
    return kube::decode_config_map(bytes, {}, kube::KeyFilter::all(), interner);
  };
}

}  // namespace

SettingsSource::SettingsSource(const Shared& shared, SettingsSourceOptions options, base::Random random,
                               std::function<void()> on_change)
    : options_(std::move(options)),
      recorder_(shared.recorder),
      log_(shared.log),
      slo_maps_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random.fork()},
                only(options_.config_namespace, options_.config_name, "settings"), all_data(shared.interner)),
      tidemark_maps_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random.fork()},
                     only(options_.config_namespace, model::kTidemarkConfigName, "tidemark-config"),
                     all_data(shared.interner)),
      good_(shared.metrics.gauge("tidemark_manager_config_good",
                                 "1 while the co-location settings in force are those in the ConfigMaps.")),
      on_change_(std::move(on_change)),
      scope_(shared.loop) {
  // A ConfigMap that is deleted leaves what is in force.
  slo_maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    if (taking_ && after != nullptr) take_slo(after);
  });
  tidemark_maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    if (taking_) take_tidemark(after);
  });
}

void SettingsSource::start() {
  scope_.spawn(slo_maps_.run());
  scope_.spawn(tidemark_maps_.run());
}

net::Task<bool> SettingsSource::wait_synced(base::Duration limit) {
  if (!co_await slo_maps_.wait_synced(limit)) co_return false;
  co_return co_await tidemark_maps_.wait_synced(limit);
}

void SettingsSource::seed(const Revision& last_good) {
  // Contract 4.3: without a ConfigMap at the first use the defaults hold. Our own settings have no such rule.
  if (slo_maps_.find({options_.config_namespace, options_.config_name}) == nullptr && !last_good.texts.tidemark) return;
  newest_ = last_good;
  if (last_good.texts.tidemark) tidemark_ = {last_good.tidemark, last_good.texts.tidemark};
}

void SettingsSource::take() {
  const kube::ConfigMap* slo = slo_maps_.find({options_.config_namespace, options_.config_name});
  const kube::ConfigMap* tidemark =
      tidemark_maps_.find({options_.config_namespace, std::string(model::kTidemarkConfigName)});
  take_slo(slo);
  take_tidemark(tidemark);
  taking_ = true;
  changed();
}

void SettingsSource::take_slo(const kube::ConfigMap* map) {
  std::set<std::string, std::less<>> names;
  if (map != nullptr) {
    for (const auto& [key, text] : map->data) names.emplace(key.view());
  }
  for (const auto& [name, key] : keys_) names.insert(name);
  for (const auto& [name, text] : newest_.texts.slo) names.insert(name);
  const auto parts = revision_parts();
  for (const auto& part : parts) names.emplace(part.key);

  bool any = false;
  for (const std::string& name : names) {
    const model::ConfigSource source = config_source(map, name);
    Key& key = keys_[name];
    // Contract 4.3: an update whose data is the same is ignored; here key by key.
    if (key.read && source.found == key.found && source.text == key.text) continue;
    key.read = true;
    key.found = source.found;
    key.text = source.text;
    any = true;
    RevisionPart::Taken taken;
    const auto part = std::ranges::find(parts, std::string_view(name), &RevisionPart::key);
    if (part != parts.end()) taken = part->take(newest_, source);
    key.good = is_good(taken.reason);
    if (key.good && source.found) {
      if (source.text) {
        newest_.texts.slo[name] = std::string(*source.text);
      } else {
        newest_.texts.slo.erase(name);
      }
    }
    if (!taken.problem.empty()) {
      const bool bad_json = taken.reason == model::Reason::kConfigBadJson;
      refused(map, name, taken.reason, taken.problem, bad_json ? part->bad_json_event : "");
    } else if (part != parts.end()) {
      log_.info("settings read", {{"key", name}, {"reason", model::reason_id(taken.reason)}});
    }
  }
  if (any) changed();
}

void SettingsSource::take_tidemark(const kube::ConfigMap* map) {
  std::optional<std::map<std::string, std::string>> data;
  if (map != nullptr) {
    data.emplace();
    for (const auto& [key, text] : map->data) data->emplace(key.view(), text.view());
  }
  if (tidemark_read_ && data == tidemark_data_) return;
  tidemark_read_ = true;
  tidemark_data_ = std::move(data);

  policy::settings::TidemarkSource source;
  source.found = tidemark_data_.has_value();
  if (tidemark_data_) {
    for (const auto& [key, text] : *tidemark_data_) {
      if (key == model::kTidemarkConfigKey) {
        source.text = text;
      } else {
        source.other_keys.push_back(key);
      }
    }
  }
  auto step = policy::settings::next_tidemark_config(
      tidemark_, source, source.text ? options_.zones(*source.text) : policy::waterline::Zones());
  tidemark_good_ = is_good(step.reason);
  tidemark_ = std::move(step.state);
  if (tidemark_.config) newest_.tidemark = *tidemark_.config;
  newest_.texts.tidemark = tidemark_.text;
  if (!step.problem.empty()) {
    refused(map, model::kTidemarkConfigName, step.reason, step.problem, kTidemarkRefusedEvent);
  } else {
    log_.info("settings read", {{"key", model::kTidemarkConfigName}, {"reason", model::reason_id(step.reason)}});
  }
  changed();
}

void SettingsSource::let_go_of_tidemark() {
  if (!tidemark_read_ || tidemark_data_ || !tidemark_.text) return;
  tidemark_ = {policy::waterline::drop_in(), std::nullopt};
  tidemark_good_ = true;
  newest_.tidemark = *tidemark_.config;
  newest_.texts.tidemark.reset();
  changed();
}

void SettingsSource::refused(const kube::ConfigMap* map, std::string_view key, model::Reason reason,
                             const std::string& problem, std::string_view event) {
  log_.error("settings refused; the last good ones stay in force",
             {{"key", key}, {"reason", model::reason_id(reason)}, {"problem", problem}});
  if (map == nullptr || event.empty()) return;
  recorder_.record(
      {"v1", "ConfigMap", std::string(map->meta.ns), std::string(map->meta.name), std::string(map->meta.uid)},
      kube::EventSeverity::kWarning, event, problem);
}

void SettingsSource::changed() {
  newest_.hash = policy::settings::hash_of(newest_.texts);
  const bool good = tidemark_good_ && std::ranges::all_of(keys_, [](const auto& entry) { return entry.second.good; });
  good_.set(good ? 1 : 0);
  if (taking_) on_change_();
}

}  // namespace tidemark::manager
