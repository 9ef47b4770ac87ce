#include "console/settings.h"

#include <utility>

#include "base/text.h"
#include "model/names.h"

namespace tidemark::console {

void Settings::take_colocation(const kube::ConfigMap* map) {
  model::ConfigSource source;
  source.found = map != nullptr;
  if (map != nullptr) {
    if (const auto* text = map->data.find(model::kColocationConfigKey)) source.text = text->view();
  }
  policy::sell::ConfigStep step = policy::sell::next_config(colocation_, source);
  colocation_ = std::move(step.state);
  colocation_problem_ = std::move(step.problem);
  ++version_;
}

void Settings::take_tidemark(const kube::ConfigMap* map) {
  policy::settings::TidemarkSource source;
  source.found = map != nullptr;
  if (map != nullptr) {
    for (const auto& [key, value] : map->data) {
      if (key == model::kTidemarkConfigKey) {
        source.text = value.view();
      } else {
        source.other_keys.emplace_back(key);
      }
    }
  }
  take_tidemark_source(source);
}

std::string Settings::take_tidemark_text(std::string_view text) {
  policy::settings::TidemarkSource source;
  source.found = true;
  source.text = text;
  take_tidemark_source(source);
  return tidemark_problem_;
}

void Settings::take_tidemark_source(const policy::settings::TidemarkSource& source) {
  policy::settings::TidemarkStep step =
      policy::settings::next_tidemark_config(tidemark_, source, zones_(source.text.value_or(std::string_view())));
  if (step.state.config) tidemark_ = std::move(step.state);
  tidemark_problem_ = std::move(step.problem);
  ++version_;
}

void Settings::take_state(const kube::ConfigMap* map) {
  std::optional<std::string_view> text;
  if (map != nullptr) {
    if (const auto* found = map->data.find(model::kOverridesKey)) text = found->view();
  }
  const kube::Text* orders = map == nullptr ? nullptr : map->data.find(model::kStateKey);
  auto ordered = orders == nullptr ? Result<policy::state::DesiredStates>(policy::state::DesiredStates())
                                   : policy::state::parse_desired(orders->view());
  ordered_ = ordered ? std::optional(*std::move(ordered)) : std::nullopt;
  policy::state::OverridesStep step = policy::state::next_overrides(overrides_, text);
  overrides_ = std::move(step.state);
  overrides_problem_ = std::move(step.problem);
  ++version_;
}

const model::Pool& Settings::pool_of(const kube::Node& node) const {
  return policy::waterline::pool_of(pools(), node.meta.labels);
}

policy::sell::NodeStrategy Settings::strategy_of(const kube::Node& node, const model::Pool& pool) const {
  if (!colocation_.config) return {};
  const auto* own = node.meta.annotations.find(model::kColocationStrategyAnnotation);
  return policy::sell::strategy_for(*colocation_.config, node.meta.labels,
                                    own == nullptr ? std::nullopt : std::optional(own->view()), pool.profile);
}

policy::sell::NodeStrategy Settings::strategy_of(const model::Pool& pool) const {
  if (!colocation_.config) return {};
  return policy::sell::strategy_for(*colocation_.config, {}, std::nullopt, pool.profile);
}

const policy::waterline::Calendar& Settings::calendar_of(const model::Pool& pool) const {
  static const policy::waterline::Calendar kNone;
  return pool.calendar ? pools().calendars[*pool.calendar] : kNone;
}

policy::waterline::LineOverrides Settings::overrides_of(const model::Pool& pool, base::WallTime now) const {
  if (!overrides_.overrides) return {};
  return policy::state::overrides_of(*overrides_.overrides, pool.name, now);
}

model::LinePlan Settings::line(const model::Pool& pool, const policy::sell::NodeStrategy& strategy,
                               base::WallTime now) {
  return policy::waterline::water_line(&lines_, base::cat(version_), calendar_of(pool),
                                       strategy.values.cpu_reclaim_threshold_percent,
                                       strategy.values.memory_reclaim_threshold_percent, overrides_of(pool, now), now);
}

std::vector<std::string> Settings::problems() const {
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, const std::string& problem) {
    if (!problem.empty()) out.push_back(base::cat("ConfigMap ", name, ": ", problem));
  };
  add(model::kConfigName, colocation_problem_);
  add(model::kTidemarkConfigName, tidemark_problem_);
  add(model::kStateName, overrides_problem_);
  return out;
}

}  // namespace tidemark::console
