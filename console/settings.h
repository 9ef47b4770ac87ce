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
#include "policy/calendar/calendar.h"
#include "policy/calendar/calendar_form.h"
#include "policy/overcommit/strategy.h"
#include "policy/pools/parse.h"
#include "policy/state/overrides.h"

namespace tidemark::console {

// Time zone rules for a tidemark-config, from the part that may open files.
using ZonesOf = std::function<policy::Zones(std::string_view tidemark_config)>;

class Settings {
 public:
  explicit Settings(ZonesOf zones) : zones_(std::move(zones)) { take_colocation(nullptr); }

  // Null: the ConfigMap does not exist.
  void take_colocation(const kube::ConfigMap* map);
  void take_tidemark(const kube::ConfigMap* map);
  void take_state(const kube::ConfigMap* map);

  const policy::TidemarkConfig& pools() const { return *tidemark_.config; }
  const policy::Pool& pool_of(const kube::Node& node) const;
  // Of one node: its thresholds and whether offers are enabled. Defaults while the settings cannot be used.
  policy::NodeStrategy strategy_of(const kube::Node& node, const policy::Pool& pool) const;
  // Of nodes without labels and annotation.
  policy::NodeStrategy strategy_of(const policy::Pool& pool) const;
  const policy::Calendar& calendar_of(const policy::Pool& pool) const;  // one without entries if the pool has none
  policy::LineOverrides overrides_of(const policy::Pool& pool, base::WallTime now) const;
  policy::LinePlan line(const policy::Pool& pool, const policy::NodeStrategy& strategy, base::WallTime now);

  std::vector<std::string> problems() const;

 private:
  ZonesOf zones_;
  policy::ConfigState colocation_;
  policy::TidemarkState tidemark_{policy::drop_in(), std::nullopt};
  policy::OverridesState overrides_;
  std::string colocation_problem_, tidemark_problem_, overrides_problem_;
  std::int64_t version_ = 0;  // grows with each text
  policy::LineMemo lines_;
};

}  // namespace tidemark::console
