// What our own settings say of arbitration, of a pool.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "policy/profile.h"

namespace tidemark::policy {

struct ArbitrateSettings {
  std::optional<bool> enabled;  // nullopt: with profile tidemark; the peer has nothing of the kind
  bool taint = true;            // a node that was oversold takes no new pods, online ones neither
  // So much of what the node gives may be sold above it: the grain of what the two schedulers round.
  std::int64_t tolerance_permille = 20;
  base::Duration over_after = std::chrono::minutes(1);  // it fits for so long before it is over
  bool operator==(const ArbitrateSettings&) const = default;

  bool on(Profile profile) const { return enabled.value_or(profile == Profile::kTidemark); }
};

}  // namespace tidemark::policy
