// The layer of a node's NodeSLO that each value comes from, for `explain config`.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/selector.h"
#include "policy/config_source.h"
#include "policy/in_force.h"
#include "policy/nodeslo/nodeslo.h"

namespace tidemark::policy {

// The calendar of the node's pool and its current water line, with the overrides that apply.
struct SloCalendar {
  const Calendar& calendar;
  LinePlan line;
  LineOverrides overrides;
};

// Of one key as it is now: earlier texts are unknown here.
PartInForce slo_in_force(SloPart part, const ConfigSource& source, std::span<const model::Label> labels,
                         std::optional<std::string_view> bandwidth,
                         const std::optional<SloCalendar>& calendar = std::nullopt, const SloLayers& layers = {});

}  // namespace tidemark::policy
