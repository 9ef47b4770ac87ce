// What online work of a pool uses of one resource, learned for each hour of the local week.
//
//   sample       = 1000 × (what its nodes use − what batch uses of that) / their capacity       in permille
//   of an hour   = mean of its samples, where there were kForecastSamplesMin at least
//   forecast[h]  = the first time: that hour's; later: forecast[h] + (that hour's − forecast[h]) / kForecastShare
//
// So the last weeks count most, and one odd Tuesday moves Tuesdays by a third. Hours are those of the clock on the wall
// of the zone: where the clock shows an hour twice (autumn) both count as one. What was learned in another zone is
// forgotten.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "policy/calendar/preview.h"
#include "policy/calendar/time_zone.h"

namespace tidemark::policy {

inline constexpr std::int64_t kForecastSamplesMin = 20;  // of 60, one a minute
inline constexpr std::int64_t kForecastShare = 3;
inline constexpr std::int64_t kForecastPermilleMax = 2000;
inline constexpr std::size_t kForecastBytesMax = 2048;  // of encode_forecast()

struct Forecast {
  std::string zone;
  WeekForecast hours{};

  // The hour under way: hours since 1970 on the clock on the wall.
  std::optional<std::int64_t> hour;
  std::int64_t sum_permille = 0;
  std::int64_t samples = 0;

  std::size_t known() const;  // hours of the week
  bool operator==(const Forecast&) const = default;
};

struct ForecastStep {
  Forecast forecast;
  bool learned = false;  // an hour is over: worth keeping
};

// Total. `permille`: nullopt where nothing is measured now.
ForecastStep learn(const Forecast& before, const TimeZone& zone, std::optional<std::int64_t> permille,
                   base::WallTime now);

// `kept` fills the hours that are not known yet, where it was learned in the same zone.
Forecast with_kept(Forecast forecast, const Forecast& kept);

// The hours and their zone, without the one under way: one line, "Asia/Shanghai 412,,380,…" by hour.
std::string encode_forecast(const Forecast& forecast);
Result<Forecast> decode_forecast(std::string_view bytes);

}  // namespace tidemark::policy
