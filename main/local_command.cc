// `tidemark local`: selects the command for one machine; shared parts of these commands.
#include <signal.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "cli/local/followed_transport.h"
#include "cli/local/ps.h"
#include "cli/local/stop.h"
#include "main/cluster.h"
#include "main/local.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "net/http_client.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNamesMax = 1000;
constexpr std::size_t kResolveQueueMax = 64;
constexpr base::Duration kStopWait = std::chrono::minutes(5);  // the default grace is half a minute
constexpr std::string_view kUsage = "tidemark local [flags] run|ps|logs|stop|top";

struct LocalCommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
};

constexpr LocalCommand kLocalCommands[] = {
    {"run", "run a command as a batch job that waits for idle capacity, or as online work", run_local_run},
    {"ps", "list running, waiting and ended tasks", run_local_ps},
    {"logs", "show the output of a task, over all attempts", run_local_logs},
    {"stop", "stop tasks", run_local_stop},
    {"top", "show the live state of the machine", run_local_top},
};

std::string help() {
  std::string out = base::cat("Usage: ", kUsage,
                              "\n\nOnline and batch work on one machine, where `tidemark up` runs.\n\nCommands:\n");
  for (const LocalCommand& each : kLocalCommands) {
    out += base::cat("  ", each.name, std::string(8 - each.name.size(), ' '), each.summary, "\n");
  }
  out +=
      "\nFor the flags of a command, run: tidemark local COMMAND --help. Exit codes: 0 done, 1 failed, 2 wrong use.\n";
  return out;
}

int wrong_command(const std::string& why) {
  return wrong_use(base::cat("tidemark: ", why, "\nusage: ", kUsage, "\n"));
}

}  // namespace

void declare_local_flags(base::Flags& flags, cli::LocalServer& server) {
  flags.group("Server");
  flags.text("data-dir", server.data_dir, "data directory of `tidemark up`").placeholder("DIR");
  flags.text("kubeconfig", server.kubeconfig, "kubeconfig file (default the one in --data-dir)").placeholder("FILE");
  flags.text("namespace", server.ns, "namespace of the tasks").placeholder("NAME").alias("n");
}

namespace {

int with_client(const cli::LocalServer& server, const LogOptions& log_options, bool needed,
                const std::function<net::Task<int>(net::EventLoop&, kube::Client*)>& command,
                const std::function<void()>& on_signal) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  int code = kFailed;
  net::FdWatch signals;  // before any other thread, so that this thread gets the signals
  if (on_signal) {
    signals = loop.watch_signals({SIGINT, SIGTERM}, [&](int signal) {
      code = kEndedBySignal + signal;
      on_signal();
      loop.stop();
    });
  }
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  ClusterOptions options;
  options.kubeconfig = server.kubeconfig_file();
  kube::ClientConfig config;
  config.user_agent = "tidemark-local/" TIDEMARK_VERSION;
  net::WorkerPool resolver(1, kResolveQueueMax);
  std::function<std::string()> bearer;
  const auto connect = [&]() -> Result<std::unique_ptr<net::HttpTransport>> {
    TM_TRY(auto found, find_cluster(options, clock));
    warn_if_unverified(found, log_output.named("local"));
    auto transport = make_transport(loop, resolver, found, base::Random(base::Random::seed_from_system()));
    bearer = std::move(found.bearer);
    return transport;
  };
  auto first = connect();
  if (!first && needed) {
    const bool none = first.error().kind == ErrorKind::kNotFound;
    return failed(none ? cli::no_server(first.error(), server) : cli::explained(first.error(), server));
  }
  std::optional<cli::FollowedTransport> transport;
  std::optional<kube::Client> client;
  if (first) {
    transport.emplace(*std::move(first), connect);
    client.emplace(loop, *transport, [&] { return bearer(); }, config, base::Random(base::Random::seed_from_system()));
  }
  net::Scope scope(loop);
  const auto run_then_stop = [&]() -> net::Task<void> {
    code = co_await command(loop, client ? &*client : nullptr);
    loop.stop();
  };
  scope.spawn(run_then_stop());
  loop.run();
  return code;
}

}  // namespace

int with_local(const cli::LocalServer& server, const LogOptions& log_options,
               const std::function<net::Task<int>(net::EventLoop&, kube::Client&)>& command,
               const std::function<void()>& on_signal) {
  return with_client(
      server, log_options, true, [&](net::EventLoop& loop, kube::Client* client) { return command(loop, *client); },
      on_signal);
}

int with_local_if_there(const cli::LocalServer& server, const LogOptions& log_options,
                        const std::function<net::Task<int>(net::EventLoop&, kube::Client*)>& command) {
  return with_client(server, log_options, false, command, nullptr);
}

int tell(const Result<std::string>& answer, const cli::LocalServer& server) {
  return answer ? print(*answer) : failed(cli::explained(answer.error(), server));
}

int run_local_ps(const std::vector<std::string>& args) {
  base::Flags flags("tidemark local ps",
                    "Lists tasks: online work, and batch jobs with their place in the queue. RUNS counts the starts. "
                    "Exit codes: 0 listed, 1 failed, 2 wrong use.");
  cli::PsOptions options;
  AnswerForm form;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  declare_local_flags(flags, options.server);
  flags.group("Tasks");
  flags.boolean("all", options.all, "also list ended tasks").alias("a");
  declare_answer_flags(flags, form, options.server.limit);
  declare_log_flags(flags, log_options);
  flags.example("tidemark local ps -a");
  flags.example("tidemark local ps -o json | jq '.tasks[] | select(.state == \"Waiting\")'");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  options.json = form.json();
  return with_local(options.server, log_options, [&](net::EventLoop& loop, kube::Client& client) -> net::Task<int> {
    co_return tell(co_await cli::local_ps(loop, client, options), options.server);
  });
}

int run_local_stop(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark local stop",
      "Stops tasks: sends SIGTERM, and SIGKILL after the grace period. A stopped batch job does not start again. "
      "Exit codes: 0 done, 1 failed, 2 wrong use.");
  cli::LocalServer server;
  cli::StopOptions options;
  bool wait = false;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  declare_local_flags(flags, server);
  declare_timeout_flag(flags, server.limit);
  flags.group("Tasks");
  flags.boolean("now", options.now, "kill after one second instead of the grace period");
  flags.boolean("wait", wait, "wait until the tasks have ended, at most 5m");
  declare_log_flags(flags, log_options);
  flags.arguments("NAME [NAME...]", 1, kNamesMax);
  flags.example("tidemark local stop train-x7k2pq --wait");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  options.names = parsed.arguments;
  options.ns = server.ns;
  options.limit = server.limit;
  if (wait) options.wait = kStopWait;
  return with_local(server, log_options, [&](net::EventLoop& loop, kube::Client& client) -> net::Task<int> {
    co_return tell(co_await cli::stop_local(loop, client, options), server);
  });
}

int run_local(const std::vector<std::string>& args) {
  if (args.empty()) return wrong_command("command is missing; expected run, ps, logs, stop or top");
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") return print(help());
  std::vector<std::string_view> names;
  for (const LocalCommand& each : kLocalCommands) {
    if (each.name == args[0]) return each.run({args.begin() + 1, args.end()});
    names.push_back(each.name);
  }
  if (args[0].starts_with('-')) return wrong_command("flags follow the command, e.g. tidemark local ps --all");
  const auto meant = base::nearest(args[0], names);
  return wrong_command(base::cat("`tidemark local`: unknown command ", base::in_quotes(args[0]),
                                 meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
}

}  // namespace tidemark::main
