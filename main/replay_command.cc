#include "base/text.h"
#include "cli/look_back.h"
#include "main/process.h"
#include "main/shared_flags.h"

namespace tidemark::main {
namespace {

// Parses a time flag; false if it is invalid.
bool read_moment(const std::string& text, base::WallTime now, std::optional<base::WallTime>& out) {
  if (text.empty()) return true;
  out = cli::parse_moment(text, now);
  return out.has_value();
}

}  // namespace

int run_replay(const std::vector<std::string>& args) {
  base::Flags flags("tidemark replay",
                    "Repeats each decision in a manager's journal with this program and shows the ones that differ. "
                    "Exit codes: 0 no difference, 1 differences or unreadable, 2 wrong use.");
  cli::ReplayOptions options;
  std::string since;
  std::string until;
  AnswerForm form;
  std::int64_t limit = static_cast<std::int64_t>(options.shown_max);
  flags.group("Decisions");
  flags.text("journal-dir", options.directory, "directory of the manager's journal").placeholder("DIR").required();
  flags.text("node", options.node, "show only decisions for this node").placeholder("NAME");
  flags.text("since", since, "start time: 2026-11-20T22:15:00Z, or 90m for 90 minutes ago").placeholder("TIME");
  flags.text("until", until, "end time").placeholder("TIME");
  declare_form_flag(flags, form);
  flags.integer("limit", limit, 0, 1'000'000, "maximum number of differing decisions to list");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const base::WallTime now = base::SystemClock().wall();
  if (!read_moment(since, now, options.since) || !read_moment(until, now, options.until)) {
    return wrong_use("--since and --until: expected a time such as 2026-11-20T22:15:00Z or 90m", flags);
  }
  options.shown_max = static_cast<std::size_t>(limit);
  options.json = form.json();
  const auto report = cli::replay_journal(options);
  if (!report) return failed(report.error());
  const int printed = print(report->text);
  return printed == kDone && report->exact ? kDone : kFailed;
}

}  // namespace tidemark::main
