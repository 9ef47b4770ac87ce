// Forecasts the use of one resource by online work of a pool, learned for each hour of the local week.
//
//   sample       = 1000 × (use of its nodes − use by batch) / their capacity       in permille
//   of an hour   = mean of its samples, if there were at least kForecastSamplesMin
//   forecast[h]  = the first time: that hour's; later: forecast[h] + (that hour's − forecast[h]) / kForecastShare
//
// So the last weeks count most, and one odd Tuesday moves Tuesdays by a third. Hours are in the local time of the zone:
// an hour that occurs twice (autumn) counts as one. A forecast of another zone is dropped.
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

  // The current hour: local hours since 1970.
  std::optional<std::int64_t> hour;
  std::int64_t sum_permille = 0;
  std::int64_t samples = 0;

  std::size_t known() const;  // hours of the week
  bool operator==(const Forecast&) const = default;
};

struct ForecastStep {
  Forecast forecast;
  bool learned = false;  // an hour ended: the forecast should be saved
};

// Total. `permille`: nullopt if there is no measurement now.
ForecastStep learn(const Forecast& before, const TimeZone& zone, std::optional<std::int64_t> permille,
                   base::WallTime now);

// `kept` fills the unknown hours, if it was learned in the same zone.
Forecast with_kept(Forecast forecast, const Forecast& kept);

// The hours and their zone, without the current hour: one line, "Asia/Shanghai 412,,380,…" by hour.
std::string encode_forecast(const Forecast& forecast);
Result<Forecast> decode_forecast(std::string_view bytes);

}  // namespace tidemark::policy
