// When a report is due:
//
//    by interval   the spec's interval since the last one that arrived; the first one an interval after the start
//    at once       the value of the node or its system part differs by more than kLargeChange_percent of capacity from
//                  the last report, and kReportGapMin has passed since the last attempt
//    again         the last attempt failed: kReportRetry ago, twice as long after each further failure, at most an
//                  interval; and as soon as an API server that was away is back
//
// Reported values are averages: so a step of the load counts as it moves that average. Attempts are never closer
// together than kReportGapMin. Ten thousand nodes that start, or find the API server again, at the same moment do not
// report at the same moment: the first report and each one after a failure are later by the node's own `spread`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/resources.h"
#include "policy/sell/usage/report.h"

namespace tidemark::policy::sell {

inline constexpr std::int64_t kLargeChange_percent = 10;  // the change for which the manager writes a node again
inline constexpr base::Duration kReportGapMin = std::chrono::seconds(20);
inline constexpr base::Duration kReportRetry = std::chrono::seconds(20);

enum class ReportOutcome : std::uint8_t { kArrived, kFailed };
enum class ReportSubject : std::uint8_t { kNode, kSystem };
enum class ReportResource : std::uint8_t { kCpu, kMemory };

enum class ReportWhy : std::uint8_t {
  kNotYet,       // nothing of the below
  kNoObject,     // the NodeMetric does not exist: there is nothing to write to
  kInterval,     // the interval is over
  kLargeChange,  // `moved` is the change
  kFailedLast,   // the last attempt came to nothing
};

// The largest change since the last report, in thousandths of capacity. Amounts are of `resource`: milli-cores or
// bytes.
struct ReportMoved {
  ReportSubject subject = ReportSubject::kNode;
  ReportResource resource = ReportResource::kCpu;
  std::int64_t told = 0;
  std::int64_t now = 0;
  std::int64_t permille = 0;
  bool operator==(const ReportMoved&) const = default;
};

struct ReportState {
  std::optional<base::MonotonicTime> begun;
  std::optional<base::MonotonicTime> arrived;    // the last one that did
  std::optional<base::MonotonicTime> attempted;  // the last one at all
  bool failed = false;                           // that one
  int failures = 0;                              // in a row
  ReportedLevels told;                           // by the last one that arrived
};

struct ReportObservation {
  ReportedLevels levels;  // reported_levels()
  model::Resources capacity;
  bool object_exists = true;                     // the NodeMetric
  std::optional<ReportOutcome> outcome;          // of an attempt, since the last step
  std::optional<ReportedLevels> outcome_levels;  // the values of that attempt
  std::optional<base::MonotonicTime> back;       // when an API server that was away answered again
};

struct ReportConfig {
  base::Duration interval = kReportIntervalDefault;
  bool at_once = true;
  base::Duration spread{0};  // this node's own, below kReportRetry
  // The spread of the first report since the start; unset: an interval and the spread. A node that is alone with its
  // server needs no spread.
  std::optional<base::Duration> first{};
};

struct ReportPlan {
  bool report = false;
  ReportWhy why = ReportWhy::kNotYet;
  std::optional<ReportMoved> moved;  // with kLargeChange
};

struct ReportStep {
  ReportState state;
  ReportPlan plan;
};

// Total. A plan with `report` counts as an attempt. A clock that went back restarts the interval.
ReportStep report_due(const ReportState& before, const ReportObservation& observation, const ReportConfig& config,
                      base::MonotonicTime now);

}  // namespace tidemark::policy::sell
