// The layer of a node's NodeSLO that each value comes from, for `explain config`.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/in_force.h"
#include "model/selector.h"
#include "model/settings/config_source.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::policy::settings {

// The calendar of the node's pool and its current water line, with the overrides that apply.
struct SloCalendar {
  const waterline::Calendar& calendar;
  model::LinePlan line;
  waterline::LineOverrides overrides;
};

// Of one key as it is now: earlier texts are unknown here.
model::PartInForce slo_in_force(model::SloPart part, const model::ConfigSource& source,
                                std::span<const model::Label> labels, std::optional<std::string_view> bandwidth,
                                const std::optional<SloCalendar>& calendar = std::nullopt,
                                const SloLayers& layers = {});

}  // namespace tidemark::policy::settings
