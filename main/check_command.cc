#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "cli/yarn/check_ledger.h"
#include "main/cluster.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {

int run_check(const std::vector<std::string>& args) {
  base::Flags flags("tidemark check",
                    "Checks from outside that offers are correct: not below 0, not above the water line, nothing sold "
                    "to both Kubernetes and YARN, no growth without reports. Exit codes: 0 clean, 1 findings or "
                    "cannot read, 2 wrong use.");
  ClusterOptions cluster_options;
  cli::CheckOptions options;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  std::int64_t shown = static_cast<std::int64_t>(options.shown_max);
  using std::chrono::milliseconds, std::chrono::hours;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.watch.config_namespace, options.watch.config_name);
  flags.group("Check");
  flags.duration("for", options.length, base::Duration(0), hours(24 * 31),
                 "time to watch; the summary comes at the end, or at SIGINT (^C) or SIGTERM. 0s checks once");
  flags.duration("lag", options.audit.lag, base::Duration(0), hours(1), "longest delay until a change takes effect");
  flags.text("writer", options.audit.writer, "prefix of the field manager that publishes batch resources")
      .placeholder("NAME");
  yarn_operator::YarnOptions yarn;
  flags.group("YARN");
  yarn_operator::declare_yarn_flags(flags, yarn);
  flags.duration("yarn-poll", options.watch.managers.poll, milliseconds(200), std::chrono::minutes(10),
                 "interval between requests to the ResourceManagers, with --hadoop-conf-dir");
  declare_answer_flags(flags, form, options.watch.limit);
  flags.integer("limit", shown, 0, 1'000'000, "maximum number of findings to list");
  declare_log_flags(flags, log_options);
  flags.arguments("ledger", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (parsed.arguments[0] != "ledger") {
    return wrong_use(base::cat("cannot check ", base::in_quotes(parsed.arguments[0]), "; expected ledger"), flags);
  }
  options.json = form.json();
  options.shown_max = static_cast<std::size_t>(shown);
  net::WorkerPool workers(1, 100);  // for names of ResourceManagers
  auto clusters = clusters_if_told(yarn);
  if (!clusters) return failed(clusters.error());
  options.watch.managers.clusters = std::move(*clusters);
  options.watch.managers.workers = &workers;
  options.watch.managers.millicores_per_vcore = yarn.totals.vcore.value;
  options.watch.managers.seed = base::Random::seed_from_system();
  bool clean = false;
  const int code = ask_cluster(
      "check", log_options, cluster_options,
      [&](net::EventLoop& loop, kube::Client& client, const base::Log& log) -> net::Task<Result<std::string>> {
        for (auto& each : options.watch.managers.clusters) {
          TM_CO_TRY_VOID(speak_kerberos(each.managers, yarn.kerberos, log));
        }
        net::Event over(loop);
        const net::FdWatch signals = loop.watch_signals({SIGINT, SIGTERM}, [&](int signal) {
          if (over.is_set()) ::_exit(kEndedBySignal + signal);
          over.set();
        });
        TM_CO_TRY(auto report, co_await cli::check_ledger(loop, client, options, over));
        clean = report.clean;
        co_return std::move(report.text);
      });
  return code == kDone && !clean ? kFailed : code;
}

}  // namespace tidemark::main
