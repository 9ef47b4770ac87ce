// A report from the stored samples (contract 3.1, 7.14):
//
//    nodeUsage, systemUsage, numaUsages, podUsage, usage   the average of the aggregate window
//    aggregated…                                           average and percentiles, once for each duration of the spec
//
// A duration is cold, and reported empty, while its samples span less than half of it. Pods and host applications
// without CPU or memory are omitted. CPU is rounded down to thousandths of a core.
#pragma once

#include <span>
#include <string_view>

#include "base/clock.h"
#include "model/node_metric_report.h"
#include "policy/sell/usage/usage_history.h"

namespace tidemark::policy::sell {

// The identity of a pod for the report. `priority` and `qos` by the readers with default.
struct ReportedPod {
  std::string_view uid;
  std::string_view ns;
  std::string_view name;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
};

// The list of the NodeSLO.
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

// All except the prediction. `out` is overwritten; its memory is reused.
void usage_report(const UsageHistory& history, const ReportSubjects& subjects, base::MonotonicTime now,
                  base::WallTime wall_now, WindowScratch& scratch, model::NodeMetricReport& out);

// The values of the node and the system that a report would have now: they decide whether it is due (report_due.h).
struct ReportedLevels {
  model::ReportedUsage node;
  model::ReportedUsage system;
};
ReportedLevels reported_levels(const UsageHistory& history, base::MonotonicTime now);

}  // namespace tidemark::policy::sell
