#include "policy/forecast/forecast.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace tidemark::policy {
namespace {

constexpr std::int64_t kHour_s = 3600;
constexpr std::int64_t kWeek_h = 24 * 7;
constexpr std::int64_t kThursday_h = 4 * 24;  // 1970-01-01 was a Thursday; the week starts on Sunday

std::int64_t local_hour(const TimeZone& zone, base::WallTime at) {
  const std::int64_t local_s = zone.local(std::chrono::floor<std::chrono::seconds>(at.since_epoch).count());
  return local_s >= 0 ? local_s / kHour_s : -((-local_s + kHour_s - 1) / kHour_s);
}

std::size_t of_week(std::int64_t hour) {
  return static_cast<std::size_t>(((hour + kThursday_h) % kWeek_h + kWeek_h) % kWeek_h);
}

}  // namespace

std::size_t Forecast::known() const {
  return static_cast<std::size_t>(std::ranges::count_if(hours, [](const auto& each) { return each.has_value(); }));
}

ForecastStep learn(const Forecast& before, const TimeZone& zone, std::optional<std::int64_t> permille,
                   base::WallTime now) {
  ForecastStep step{before, false};
  Forecast& next = step.forecast;
  if (next.zone != zone.name()) {
    next = Forecast();
    next.zone = zone.name();
  }
  const std::int64_t hour = local_hour(zone, now);
  if (next.hour && *next.hour != hour) {
    if (next.samples >= kForecastSamplesMin) {
      const std::int64_t measured = next.sum_permille / next.samples;
      auto& known = next.hours[of_week(*next.hour)];
      known = known ? *known + (measured - *known) / kForecastShare : measured;
      step.learned = true;
    }
    next.sum_permille = 0;
    next.samples = 0;
  }
  next.hour = hour;
  if (permille) {
    next.sum_permille += std::clamp<std::int64_t>(*permille, 0, kForecastPermilleMax);
    ++next.samples;
  }
  return step;
}

Forecast with_kept(Forecast forecast, const Forecast& kept) {
  if (!forecast.zone.empty() && forecast.zone != kept.zone) return forecast;
  forecast.zone = kept.zone;
  for (std::size_t hour = 0; hour < forecast.hours.size(); ++hour) {
    if (!forecast.hours[hour]) forecast.hours[hour] = kept.hours[hour];
  }
  return forecast;
}

std::string encode_forecast(const Forecast& forecast) {
  std::string out = base::cat(forecast.zone, " ");
  for (std::size_t hour = 0; hour < forecast.hours.size(); ++hour) {
    if (hour > 0) out += ",";
    if (forecast.hours[hour]) out += base::cat(*forecast.hours[hour]);
  }
  return out;
}

Result<Forecast> decode_forecast(std::string_view bytes) {
  if (bytes.size() > kForecastBytesMax) {
    return fail(ErrorKind::kInvalid, "a forecast of ", bytes.size(), " bytes, at most ", kForecastBytesMax);
  }
  const auto blank = bytes.find(' ');
  if (blank == std::string_view::npos || blank == 0) return fail(ErrorKind::kInvalid, "a forecast without its zone");
  Forecast out;
  out.zone = bytes.substr(0, blank);
  const auto hours = base::split(bytes.substr(blank + 1), ',');
  if (hours.size() != out.hours.size()) {
    return fail(ErrorKind::kInvalid, "a forecast of ", hours.size(), " hours, wanted ", out.hours.size());
  }
  for (std::size_t hour = 0; hour < hours.size(); ++hour) {
    if (hours[hour].empty()) continue;
    const auto value = base::parse_int(hours[hour]);
    if (!value || *value < 0 || *value > kForecastPermilleMax) {
      return fail(ErrorKind::kInvalid, "hour ", hour, " of a forecast: wanted permille, found ",
                  base::in_quotes(hours[hour]));
    }
    out.hours[hour] = *value;
  }
  return out;
}

}  // namespace tidemark::policy
