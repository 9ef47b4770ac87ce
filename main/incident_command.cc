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
#include "policy/render/incident_text.h"

namespace tidemark::main {
namespace {

constexpr base::Duration kLastDefault = std::chrono::minutes(15);
constexpr base::Duration kLastMin = std::chrono::seconds(1);

// What is wrong with the flags; "" where nothing is.
std::string read_times(const std::string& from, const std::string& to, base::Duration last, bool says_last,
                       policy::IncidentQuestion& question) {
  const base::WallTime now = base::SystemClock().wall();
  if (says_last && !from.empty()) return "either --from or --last";
  question.to = now;
  if (!to.empty()) {
    const auto read = cli::parse_moment(to, now);
    if (!read) return base::cat("--to wants a time such as 2026-11-20T22:15:00Z or 90m, found ", base::in_quotes(to));
    question.to = *read;
  }
  question.from = question.to + -last;
  if (!from.empty()) {
    const auto read = cli::parse_moment(from, now);
    if (!read) {
      return base::cat("--from wants a time such as 2026-11-20T22:15:00Z or 90m, found ", base::in_quotes(from));
    }
    question.from = *read;
  }
  if (question.from >= question.to) {
    return base::cat("the time begins at ", base::format_rfc3339(question.from), " and ends at ",
                     base::format_rfc3339(question.to), ": wanted one that lasts");
  }
  if (question.to - question.from > cli::kIncidentLongest) return "a week at most";
  return "";
}

}  // namespace

int run_incident(const std::vector<std::string>& args) {
  base::Flags flags("tidemark incident",
                    "Was it us? Tells from what a node recorded and from the audit of what was written there what held "
                    "a pod back, and whose doing that was. Runs where the files are: on the node, in its agent's "
                    "container, or where they were collected. Exit codes: 0 answered, 1 not, 2 wrong use.");
  cli::IncidentOptions options;
  options.state_dir = cli::kAgentStateDir;
  std::string from, to;
  base::Duration last = kLastDefault;
  AnswerForm form;
  flags.group("Time");
  flags.text("from", from, "from then on: 2026-11-20T22:15:00Z, or 90m for so long ago").placeholder("TIME");
  flags.text("to", to, "up to then; now unless told").placeholder("TIME");
  flags.duration("last", last, kLastMin, cli::kIncidentLongest, "so long before --to, in place of --from");
  flags.group("Files");
  flags.text("state-dir", options.state_dir, "the --state-dir of the node's agent").placeholder("DIR");
  flags.list("file", options.files,
             "collected lines of record and audit, of one node or many, in place of --state-dir; - is standard input");
  flags.text("node", options.node, "the node that is meant, where several had a pod of that name").placeholder("NAME");
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
  return print(form.json() ? policy::render_json(*report).dump_pretty() + "\n" : policy::render_text(*report));
}

}  // namespace tidemark::main
