#include "manager/settings.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "manager/decide.h"

namespace tidemark::manager {
namespace {

// A step is good when what came is in force; "not found" and refusals leave or make something else.
bool is_good(model::Reason reason) {
  return reason == model::Reason::kConfigApplied || reason == model::Reason::kConfigDefaults;
}

kube::InformerConfig only(std::string ns, std::string_view name) {
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  config.ns = std::move(ns);
  config.field_selector = base::cat("metadata.name=", name);
  return config;
}

}  // namespace

Settings::Settings(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::EventRecorder& recorder,
                   kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
                   std::string config_namespace, std::string config_name)
    : config_namespace_(std::move(config_namespace)),
      config_name_(std::move(config_name)),
      recorder_(recorder),
      log_(log),
      configs_(loop, reader, watcher, log, metrics, random, only(config_namespace_, config_name_),
               [&interner](std::string_view bytes) {
                 return kube::decode_config_map(bytes, {}, kube::KeyFilter::all(), interner);
               }),
      good_(metrics.gauge("tidemark_manager_config_good",
                          "1 while the co-location settings in force are those in the ConfigMap.")),
      read_(loop),
      scope_(loop) {
  configs_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    if (!configs_.synced()) return;  // read once, when the list is in
    // A ConfigMap that is deleted leaves what is in force.
    if (after != nullptr) take(after);
  });
}

void Settings::start() {
  scope_.spawn(configs_.run());
  scope_.spawn(read_first());
}

net::Task<void> Settings::read_first() {
  while (!co_await configs_.wait_synced(std::chrono::minutes(1))) {
  }
  take(configs_.find({config_namespace_, config_name_}));
  read_.set();
}

net::Task<bool> Settings::wait_read(base::Duration limit) {
  return read_.wait_for(limit);
}

std::string Settings::not_ready() const {
  if (!read_.is_set()) return "the configuration is not read yet";
  if (!revision_.colocation.config) return "the configuration cannot be used, and there was none before";
  return "";
}

const Revision& Settings::for_node(const model::NodeName& /*node*/) const {
  return revision_;
}

void Settings::take(const kube::ConfigMap* map) {
  bool changed = take_key(model::kColocationConfigKey, map, "ColocationCfgUnmarshalFailed",
                          [this](const policy::ConfigSource& source) -> Taken {
                            auto step = policy::next_config(revision_.colocation, source);
                            revision_.colocation = std::move(step.state);
                            return {step.reason, std::move(step.problem)};
                          });
  for (const auto& info : policy::slo_parts()) {
    changed |= take_key(info.key, map, "SLOCfgUnmarshalFailed", [&](const policy::ConfigSource& source) -> Taken {
      auto step = policy::next_slo_part(info.part, source);
      if (step.next) revision_.nodeslo.parts[static_cast<std::size_t>(info.part)] = std::move(*step.next);
      return {step.reason, std::move(step.problem)};
    });
  }
  if (!changed) return;

  base::TextHash hash;
  for (const auto& [name, key] : keys_) {
    if (!key.in_force) continue;
    hash.add(base::cat(name, "=", key.in_force->size(), ":"));  // so that no two sets of texts run into one
    hash.add(*key.in_force);
  }
  revision_.hash = hash.hex();
  good_.set(std::ranges::all_of(keys_, [](const auto& entry) { return entry.second.good; }) ? 1 : 0);
  for (const auto& listener : listeners_) listener({});
}

// Contract 4.3: an update whose data is the same is ignored; here key by key.
bool Settings::take_key(std::string_view name, const kube::ConfigMap* map, std::string_view bad_json_event,
                        const Step& step) {
  const policy::ConfigSource source = config_source(map, name);
  Key& key = keys_[name];
  if (key.read && source.found == key.found && source.text == key.text) return false;
  key.read = true;
  key.found = source.found;
  key.text = source.text;
  const Taken taken = step(source);
  key.good = is_good(taken.reason);
  if (key.good) key.in_force = source.text;
  if (taken.problem.empty()) {
    log_.info("settings read", {{"key", name}, {"reason", model::reason_id(taken.reason)}});
    return true;
  }
  log_.error("settings refused; the last good ones stay in force",
             {{"key", name}, {"reason", model::reason_id(taken.reason)}, {"problem", taken.problem}});
  if (map != nullptr && taken.reason == model::Reason::kConfigBadJson) {
    recorder_.record(
        {"v1", "ConfigMap", std::string(map->meta.ns), std::string(map->meta.name), std::string(map->meta.uid)},
        kube::EventSeverity::kWarning, bad_json_event, taken.problem);
  }
  return true;
}

}  // namespace tidemark::manager
