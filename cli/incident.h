// `tidemark incident`: "was it us?", from what a node recorded and from the audit of what was written there. Files
// only: on the node itself, or where they were collected. No API server, no manager and no agent is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "agent/record/recorder.h"
#include "base/clock.h"
#include "base/result.h"
#include "policy/explain/incident.h"

namespace tidemark::cli {

inline constexpr std::string_view kAgentStateDir = "/var/lib/tidemark/agent";  // where the chart keeps it
inline constexpr std::string_view kStandardInput = "-";
inline constexpr base::Duration kIncidentLongest = std::chrono::hours(24 * 7);
// Of the record around the time: before it a line that is whole, and a little more; after it the line of its end.
inline constexpr base::Duration kIncidentReadBefore = agent::kRecordEvery * (agent::kRecordWholeEvery + 2);
inline constexpr base::Duration kIncidentReadAfter = agent::kRecordEvery * 2;

struct IncidentOptions {
  policy::explain::IncidentQuestion question;
  std::string state_dir;           // of the node's agent
  std::vector<std::string> files;  // in place of it: lines of record and audit, of many nodes maybe
  std::string lines;               // in place of both
  std::string node;                // "": the one whose record has the task
};

// "shop/web-0", or a name without a namespace for what is no pod.
Result<policy::explain::IncidentQuestion> parse_incident_task(std::string_view text);

// kNotFound: there is no record at all, or none of several nodes has the task.
Result<policy::explain::IncidentReport> examine_incident(const IncidentOptions& options);

}  // namespace tidemark::cli
