// How a pool splits its offers between Kubernetes and YARN, and what it over-reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::model {

// Per resource. 100 is the real amount.
struct OverReport {
  std::int64_t cpu_percent = 100;
  std::int64_t memory_percent = 100;
  bool operator==(const OverReport&) const = default;
};

// Local hours of the day, from the first to before the second; over midnight if the second is smaller.
struct HourSpan {
  std::int64_t from = 0;
  std::int64_t to = 24;
  bool holds(std::int64_t hour) const { return from < to ? hour >= from && hour < to : hour >= from || hour < to; }
  bool operator==(const HourSpan&) const = default;
};
inline constexpr std::size_t kOverReportEntriesMax = 32;  // of one side

struct OverReportEntry {
  std::string work_class{};         // empty: every class, and work without one
  std::optional<HourSpan> hours{};  // nullopt: at all hours
  std::optional<std::int64_t> cpu_percent{};
  std::optional<std::int64_t> memory_percent{};
  std::int64_t number = 1;  // its number in the settings, for display
  bool operator==(const OverReportEntry&) const = default;
};

enum class LedgerMode : std::uint8_t { kShared, kStrict };

struct SideConfig {
  std::int64_t share_min_percent = 0;  // of the origin: guaranteed, lent while this side does not want it
  std::int64_t share_max_percent = 100;
  OverReport over_report;
  std::vector<OverReportEntry> entries;  // of over-report; split() uses those in force
  bool operator==(const SideConfig&) const = default;
};

struct LedgerConfig {
  LedgerMode mode = LedgerMode::kShared;
  // A side gives way only to work of its own timeliness class or a more timely one; less timely work on the other side
  // is to be reclaimed instead, and is listed in the plan.
  bool class_aware = false;
  SideConfig kubernetes;
  SideConfig yarn;
  bool operator==(const LedgerConfig&) const = default;
};

}  // namespace tidemark::model
