#include "policy/sell/ledger/over_report.h"

#include <algorithm>
#include <limits>

namespace tidemark::policy::sell {
namespace {

constexpr std::int64_t kHour_s = 3600;
constexpr std::int64_t kHoursOfDay = 24;

std::int64_t seconds_of(base::WallTime now) {
  return std::chrono::floor<std::chrono::seconds>(now.since_epoch).count();
}

const std::optional<std::int64_t>& of(const model::OverReportEntry& entry, Told resource) {
  return resource == Told::kCpu ? entry.cpu_percent : entry.memory_percent;
}

std::int64_t within(std::int64_t percent) {
  return std::clamp(percent, kOverReportLeast, kOverReportMost);
}

std::int64_t own_percent(const model::OverReport& own, Told resource) {
  return within(resource == Told::kCpu ? own.cpu_percent : own.memory_percent);
}

std::int64_t added(std::int64_t a, std::int64_t b) {
  return a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max() : a + b;
}

}  // namespace

std::int64_t scaled(std::int64_t value, std::int64_t times, std::int64_t divisor, bool up) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  const __int128 product = static_cast<__int128>(std::max<std::int64_t>(value, 0)) * times;
  return static_cast<std::int64_t>(std::clamp<__int128>((product + (up ? divisor - 1 : 0)) / divisor, 0, kMax));
}

std::vector<model::OverReportEntry> entries_at(std::span<const model::OverReportEntry> entries, std::int64_t hour) {
  std::vector<model::OverReportEntry> out;
  for (const auto& entry : entries) {
    if (entry.hours && !entry.hours->holds(hour)) continue;
    out.push_back(entry);
    out.back().hours.reset();
  }
  return out;
}

std::int64_t hour_of_day(const model::TimeZone& zone, base::WallTime now) {
  const std::int64_t local = zone.local(seconds_of(now));
  return (((local % (kHour_s * kHoursOfDay)) + kHour_s * kHoursOfDay) % (kHour_s * kHoursOfDay)) / kHour_s;
}

base::Duration hour_left(const model::TimeZone& zone, base::WallTime now) {
  const std::int64_t seconds = seconds_of(now);
  const std::int64_t into = ((zone.local(seconds) % kHour_s) + kHour_s) % kHour_s;
  return std::chrono::seconds(kHour_s - into) - (now.since_epoch - std::chrono::seconds(seconds));
}

Percent percent_for(const model::OverReport& own, std::span<const model::OverReportEntry> entries,
                    std::string_view work_class, Told resource) {
  const auto at = std::ranges::find_if(entries, [&](const model::OverReportEntry& entry) {
    return entry.work_class.empty() || entry.work_class == work_class;
  });
  if (at == entries.end() || !of(*at, resource)) return {own_percent(own, resource), 0};
  return {within(*of(*at, resource)), at->number};
}

std::int64_t least_percent(const model::OverReport& own, std::span<const model::OverReportEntry> entries,
                           Told resource) {
  std::int64_t least = own_percent(own, resource);
  for (const auto& entry : entries) {
    if (const auto& percent = of(entry, resource)) least = std::min(least, within(*percent));
  }
  return least;
}

bool over_reports(const model::OverReport& own, std::span<const model::OverReportEntry> entries) {
  constexpr std::int64_t kTruth = 100;
  return own.cpu_percent > kTruth || own.memory_percent > kTruth ||
         std::ranges::any_of(entries, [](const model::OverReportEntry& entry) {
           return entry.cpu_percent.value_or(0) > kTruth || entry.memory_percent.value_or(0) > kTruth;
         });
}

std::int64_t Currency::real(std::int64_t told, std::int64_t free_percent) const {
  std::int64_t left = std::max<std::int64_t>(told, 0);
  std::int64_t sum = 0;
  for (const Part& part : parts_) {
    const std::int64_t taken = std::min(left, std::max<std::int64_t>(part.held, 0));
    sum = added(sum, scaled(taken, 100, part.percent, true));
    left -= taken;
  }
  return added(sum, scaled(left, 100, free_percent, true));
}

std::int64_t Currency::told(std::int64_t real) const {
  std::int64_t left = std::max<std::int64_t>(real, 0);
  std::int64_t sum = 0;
  for (const Part& part : parts_) {
    const std::int64_t held = std::max<std::int64_t>(part.held, 0);
    const std::int64_t whole = scaled(held, 100, part.percent, true);
    if (left < whole) return added(sum, std::min(held, scaled(left, part.percent, 100)));
    sum = added(sum, held);
    left -= whole;
  }
  return added(sum, scaled(left, free_percent_, 100));
}

}  // namespace tidemark::policy::sell
