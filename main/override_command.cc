#include <unistd.h>

#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "cli/override_text.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/override.h"
#include "operate/override_json.h"
#include "operate/override_wait.h"
#include "policy/state/order.h"

namespace tidemark::main {
namespace {

constexpr base::Duration kWaitMax = std::chrono::hours(24);

struct AskedOverride {
  std::string cpu;
  std::string memory;
  bool clear = false;
  Said said;
  base::Duration lasts{0};
  std::string until;
  bool yes = false;
  base::Duration wait{0};
  AnswerForm form;
};

void declare(base::Flags& flags, AskedOverride& asked_for, operate::OverrideOptions& options) {
  declare_said_flags(flags, asked_for.said);
  flags.text("cpu", asked_for.cpu, "water line of CPU, in percent of capacity, 0 to 100").placeholder("PERCENT");
  flags.text("memory", asked_for.memory, "water line of memory; a line without flag follows the calendar")
      .placeholder("PERCENT");
  flags.boolean("clear", asked_for.clear, "remove the override; the calendar applies at once");
  flags.duration("for", asked_for.lasts, base::Duration(0), policy::state::kOverrideLastsMax,
                 "duration of the override, by this machine's clock; this or --until is required");
  flags.text("until", asked_for.until, "end time of the override, e.g. 2026-11-21T22:00:00Z").placeholder("TIME");
  flags.boolean("dry-run", options.dry_run, "show the change, write nothing");
  flags.boolean("yes", asked_for.yes, "do not ask for confirmation");
  flags.duration("wait", asked_for.wait, base::Duration(0), kWaitMax,
                 "longest wait until all nodes follow it; 0s does not wait");
  declare_answer_flags(flags, asked_for.form, options.settings.limit);
  declare_settings_flags(flags, options.settings.config_namespace, options.settings.config_name);
}

// The error in the flag; "" if it is valid.
std::string read_percent(std::string_view flag, const std::string& text, std::optional<std::int64_t>& out) {
  if (text.empty()) return "";
  out = base::parse_int(text);
  if (out && *out >= 0 && *out <= policy::state::kOverridePercentMax) return "";
  return base::cat("--", flag, ": expected 0 to ", policy::state::kOverridePercentMax, " percent of capacity, found ",
                   base::in_quotes(text));
}

std::string read_scope(const std::vector<std::string>& arguments, operate::OverrideOptions& options) {
  if (arguments[0] == "pool") {
    if (arguments.size() != 2) return arguments.size() < 2 ? "pool name is missing" : "expected one pool";
    if (arguments[1].empty()) return "pool name is missing";
    options.pool = arguments[1];
    return "";
  }
  if (arguments[0] == "cluster") return arguments.size() == 1 ? "" : "cluster takes no name";
  return base::cat("expected pool or cluster, found ", base::in_quotes(arguments[0]),
                   arguments[0] == "node" ? ": a node's own line is its annotation colocation-strategy" : "");
}

std::string read_end(const AskedOverride& asked_for, base::WallTime now, base::WallTime& until) {
  const bool lasts = asked_for.lasts > base::Duration(0);
  if (lasts == !asked_for.until.empty()) {
    return lasts ? "--for and --until exclude each other" : "end is missing; give --for 2h or --until TIME";
  }
  if (lasts) {
    until = now + asked_for.lasts;
    return "";
  }
  const auto time = base::parse_rfc3339(asked_for.until);
  if (!time) {
    return base::cat("--until: expected a time such as 2026-11-21T22:00:00Z, found ", base::in_quotes(asked_for.until));
  }
  until = *time;
  return "";
}

std::string read_command(const AskedOverride& asked_for, base::WallTime now, policy::state::OverrideCommand& command) {
  if (auto wrong = asked_for.said.wrong(); !wrong.empty()) return wrong;
  command.by = asked_for.said.by;
  command.why = asked_for.said.reason;
  if (asked_for.clear) {
    const bool more = !asked_for.cpu.empty() || !asked_for.memory.empty() || !asked_for.until.empty() ||
                      asked_for.lasts > base::Duration(0);
    return more ? "--clear removes the override; it goes without --cpu, --memory, --for and --until" : "";
  }
  auto& line = command.line.emplace();
  if (auto wrong = read_percent("cpu", asked_for.cpu, line.cpu); !wrong.empty()) return wrong;
  if (auto wrong = read_percent("memory", asked_for.memory, line.memory); !wrong.empty()) return wrong;
  if (!line.cpu && !line.memory) return "water line is missing; give --cpu PERCENT, --memory PERCENT or both";
  return read_end(asked_for, now, command.until);
}

std::string question(const operate::OverrideOptions& options) {
  const std::string place = options.pool.empty() ? "the whole cluster" : base::cat("pool ", options.pool);
  if (!options.command.line) return base::cat("Remove the override of ", place, "?");
  return base::cat("Override the water line of ", place, "?");
}

std::string stopped_text(const std::vector<std::string>& pools) {
  std::string text;
  for (const auto& pool : pools) {
    text += base::cat("note: evictions of pool ", pool,
                      " spiked: its nodes offer only what is sold, until selling resumes ",
                      "(tidemark report budgets, tidemark resume pool ", pool, ")\n");
  }
  return text;
}

std::string progress_text(const operate::OverrideWait& seen) {
  const std::size_t waits = seen.not_reached.size() + seen.other_words.size();
  std::string out = base::cat("followed by ", seen.nodes - waits, " of ", seen.nodes, " nodes");
  if (!seen.other_words.empty()) out += base::cat(", ", seen.other_words.size(), " more only in offer and water lines");
  return base::cat(out, seen.trouble.empty() ? "" : "; ", seen.trouble);
}

int finish_wait(const operate::OverrideWait& waited, base::Duration limit) {
  if (waited.reached) return kDone;
  std::string why = base::cat("stored, but not followed by all nodes after ", base::format_go_duration(limit),
                              waited.trouble.empty() ? "" : "; ", waited.trouble);
  if (waited.other_words.empty() || !waited.not_reached.empty()) {
    why += base::cat(" (check that a manager runs; with profile tidemark an offer grows in steps): ",
                     first_names(waited.not_reached));
  }
  if (!waited.other_words.empty()) {
    why += base::cat("; of ", waited.other_words.size(),
                     " follow in offer and water lines, but the rest of the NodeSLO differs from this version "
                     "(check the manager's version): ",
                     first_names(waited.other_words));
  }
  return failed({ErrorKind::kDeadline, std::move(why), 0, 0});
}

}  // namespace

int run_override(const std::vector<std::string>& args) {
  base::Flags flags("tidemark override",
                    "Overrides the calendar, and its freezes, with another water line for a pool or the cluster, for "
                    "a limited time.");
  ClusterOptions cluster_options;
  operate::OverrideOptions options;
  options.settings.zones = zones_of_machine();
  AskedOverride asked_for;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare(flags, asked_for, options);
  declare_log_flags(flags, log_options);
  flags.arguments("pool NAME | cluster", 1, 2);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (auto wrong = read_scope(parsed.arguments, options); !wrong.empty()) return wrong_use(wrong, flags);
  const base::SystemClock clock;
  if (auto wrong = read_command(asked_for, clock.wall(), options.command); !wrong.empty()) {
    return wrong_use(wrong, flags);
  }
  if (!asked_for.yes && !options.dry_run) {
    if (::isatty(STDIN_FILENO) != 1) {
      return wrong_use("without a terminal, an override of a pool or of the whole cluster needs --yes", flags);
    }
    if (!asked(question(options))) return failed({ErrorKind::kDenied, "canceled; nothing was changed", 0, 0});
  }
  ProgressLine progress;
  const bool quiet = asked_for.form.json();
  std::optional<operate::OverrideWait> waited;
  const int code = ask_cluster(
      "override", log_options, cluster_options,
      [&](net::EventLoop& loop, kube::Client& client, const base::Log& log) -> net::Task<Result<std::string>> {
        TM_CO_TRY(const auto report, co_await operate::give_override(loop, client, options));
        if (asked_for.wait > base::Duration(0) && !options.dry_run) {
          waited =
              co_await operate::wait_for_override(loop, client, log, base::Random(base::Random::seed_from_system()),
                                                  options, asked_for.wait, [&](const operate::OverrideWait& seen) {
                                                    if (quiet) return;
                                                    progress.show(progress_text(seen));
                                                  });
          progress.end();
        }
        if (!quiet) co_return cli::render_text(report) + (waited ? stopped_text(waited->stopped) : "");
        Json out = operate::render_json(report);
        if (waited) {
          out["reached"] = Json(waited->reached);
          out["stoppedPools"] = Json::array();
          for (const auto& pool : waited->stopped) out["stoppedPools"].as_array().push_back(Json(pool));
        }
        co_return out.dump_pretty() + "\n";
      });
  if (code != kDone || !waited) return code;
  return finish_wait(*waited, asked_for.wait);
}

}  // namespace tidemark::main
