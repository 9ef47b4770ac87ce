// Settings of a pool for arbitration.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/settings/profile.h"

namespace tidemark::model {

struct ArbitrateSettings {
  std::optional<bool> enabled;  // nullopt: with profile tidemark; Koordinator has no equivalent
  bool taint = true;            // an oversold node takes no new pods, not even online ones
  // This share may be sold above what the node gives: the two schedulers round.
  std::int64_t tolerance_permille = 20;
  base::Duration over_after = std::chrono::minutes(1);  // the work must fit for this long before it is over
  bool operator==(const ArbitrateSettings&) const = default;

  bool on(Profile profile) const { return enabled.value_or(profile == Profile::kTidemark); }
};

}  // namespace tidemark::model
