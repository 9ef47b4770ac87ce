// A report from what is held (contract 3.1, 7.14):
//
//   nodeUsage, systemUsage, numaUsages, podUsage, usage   the average of the aggregate window
//   aggregated…                                           average and percentiles, once for each duration asked for
//
// A duration is cold, and told empty, while its samples span less than half of it. What of a pod or a host application
// misses CPU or memory is not in the report. CPU is rounded down to thousandths of a core.
#pragma once

#include <span>
#include <string_view>

#include "base/clock.h"
#include "model/node_metric_report.h"
#include "policy/usage/usage_history.h"

namespace tidemark::policy {

// Who a pod is, for the report. `priority` and `qos` by the readers with default.
struct ReportedPod {
  std::string_view uid;
  std::string_view ns;
  std::string_view name;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
};

// What the NodeSLO lists.
struct ReportedHostApplication {
  std::string_view name;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
};

struct ReportSubjects {
  std::span<const ReportedPod> pods;
  std::span<const ReportedHostApplication> host_applications;
};

model::Resources reported(const UsageFigures& figures);

// All but what is predicted. `out` is filled anew; what it has room for is not allocated again.
void usage_report(const UsageHistory& history, const ReportSubjects& subjects, base::MonotonicTime now,
                  base::WallTime wall_now, WindowScratch& scratch, model::NodeMetricReport& out);

// What the node and the system would be told with now: what a report is worth is seen by (report_due.h).
struct ReportedLevels {
  model::ReportedUsage node;
  model::ReportedUsage system;
};
ReportedLevels reported_levels(const UsageHistory& history, base::MonotonicTime now);

}  // namespace tidemark::policy
