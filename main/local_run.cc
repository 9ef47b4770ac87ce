#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "cli/local/logs.h"
#include "cli/local/run.h"
#include "main/local.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "model/qos.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kWordsMax = 10'000;
constexpr std::string_view kEnds = "--";  // ends the flags of this program

struct Asked {
  std::string qos = "BE", work_class = "batch";
  std::string dir;
  bool restart = false;
  bool wait = false;
  AnswerForm form;
};

void declare(base::Flags& flags, Asked& asked_for, cli::RunOptions& options) {
  flags.group("Task");
  flags
      .text("name", options.name,
            "name of the task, unique among tasks that have not ended (default the command and a random suffix)")
      .placeholder("NAME");
  flags.choice("qos", asked_for.qos, {"BE", "LS"},
               "BE: batch work; LS (latency-sensitive): online work, same as --class prod");
  flags.choice("class", asked_for.work_class, {"prod", "mid", "batch", "free"},
               "priority: prod is online work, then mid, batch, and free, which requests nothing");
  flags
      .text("cpu", options.cpu,
            "requested cores, e.g. 2 or 500m; batch work may use more idle cores, unless the settings limit each task")
      .placeholder("CORES");
  flags.text("memory", options.memory, "memory limit, e.g. 4Gi or 512Mi; a task that uses more is killed")
      .placeholder("BYTES");
  flags.list("env", options.environment, "environment variable; repeat for more. Only PATH and HOME are inherited")
      .placeholder("NAME=VALUE")
      .verbatim();
  flags.text("dir", asked_for.dir, "working directory (default the current one)").placeholder("DIR");
  flags.integer("retries", options.retries, 0, cli::kRetriesMax,
                "number of restarts of failed batch work; an eviction is not a failure");
  flags.boolean("restart", asked_for.restart,
                "restart failed batch work until it succeeds; online work always restarts");
  flags.boolean("wait", asked_for.wait,
                "show the output of batch work until it has ended, and return its exit code; ^C does not stop it");
}

std::string working_folder() {
  char here[PATH_MAX] = {};
  return ::getcwd(here, sizeof here) == nullptr ? "" : here;
}

// The error in the flags; "" if they are valid.
std::string read_asked(const base::Flags::Parsed& parsed, const Asked& asked_for, cli::RunOptions& options) {
  const auto said = [&](std::string_view name) {
    return std::ranges::any_of(parsed.settings,
                               [&](const auto& one) { return one.name == name && one.from != "default"; });
  };
  const bool online = asked_for.qos == "LS";
  options.work_class = model::parse_priority_class(base::cat("koord-", asked_for.work_class));
  if (said("qos") && said("class") && online != options.online()) {
    return base::cat("--qos ", asked_for.qos, " and --class ", asked_for.work_class,
                     " do not go together; one of them is enough");
  }
  if (said("qos") && online) options.work_class = model::PriorityClass::kProd;
  options.says_amounts = said("cpu") || said("memory");
  if (options.online() && said("retries")) return "--retries is only for batch work; online work always restarts";
  if (options.online() && asked_for.wait) {
    return "--wait is only for batch work; online work does not end; `tidemark local logs -f` shows its output";
  }
  if (asked_for.wait && asked_for.form.json())
    return "--wait shows the output of the command; it goes without --output=json";
  if (asked_for.restart && said("retries")) return "--retries and --restart exclude each other";
  if (asked_for.restart) options.retries = cli::kRetriesMax;
  options.dir = asked_for.dir;
  if (options.dir.empty() || !options.dir.starts_with('/')) {
    const std::string here = working_folder();
    if (here.empty()) return "the current directory does not exist any more; give --dir";
    options.dir = options.dir.empty() ? here : base::cat(here, "/", options.dir);
  }
  return "";
}

// The exit code of the job, as in a shell.
int exit_code_of(const std::string& name, const std::optional<cli::LocalTask>& task) {
  constexpr std::int64_t kExitMax = 255;
  if (!task) return failed({ErrorKind::kGone, base::cat(name, " was stopped"), 0, 0});
  if (task->state == cli::TaskState::kSucceeded) return kDone;
  if (task->exit_code.value_or(0) > 0) return static_cast<int>(std::min(*task->exit_code, kExitMax));
  return failed({ErrorKind::kInternal,
                 base::cat(name, " failed", task->why.empty() ? "" : ": ", cli::one_line(task->why)), 0, 0});
}

net::Task<int> follow(net::EventLoop& loop, kube::Client& client, const cli::LocalServer& server,
                      const std::string& name) {
  ProgressLine progress;
  const bool watched = ::isatty(STDERR_FILENO) == 1;
  cli::LogsOptions options;
  options.server = server;
  options.name = name;
  options.follow = true;
  options.on_look = [&](const cli::LocalTask& task) {
    const bool begun = task.state != cli::TaskState::kWaiting && task.state != cli::TaskState::kRequeued &&
                       task.state != cli::TaskState::kStarting;
    if (begun) progress.end();
    if (begun || !watched) return;
    progress.show(base::cat(name, "  ", cli::state_text(task), "  ", cli::one_line(task.why)));
  };
  auto task = co_await cli::local_logs(loop, &client, options, put_log);
  progress.end();
  if (!task) co_return failed(cli::explained(std::move(task).error(), server));
  co_return exit_code_of(name, *task);
}

}  // namespace

int run_local_run(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark local run",
      "Runs a command on this machine. Without --qos and --class it is batch work: the job waits for idle "
      "capacity, slows down when online work needs the machine, and is stopped and queued again if that is not "
      "enough. Exit codes: 0 accepted, 1 failed, 2 wrong use; with --wait the command's exit code.");
  cli::LocalServer server;
  cli::RunOptions options;
  Asked asked_for;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  declare_local_flags(flags, server);
  declare(flags, asked_for, options);
  declare_answer_flags(flags, asked_for.form, server.limit);
  declare_log_flags(flags, log_options);
  flags.arguments("-- COMMAND [ARG...]", 0, kWordsMax);
  flags.example("tidemark local run --cpu=2 --memory=4Gi -- ./train.py --epochs 10");
  flags.example("tidemark local run --qos=LS --cpu=1 --name=web --env=PORT=8080 -- ./server");
  const auto ends = std::ranges::find(args, kEnds);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, {args.begin(), ends}, parsed)) return *code;
  if (ends == args.end()) {
    options.command = parsed.arguments;
  } else if (!parsed.arguments.empty()) {
    return wrong_use(
        base::cat("found ", base::in_quotes(parsed.arguments[0]), " before --; the whole command must follow --"),
        flags);
  } else {
    options.command.assign(ends + 1, args.end());
  }
  if (options.command.empty()) return wrong_use("command is missing; it follows --", flags);
  if (auto wrong = read_asked(parsed, asked_for, options); !wrong.empty()) return wrong_use(wrong, flags);
  base::Random random(base::Random::seed_from_system());
  if (options.name.empty()) options.name = cli::name_for(options.command, random);
  options.ns = server.ns;
  options.path = environment_or_empty("PATH");
  options.home = environment_or_empty("HOME");
  if (const auto object = cli::run_object(options); !object) return wrong_use(object.error().message, flags);

  const auto make = [&](net::EventLoop& loop, kube::Client& client) -> net::Task<int> {
    auto made = co_await cli::run_local(loop, client, options, server.limit);
    if (!made) co_return failed(cli::explained(std::move(made).error(), server));
    if (*made) {
      put_log(cli::LogStream::kError, base::cat("the job ", options.name, " before it ended; it is removed\n"));
    }
    if (asked_for.wait) co_return co_await follow(loop, client, server, options.name);
    const Json told = Json::object({{"schema", 1}, {"namespace", options.ns}, {"name", options.name}});
    co_return print(asked_for.form.json() ? told.dump_pretty() + "\n" : options.name + "\n");
  };
  if (!asked_for.wait) return with_local(server, log_options, make);
  return with_local(server, log_options, make, [&] {
    put_log(cli::LogStream::kError,
            base::cat("\n", options.name, " continues: `tidemark local logs -f ", options.name,
                      "` shows its output, `tidemark local stop ", options.name, "` stops it\n"));
  });
}

}  // namespace tidemark::main
