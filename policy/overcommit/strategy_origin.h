// Which of the layers under a node's co-location strategy each value comes from, for `explain config`.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/selector.h"
#include "policy/config_source.h"
#include "policy/in_force.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::policy {

// Of `colocation-config` as it is now: earlier texts are unknown here.
PartInForce colocation_in_force(const ConfigSource& source, std::span<const model::Label> labels,
                                std::optional<std::string_view> annotation);

}  // namespace tidemark::policy
