// Over-report: what is published for a real amount, per side, class of work and hour of the day.
//
//   percent(class, hour) = of the first entry for the class (or for every class) and for the hour; else the side's
//                          own. An entry that leaves a value out uses the side's own. 100 is the real amount.
//
// Only what a class holds or waits for is published with the percent of that class. What a side holds of each class,
// H(c), counts with its own percent; free capacity counts with that of the most timely waiting class, or, if none
// waits, with that of work without a class:
//
//   real(told) = Σ H(c) × 100 / percent(c), rounded up each, the most timely first and at most the published amount
//                + the rest × 100 / percent(free), up
//   told(real) = the same the other way round, rounded down
//
// So one class that requests more than it uses does not let the others take more than there is. To bound what a side
// may hand out of its offer, the rest counts with the smallest percent, because the class that will take it is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"
#include "model/settings/ledger_config.h"
#include "model/time_zone.h"

namespace tidemark::policy::sell {

// The entries in force at an hour of the day, without their hours.
std::vector<model::OverReportEntry> entries_at(std::span<const model::OverReportEntry> entries, std::int64_t hour);
// The local hour of the day in `zone`.
std::int64_t hour_of_day(const model::TimeZone& zone, base::WallTime now);
// The time until the next local hour.
base::Duration hour_left(const model::TimeZone& zone, base::WallTime now);

struct Percent {
  std::int64_t percent = 100;  // within kOverReportLeast and kOverReportMost
  std::int64_t entry = 0;      // its number; 0: the side's own
};
inline constexpr std::int64_t kOverReportLeast = 1;
inline constexpr std::int64_t kOverReportMost = 1000;  // ten times the real amount; more is a typing error

enum class Told : std::uint8_t { kCpu, kMemory };
Percent percent_for(const model::OverReport& own, std::span<const model::OverReportEntry> entries,
                    std::string_view work_class, Told resource);
// The smallest percent that applies to any work.
std::int64_t least_percent(const model::OverReport& own, std::span<const model::OverReportEntry> entries,
                           Told resource);
bool over_reports(const model::OverReport& own, std::span<const model::OverReportEntry> entries);  // some is above 100

// Converts between both currencies for one resource of one side.
class Currency {
 public:
  struct Part {
    std::int64_t held = 0;  // by one class, in published units
    std::int64_t percent = 100;
  };
  // `parts`: the most timely class first.
  Currency(std::vector<Part> parts, std::int64_t free_percent)
      : parts_(std::move(parts)), free_percent_(free_percent) {}
  static Currency uniform(std::int64_t percent) { return Currency({}, percent); }

  std::int64_t real(std::int64_t told) const { return real(told, free_percent_); }
  std::int64_t real(std::int64_t told, std::int64_t free_percent) const;
  std::int64_t told(std::int64_t real) const;
  std::int64_t free_percent() const { return free_percent_; }

 private:
  std::vector<Part> parts_;
  std::int64_t free_percent_ = 100;
};

// value × times / divisor, clamped to int64; a negative value is 0.
std::int64_t scaled(std::int64_t value, std::int64_t times, std::int64_t divisor, bool up = false);

}  // namespace tidemark::policy::sell
