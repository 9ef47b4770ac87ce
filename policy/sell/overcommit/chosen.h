// Settings of which a node gets one complete set: that of the first entry of `nodeConfigs` that selects it, otherwise
// the cluster's. Entries were merged over the cluster's settings at load. The result is shared, so that nothing is
// copied per node.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/reason.h"
#include "model/selector.h"
#include "model/settings/config_source.h"
#include "policy/sell/overcommit/config_json.h"

namespace tidemark::policy::sell {

// The defaults: one object for the process, because each decision about a node starts with it.
template <class Settings>
const std::shared_ptr<const Settings>& default_settings() {
  static const auto kDefaults = std::make_shared<const Settings>();
  return kDefaults;
}

template <class Settings>
struct ChosenConfig {
  struct Entry {
    std::string name;
    model::LabelSelector selector = model::LabelSelector::nothing();
    std::shared_ptr<const Settings> settings;
  };
  std::shared_ptr<const Settings> cluster = default_settings<Settings>();
  std::vector<Entry> nodes;

  std::shared_ptr<const Settings> for_node(model::LabelsView labels) const {
    for (const Entry& entry : nodes) {
      if (entry.selector.matches(labels)) return entry.settings;
    }
    return cluster;
  }
};

// `merge(settings, document)` reads the members of the document over a copy of the settings.
template <class Settings, class Merge>
Result<ChosenConfig<Settings>> parse_chosen(std::string_view text, std::string_view key, Merge&& merge) {
  const auto parse = [&]() -> Result<ChosenConfig<Settings>> {
    TM_TRY(const Json document, Json::parse(text));
    ChosenConfig<Settings> config;
    TM_TRY(const Settings cluster, merge(Settings(), document));
    config.cluster = std::make_shared<const Settings>(cluster);
    TM_TRY_VOID(each_node_config(
        document, [&] { config.nodes.clear(); },
        [&](const Json& item) -> Result<void> {
          TM_TRY(EntryHead head, read_entry_head(item));
          TM_TRY(Settings settings, merge(cluster, item));
          config.nodes.push_back(
              {std::move(head.name), std::move(head.selector), std::make_shared<const Settings>(std::move(settings))});
          return {};
        }));
    return config;
  };
  auto config = parse();
  if (!config) return fail(std::move(config).error().within(key));
  return config;
}

template <class Settings>
struct ChosenStep {
  std::optional<ChosenConfig<Settings>> config;  // in force; nullopt: none yet
  model::Reason reason = model::Reason::kConfigApplied;
  std::string problem;
};

// Contract 4.3: unreadable text keeps the settings in force; a missing key means defaults, an empty text is bad JSON. A
// ConfigMap that disappears later keeps them as well.
template <class Settings, class Parse>
ChosenStep<Settings> next_chosen(const std::optional<ChosenConfig<Settings>>& in_force,
                                 const model::ConfigSource& source, Parse&& parse) {
  if (!source.found) {
    return {in_force ? in_force : ChosenConfig<Settings>(), model::Reason::kConfigNotFound, ""};
  }
  if (!source.text) return {ChosenConfig<Settings>(), model::Reason::kConfigDefaults, ""};
  auto config = parse(*source.text);
  if (!config) return {in_force, model::Reason::kConfigBadJson, std::move(config).error().message};
  return {std::move(*config), model::Reason::kConfigApplied, ""};
}

}  // namespace tidemark::policy::sell
