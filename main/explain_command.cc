#include "base/text.h"
#include "cli/explain.h"
#include "cli/explain_config.h"
#include "cli/explain_workload.h"
#include "cli/look_back.h"
#include "cli/yarn/explain_yarn.h"
#include "main/cluster.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "policy/waterline/profile/workload.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNamesAtOnce = 100;  // host names of ResourceManagers that are resolved

int explain_yarn(const LogOptions& log_options, const ClusterOptions& cluster_options,
                 const cli::ExplainOptions& common, yarn_operator::YarnOptions yarn) {
  cli::ExplainYarnOptions options;
  options.node = common.node;
  options.config_namespace = common.config_namespace;
  options.zones = common.zones;
  options.json = common.json;
  options.limit = common.limit;
  options.totals = yarn.totals;
  auto clusters = clusters_if_told(yarn);
  if (!clusters) return failed(clusters.error());
  options.clusters = std::move(*clusters);
  net::WorkerPool workers(1, kNamesAtOnce);
  options.workers = &workers;
  return ask_cluster(
      "explain", log_options, cluster_options,
      [&](net::EventLoop& loop, kube::Client& client, const base::Log& log) -> net::Task<Result<std::string>> {
        for (auto& each : options.clusters) {
          TM_CO_TRY_VOID(speak_kerberos(each.managers, yarn.kerberos, log));
        }
        co_return co_await cli::explain_yarn(loop, client, base::Random(base::Random::seed_from_system()), options);
      });
}

}  // namespace

int run_explain(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark explain",
      "Shows the formula of a node's offer with its values, the settings of a node, the usage of a workload by hour "
      "of the day, or YARN's share of a node. `explain run` takes the flags of `tidemark spark show`.");
  ClusterOptions cluster_options;
  cli::ExplainOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.config_namespace, options.config_name);
  flags.list("noderesource-plugins", options.plugins, "*", policy::sell::parse_plugins,
             "plugins that the manager runs with");
  yarn_operator::YarnOptions yarn_options;
  flags.group("YARN");
  yarn_operator::declare_yarn_flags(flags, yarn_options);
  yarn_operator::declare_rounding_flag(flags, yarn_options);
  flags.group("Looking back");
  std::string at;
  std::string journal;
  flags.text("at", at, "past time to explain, from the journal: 2026-11-20T22:15:00Z, or 90m for 90 minutes ago")
      .placeholder("TIME");
  flags
      .text("journal-dir", journal,
            "directory of the manager's journal; needed by --at and for state that only the manager has")
      .placeholder("DIR");
  declare_answer_flags(flags, form, options.limit);
  declare_log_flags(flags, log_options);
  flags.arguments("node|config|workload|yarn|run NAME", 2, 2);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const bool config = parsed.arguments[0] == "config";
  const bool workload = parsed.arguments[0] == "workload";
  const bool yarn = parsed.arguments[0] == "yarn";
  if (!config && !workload && !yarn && parsed.arguments[0] != "node") {
    return wrong_use(
        base::cat("cannot explain ", base::in_quotes(parsed.arguments[0]), "; expected node, config, workload or yarn"),
        flags);
  }
  if (workload && policy::waterline::parse_workload(parsed.arguments[1]).none()) {
    return wrong_use(base::cat(base::in_quotes(parsed.arguments[1]),
                               " is not a workload; expected NAMESPACE/KIND/NAME, e.g. shop/Deployment/web"),
                     flags);
  }
  options.node = parsed.arguments[1];
  options.json = form.json();
  if (!at.empty()) {
    const auto moment = cli::parse_moment(at, base::SystemClock().wall());
    if (yarn)
      return wrong_use("--at is only for nodes; the operator's audit shows what it sent to ResourceManagers", flags);
    if (workload) return wrong_use("--at is only for nodes; a profile covers the last seven days anyway", flags);
    if (config) return wrong_use("--at is only for nodes; `tidemark list revisions` shows earlier settings", flags);
    if (!moment)
      return wrong_use(
          base::cat("--at ", base::in_quotes(at), " is not a time; expected e.g. 2026-11-20T22:15:00Z or 90m"), flags);
    if (journal.empty()) return wrong_use("--at needs --journal-dir, the directory of the manager's journal", flags);
    const auto answer = cli::explain_node_at({journal, options.node, *moment, options.json});
    return answer ? print(*answer) : failed(answer.error());
  }

  options.journal = journal;
  if (yarn) return explain_yarn(log_options, cluster_options, options, std::move(yarn_options));
  return ask_cluster("explain", log_options, cluster_options, [&](net::EventLoop& loop, kube::Client& client) {
    if (workload) return cli::explain_workload(loop, client, options);
    return config ? cli::explain_config(loop, client, options) : cli::explain_node(loop, client, options);
  });
}

}  // namespace tidemark::main
