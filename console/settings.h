// The settings and orders that the API server stores, read from their three ConfigMaps. What cannot be used leaves the
// last good part in force, as in the manager, and `problems` says so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/settings/config/parse.h"
#include "policy/state/desired.h"
#include "policy/state/overrides.h"
#include "policy/waterline/calendar/calendar.h"
#include "policy/waterline/calendar/calendar_form.h"

namespace tidemark::console {

// Time zone rules for a tidemark-config, from the part that may open files.
using ZonesOf = std::function<policy::waterline::Zones(std::string_view tidemark_config)>;

class Settings {
 public:
  explicit Settings(ZonesOf zones) : zones_(std::move(zones)) { take_colocation(nullptr); }

  // Null: the ConfigMap does not exist.
  void take_colocation(const kube::ConfigMap* map);
  void take_tidemark(const kube::ConfigMap* map);
  // A text of the key config.yaml, as if it were stored; its problem, "" if it is good.
  std::string take_tidemark_text(std::string_view text);
  void take_state(const kube::ConfigMap* map);

  const policy::waterline::TidemarkConfig& pools() const { return *tidemark_.config; }
  const model::Pool& pool_of(const kube::Node& node) const;
  // Of one node: its thresholds and whether offers are enabled. Defaults while the settings cannot be used.
  policy::sell::NodeStrategy strategy_of(const kube::Node& node, const model::Pool& pool) const;
  // Of nodes without labels and annotation.
  policy::sell::NodeStrategy strategy_of(const model::Pool& pool) const;
  const policy::waterline::Calendar& calendar_of(
      const model::Pool& pool) const;  // one without entries if the pool has none
  // The stored orders for the cluster and for pools; nullopt: they cannot be read.
  const std::optional<policy::state::DesiredStates>& ordered() const { return ordered_; }
  policy::waterline::LineOverrides overrides_of(const model::Pool& pool, base::WallTime now) const;
  model::LinePlan line(const model::Pool& pool, const policy::sell::NodeStrategy& strategy, base::WallTime now);

  std::vector<std::string> problems() const;

 private:
  void take_tidemark_source(const policy::settings::TidemarkSource& source);

  ZonesOf zones_;
  policy::sell::ConfigState colocation_;
  policy::settings::TidemarkState tidemark_{policy::waterline::drop_in(), std::nullopt};
  policy::state::OverridesState overrides_;
  std::optional<policy::state::DesiredStates> ordered_ = policy::state::DesiredStates();
  std::string colocation_problem_, tidemark_problem_, overrides_problem_;
  std::int64_t version_ = 0;  // grows with each text
  policy::waterline::LineMemo lines_;
};

}  // namespace tidemark::console
