// Which of the layers under a node's co-location strategy each value comes from, for `explain config`.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/in_force.h"
#include "model/selector.h"
#include "model/settings/config_source.h"
#include "policy/sell/overcommit/strategy.h"

namespace tidemark::policy::sell {

// Of `colocation-config` as it is now: earlier texts are unknown here.
model::PartInForce colocation_in_force(const model::ConfigSource& source, std::span<const model::Label> labels,
                                       std::optional<std::string_view> annotation);

}  // namespace tidemark::policy::sell
