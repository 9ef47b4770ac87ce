// What a side is told of an amount that is real: over-report, per side, class of work and hour of the day.
//
//   percent(class, hour) = of the first entry that is for the class (or for every class) and for the hour; else the
//                          side's own. What an entry leaves out is the side's own. 100 tells the truth.
//
// Only what a class holds or waits for is told with the percent of that class. What a side holds of each class, H(c),
// counts with its own; what is free counts with that of the most timely class that waits, where none does with that of
// work without a class:
//
//   real(told) = Σ H(c) × 100 / percent(c), rounded up each, the most timely first and no more than is told
//                + the rest × 100 / percent(free), up
//   told(real) = the same the other way round, rounded down
//
// So one class that asks for more than it uses does not let the others take more than there is. Who asks what a side
// may hand out at most of what it was told counts the rest with the smallest percent: nobody knows which class will
// take it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"
#include "policy/calendar/time_zone.h"

namespace tidemark::policy {

// Per resource. 100 tells the truth.
struct OverReport {
  std::int64_t cpu_percent = 100;
  std::int64_t memory_percent = 100;
  bool operator==(const OverReport&) const = default;
};

// Hours of the day on the clock on the wall, from the first to before the second; over midnight where that is smaller.
struct HourSpan {
  std::int64_t from = 0;
  std::int64_t to = 24;
  bool holds(std::int64_t hour) const { return from < to ? hour >= from && hour < to : hour >= from || hour < to; }
  bool operator==(const HourSpan&) const = default;
};
inline constexpr std::size_t kOverReportEntriesMax = 32;  // of one side

struct OverReportEntry {
  std::string work_class{};         // empty: every class, and work without one
  std::optional<HourSpan> hours{};  // nullopt: at any hour
  std::optional<std::int64_t> cpu_percent{};
  std::optional<std::int64_t> memory_percent{};
  std::int64_t number = 1;  // its place in the settings, for people
  bool operator==(const OverReportEntry&) const = default;
};

// Those in force at an hour of the day, without their hours.
std::vector<OverReportEntry> entries_at(std::span<const OverReportEntry> entries, std::int64_t hour);
// The hour of the day on the clock on the wall of `zone`.
std::int64_t hour_of_day(const TimeZone& zone, base::WallTime now);
// Until that shows another hour.
base::Duration hour_left(const TimeZone& zone, base::WallTime now);

struct Percent {
  std::int64_t percent = 100;  // within kOverReportLeast and kOverReportMost
  std::int64_t entry = 0;      // its number; 0: the side's own
};
inline constexpr std::int64_t kOverReportLeast = 1;
inline constexpr std::int64_t kOverReportMost = 1000;  // ten times what there is; more is a slip of the pen

enum class Told : std::uint8_t { kCpu, kMemory };
Percent percent_for(const OverReport& own, std::span<const OverReportEntry> entries, std::string_view work_class,
                    Told resource);
// The smallest that any work may be told with.
std::int64_t least_percent(const OverReport& own, std::span<const OverReportEntry> entries, Told resource);
bool over_reports(const OverReport& own, std::span<const OverReportEntry> entries);  // some is above 100

// Both currencies of one resource of one side.
class Currency {
 public:
  struct Part {
    std::int64_t held = 0;  // by one class, as it was told
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

// value × times / divisor, held at the ends of int64; a negative value is 0.
std::int64_t scaled(std::int64_t value, std::int64_t times, std::int64_t divisor, bool up = false);

}  // namespace tidemark::policy
