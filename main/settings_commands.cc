#include "cli/settings_commands.h"

#include <optional>

#include "base/text.h"
#include "cli/budgets_text.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"

namespace tidemark::main {
namespace {

// Shared parts of these commands: flags and the argument.
class Command {
 public:
  Command(std::string_view name, std::string_view summary)
      : name_(name), flags_(base::cat("tidemark ", name), summary) {
    log_.level = base::LogLevel::kWarn;
    declare_cluster_flags(flags_, cluster_);
    declare_settings_flags(flags_, options.config_namespace, options.config_name);
  }

  void declare_change() {
    declare_audit_flags(flags_, cluster_.audit);
    flags_.group("Change");
    flags_.boolean("dry-run", change.dry_run, "show the change, write nothing");
    declare_reason_flag(flags_, change.reason);
    flags_.boolean("yes", change.confirmed,
                   "apply a change that would affect nodes at once; without it, the change is only shown");
    flags_.duration("wait", change.wait, base::Duration(0), std::chrono::hours(24),
                    "longest wait for the change to take effect; then exit code 1. 0s does not wait");
  }

  // nullopt: continue; otherwise the exit code. `or_pool`: also accepts `pool NAME`.
  std::optional<int> parse(const std::vector<std::string>& args, std::string_view about, bool or_pool = false) {
    declare_answer_flags(flags_, form_, options.limit);
    declare_log_flags(flags_, log_);
    flags_.arguments(or_pool ? base::cat(about, "|pool NAME") : std::string(about), 1, or_pool ? 2 : 1);
    base::Flags::Parsed parsed;
    if (auto code = parse_or_exit(flags_, args, parsed)) return code;
    const bool is_pool = or_pool && parsed.arguments[0] == "pool";
    if (parsed.arguments[0] != about && !is_pool) {
      return wrong_use(base::cat("cannot ", name_, " ", base::in_quotes(parsed.arguments[0]), "; expected ", about,
                                 or_pool ? ", pool" : ""),
                       flags_);
    }
    if (is_pool != (parsed.arguments.size() == 2)) {
      return wrong_use(is_pool ? "pool name is missing; use resume pool NAME" : base::cat(about, " takes no name"),
                       flags_);
    }
    if (is_pool) pool = parsed.arguments[1];
    change.id = host_identity(base::Random(base::Random::seed_from_system()).next());
    return std::nullopt;
  }

  template <class Ask>
  int run(const Ask& ask) {
    return ask_cluster(name_, log_, cluster_, ask);
  }
  // A wait that timed out is not a success.
  template <class Ask>
  int run_change(const Ask& ask) {
    bool in_vain = false;
    const int code = run([&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
      TM_CO_TRY(auto report, co_await ask(loop, client));
      in_vain = report.happened && !*report.happened;
      co_return std::move(report.text);
    });
    return in_vain ? kFailed : code;
  }

  base::Flags& flags() { return flags_; }
  bool json() const { return form_.json(); }

  operate::SettingsOptions options;
  operate::ChangeOptions change;
  std::string pool;

 private:
  std::string_view name_;
  base::Flags flags_;
  ClusterOptions cluster_;
  LogOptions log_;
  AnswerForm form_;
};

}  // namespace

int run_list(const std::vector<std::string>& args) {
  Command command("list", "Lists the revisions of the settings and the current rollout.");
  if (auto code = command.parse(args, "revisions")) return *code;
  return command.run([&](net::EventLoop& loop, kube::Client& client) {
    return cli::list_revisions(loop, client, command.options, command.json());
  });
}

int run_undo(const std::vector<std::string>& args) {
  Command command("undo",
                  "Restores earlier settings: those before the current rollout, or the previous revision. Permanent: "
                  "an end time would write the undone settings again, unattended.");
  std::int64_t to = 0;
  command.declare_change();
  command.flags()
      .integer("to", to, 0, std::int64_t{1} << 50, "number of the revision to restore; 0 is the previous one")
      .placeholder("NUMBER");
  if (auto code = command.parse(args, "config")) return *code;
  return command.run_change([&](net::EventLoop& loop, kube::Client& client) {
    return cli::undo_config(loop, client, command.options, command.change, to, command.json());
  });
}

int run_pause(const std::vector<std::string>& args) {
  Command command("pause", "Pauses the rollout of settings; later edits do not take effect until it resumes.");
  base::Duration pause_for{0};
  command.declare_change();
  command.flags().duration("for", pause_for, base::Duration(0), std::chrono::hours(24 * 30),
                           "time until it resumes, by this machine's clock; 0s waits for resume");
  if (auto code = command.parse(args, "config")) return *code;
  return command.run_change([&](net::EventLoop& loop, kube::Client& client) {
    return cli::pause_config(loop, client, command.options, command.change, pause_for, command.json());
  });
}

int run_resume(const std::vector<std::string>& args) {
  Command command("resume",
                  "Resumes a paused rollout of settings, or selling in a pool that evictions stopped. Permanent: to "
                  "pause again, use pause.");
  bool now = false;
  command.declare_change();
  command.flags().boolean("now", now, "apply the new settings to all nodes at once");
  if (auto code = command.parse(args, "config", true)) return *code;
  if (!command.pool.empty()) {
    if (now) return wrong_use("--now is only for new settings; resume pool NAME goes without it", command.flags());
    const operate::ResumePoolOptions options{command.pool,         command.change.reason,
                                             command.change.id,    command.change.dry_run,
                                             command.change.wait,  command.options.config_namespace,
                                             command.options.limit};
    return command.run([&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
      TM_CO_TRY(const bool done, co_await operate::resume_pool(loop, client, options));
      co_return cli::render_resumed(options, done, command.json());
    });
  }
  return command.run_change([&](net::EventLoop& loop, kube::Client& client) {
    return cli::resume_config(loop, client, command.options, command.change, now, command.json());
  });
}

}  // namespace tidemark::main
