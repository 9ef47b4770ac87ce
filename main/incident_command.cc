#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/incident.h"
#include "cli/look_back.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "policy/explain/incident_text.h"

namespace tidemark::main {
namespace {

constexpr base::Duration kLastDefault = std::chrono::minutes(15);
constexpr base::Duration kLastMin = std::chrono::seconds(1);

// The error in the flags; "" if they are valid.
std::string read_times(const std::string& from, const std::string& to, base::Duration last, bool says_last,
                       policy::explain::IncidentQuestion& question) {
  const base::WallTime now = base::SystemClock().wall();
  if (says_last && !from.empty()) return "--from and --last exclude each other";
  question.to = now;
  if (!to.empty()) {
    const auto read = cli::parse_moment(to, now);
    if (!read)
      return base::cat("--to: expected a time such as 2026-11-20T22:15:00Z or 90m, found ", base::in_quotes(to));
    question.to = *read;
  }
  question.from = question.to + -last;
  if (!from.empty()) {
    const auto read = cli::parse_moment(from, now);
    if (!read) {
      return base::cat("--from: expected a time such as 2026-11-20T22:15:00Z or 90m, found ", base::in_quotes(from));
    }
    question.from = *read;
  }
  if (question.from >= question.to) {
    return base::cat("the time range begins at ", base::format_rfc3339(question.from), " and ends at ",
                     base::format_rfc3339(question.to), "; expected an end after its begin");
  }
  if (question.to - question.from > cli::kIncidentLongest) return "the time range is longer than a week";
  return "";
}

}  // namespace

int run_incident(const std::vector<std::string>& args) {
  base::Flags flags("tidemark incident",
                    "Shows from a node's record and audit what slowed or evicted a pod, and which component caused it. "
                    "Run it where the files are: in the agent's container, on the node, or where they are collected. "
                    "Exit codes: 0 answered, 1 failed, 2 wrong use.");
  cli::IncidentOptions options;
  options.state_dir = cli::kAgentStateDir;
  std::string from, to;
  base::Duration last = kLastDefault;
  AnswerForm form;
  flags.group("Time");
  flags.text("from", from, "start time: 2026-11-20T22:15:00Z, or 90m for 90 minutes ago").placeholder("TIME");
  flags.text("to", to, "end time (default now)").placeholder("TIME");
  flags.duration("last", last, kLastMin, cli::kIncidentLongest,
                 "length of the time range before --to, instead of --from");
  flags.group("Files");
  flags.text("state-dir", options.state_dir, "state directory of the node's agent").placeholder("DIR");
  flags.list("file", options.files,
             "collected record and audit lines of one or more nodes, instead of --state-dir; - is standard input");
  flags.text("node", options.node, "node, if several nodes had a pod of that name").placeholder("NAME");
  declare_form_flag(flags, form);
  flags.arguments("NAMESPACE/POD", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  auto task = cli::parse_incident_task(parsed.arguments[0]);
  if (!task) return wrong_use(task.error().message, flags);
  options.question = *std::move(task);
  const bool says_last = std::ranges::any_of(parsed.settings, [](const auto& one) { return one.name == "last"; });
  if (const std::string wrong = read_times(from, to, last, says_last, options.question); !wrong.empty()) {
    return wrong_use(wrong, flags);
  }
  const auto report = cli::examine_incident(options);
  if (!report) return failed(report.error());
  return print(form.json() ? policy::explain::render_json(*report).dump_pretty() + "\n"
                           : policy::explain::render_text(*report));
}

}  // namespace tidemark::main
