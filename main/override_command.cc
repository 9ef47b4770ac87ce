#include <unistd.h>

#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "cli/override.h"
#include "cli/override_wait.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
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

void declare(base::Flags& flags, AskedOverride& asked_for, cli::OverrideOptions& options) {
  declare_said_flags(flags, asked_for.said);
  flags.text("cpu", asked_for.cpu, "where the line of CPU is to be, in percent of capacity, 0 to 100")
      .placeholder("PERCENT");
  flags.text("memory", asked_for.memory, "the same of memory; what is not named is left to the calendar")
      .placeholder("PERCENT");
  flags.boolean("clear", asked_for.clear, "takes the override back: the calendar holds again at once");
  flags.duration("for", asked_for.lasts, base::Duration(0), policy::kOverrideLastsMax,
                 "ends by itself after this, by the clock here; this or --until must be given");
  flags.text("until", asked_for.until, "ends by itself at this time, e.g. 2026-11-21T22:00:00Z").placeholder("TIME");
  flags.boolean("dry-run", options.dry_run, "shows what would be done, and writes nothing");
  flags.boolean("yes", asked_for.yes, "does not ask before the line of a pool or of the whole cluster is moved");
  flags.duration("wait", asked_for.wait, base::Duration(0), kWaitMax,
                 "waits so long for every node to follow it; 0s does not wait");
  declare_answer_flags(flags, asked_for.form, options.settings.limit);
  declare_settings_flags(flags, options.settings.config_namespace, options.settings.config_name);
}

// What is wrong with it; empty where nothing is.
std::string read_percent(std::string_view flag, const std::string& text, std::optional<std::int64_t>& out) {
  if (text.empty()) return "";
  out = base::parse_int(text);
  if (out && *out >= 0 && *out <= policy::kOverridePercentMax) return "";
  return base::cat("--", flag, ": wanted 0 to ", policy::kOverridePercentMax, " percent of capacity, found ",
                   base::in_quotes(text));
}

std::string read_scope(const std::vector<std::string>& arguments, cli::OverrideOptions& options) {
  if (arguments[0] == "pool") {
    if (arguments.size() != 2) return arguments.size() < 2 ? "which pool?" : "one pool at a time";
    if (arguments[1].empty()) return "which pool?";
    options.pool = arguments[1];
    return "";
  }
  if (arguments[0] == "cluster") return arguments.size() == 1 ? "" : "cluster goes without a name";
  return base::cat("wanted pool or cluster, found ", base::in_quotes(arguments[0]),
                   arguments[0] == "node" ? ": a node's own line is its annotation colocation-strategy" : "");
}

std::string read_end(const AskedOverride& asked_for, base::WallTime now, base::WallTime& until) {
  const bool lasts = asked_for.lasts > base::Duration(0);
  if (lasts == !asked_for.until.empty()) {
    return lasts ? "--for or --until, not both" : "until when? --for 2h or --until TIME: an override always ends";
  }
  if (lasts) {
    until = now + asked_for.lasts;
    return "";
  }
  const auto time = base::parse_rfc3339(asked_for.until);
  if (!time) {
    return base::cat("--until: wanted a time like 2026-11-21T22:00:00Z, found ", base::in_quotes(asked_for.until));
  }
  until = *time;
  return "";
}

std::string read_command(const AskedOverride& asked_for, base::WallTime now, policy::OverrideCommand& command) {
  if (auto wrong = asked_for.said.wrong(); !wrong.empty()) return wrong;
  command.by = asked_for.said.by;
  command.why = asked_for.said.reason;
  if (asked_for.clear) {
    const bool more = !asked_for.cpu.empty() || !asked_for.memory.empty() || !asked_for.until.empty() ||
                      asked_for.lasts > base::Duration(0);
    return more ? "--clear takes the override back: it goes without --cpu, --memory, --for and --until" : "";
  }
  auto& line = command.line.emplace();
  if (auto wrong = read_percent("cpu", asked_for.cpu, line.cpu); !wrong.empty()) return wrong;
  if (auto wrong = read_percent("memory", asked_for.memory, line.memory); !wrong.empty()) return wrong;
  if (!line.cpu && !line.memory) return "which line? --cpu PERCENT, --memory PERCENT, or both";
  return read_end(asked_for, now, command.until);
}

std::string question(const cli::OverrideOptions& options) {
  const std::string place = options.pool.empty() ? "the whole cluster" : base::cat("pool ", options.pool);
  if (!options.command.line) return base::cat("Take back the override of ", place, "?");
  return base::cat("Override the water line of ", place, "?");
}

std::string stopped_text(const std::vector<std::string>& pools) {
  std::string text;
  for (const auto& pool : pools) {
    text += base::cat("note: evictions of pool ", pool, " spiked: its nodes offer what is sold, and no more, until it ",
                      "sells again (tidemark report budgets, tidemark resume pool ", pool, ")\n");
  }
  return text;
}

std::string progress_text(const cli::OverrideWait& seen) {
  const std::size_t waits = seen.not_reached.size() + seen.other_words.size();
  std::string out = base::cat("followed by ", seen.nodes - waits, " of ", seen.nodes, " nodes");
  if (!seen.other_words.empty()) out += base::cat(", ", seen.other_words.size(), " more in offer and lines alone");
  return base::cat(out, seen.trouble.empty() ? "" : "; ", seen.trouble);
}

int finish_wait(const cli::OverrideWait& waited, base::Duration limit) {
  if (waited.reached) return kDone;
  std::string why = base::cat("stored, but not followed by all nodes after ", base::format_go_duration(limit),
                              waited.trouble.empty() ? "" : "; ", waited.trouble);
  if (waited.other_words.empty() || !waited.not_reached.empty()) {
    why += base::cat(" (is a manager running? with profile tidemark an offer grows in steps): ",
                     first_names(waited.not_reached));
  }
  if (!waited.other_words.empty()) {
    why += base::cat("; of ", waited.other_words.size(),
                     " offer and lines have followed, and the NodeSLO does not say the rest as this version would (is "
                     "the manager of another version?): ",
                     first_names(waited.other_words));
  }
  return failed({ErrorKind::kDeadline, std::move(why), 0, 0});
}

}  // namespace

int run_override(const std::vector<std::string>& args) {
  base::Flags flags("tidemark override",
                    "Puts the water line of a pool, or of the whole cluster, somewhere else for a while: over its "
                    "calendar, freezes included.");
  ClusterOptions cluster_options;
  cli::OverrideOptions options;
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
      return wrong_use("the line of a pool or of the whole cluster is moved only with --yes where nobody can be asked",
                       flags);
    }
    if (!asked(question(options))) return failed({ErrorKind::kDenied, "nothing was done", 0, 0});
  }
  ProgressLine progress;
  const bool quiet = asked_for.form.json();
  std::optional<cli::OverrideWait> waited;
  const int code = ask_cluster(
      "override", log_options, cluster_options,
      [&](net::EventLoop& loop, kube::Client& client, const base::Log& log) -> net::Task<Result<std::string>> {
        TM_CO_TRY(const auto report, co_await cli::give_override(loop, client, options));
        if (asked_for.wait > base::Duration(0) && !options.dry_run) {
          waited = co_await cli::wait_for_override(loop, client, log, base::Random(base::Random::seed_from_system()),
                                                   options, asked_for.wait, [&](const cli::OverrideWait& seen) {
                                                     if (quiet) return;
                                                     progress.show(progress_text(seen));
                                                   });
          progress.end();
        }
        if (!quiet) co_return cli::render_text(report) + (waited ? stopped_text(waited->stopped) : "");
        Json out = cli::render_json(report);
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
