// The settings of profiles in `tidemark-config`, for the whole cluster:
//
//    profiles:
//      learn: true
//      sampleEvery: 5m
//      storeEvery: 10m
//      recommendations: {publish: false, marginPercent: 15, changePercent: 10, knownHours: 24, every: 10m}
//
// and of a pool, with `profile: tidemark` only: `warmUp: 10m`.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tidemark::policy::waterline {

struct RecommendationSettings {
  bool publish = false;
  std::int64_t margin_percent = 15;  // over what was used
  std::int64_t change_percent = 10;  // smaller differences are not published
  std::int64_t known_hours = 24;     // of the last seven days, before the first recommendation
  base::Duration every = std::chrono::minutes(10);
  bool operator==(const RecommendationSettings&) const = default;
};

struct ProfileSettings {
  bool learn = true;
  base::Duration sample_every = std::chrono::minutes(5);  // each node
  base::Duration store_every = std::chrono::minutes(10);
  RecommendationSettings recommendations;
  bool operator==(const ProfileSettings&) const = default;
};

}  // namespace tidemark::policy::waterline
