#include "base/text.h"
#include "cli/explain.h"
#include "cli/explain_config.h"
#include "cli/explain_workload.h"
#include "cli/explain_yarn.h"
#include "cli/look_back.h"
#include "main/cluster.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "policy/profile/workload.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNamesAtOnce = 100;  // of ResourceManagers, that are resolved

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
  return ask_cluster("explain", log_options, cluster_options,
                     [&](net::EventLoop& loop, kube::Client& client, const base::Log& log) {
                       for (auto& each : options.clusters) speak_kerberos(each.managers, yarn.kerberos, log);
                       return cli::explain_yarn(loop, client, base::Random(base::Random::seed_from_system()), options);
                     });
}

}  // namespace

int run_explain(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark explain",
      "Shows why a node may sell what it sells, term by term, which settings are in force on it, and what "
      "a workload uses by the hour of the day, and why YARN has what it has of a node.");
  ClusterOptions cluster_options;
  cli::ExplainOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.config_namespace, options.config_name);
  flags.list("noderesource-plugins", options.plugins, "*", policy::parse_plugins, "what the manager runs with");
  yarn_operator::YarnOptions yarn_options;
  flags.group("YARN");
  yarn_operator::declare_yarn_flags(flags, yarn_options);
  yarn_operator::declare_rounding_flag(flags, yarn_options);
  flags.group("Looking back");
  std::string at;
  std::string journal;
  flags.text("at", at, "not now, but then: 2026-11-20T22:15:00Z, or 90m for so long ago; from the journal")
      .placeholder("TIME");
  flags
      .text("journal-dir", journal,
            "the manager's journal: for --at, and for what of a node only its manager remembers")
      .placeholder("DIR");
  declare_answer_flags(flags, form, options.limit);
  declare_log_flags(flags, log_options);
  flags.arguments("node|config|workload|yarn NAME", 2, 2);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const bool config = parsed.arguments[0] == "config";
  const bool workload = parsed.arguments[0] == "workload";
  const bool yarn = parsed.arguments[0] == "yarn";
  if (!config && !workload && !yarn && parsed.arguments[0] != "node") {
    return wrong_use(base::cat("cannot explain ", base::in_quotes(parsed.arguments[0]),
                               "; what can be explained: node, config, workload, yarn"),
                     flags);
  }
  if (workload && policy::parse_workload(parsed.arguments[1]).none()) {
    return wrong_use(base::cat(base::in_quotes(parsed.arguments[1]),
                               " is no workload: wanted NAMESPACE/KIND/NAME, as in shop/Deployment/web"),
                     flags);
  }
  options.node = parsed.arguments[1];
  options.json = form.json();
  if (!at.empty()) {
    const auto moment = cli::parse_moment(at, base::SystemClock().wall());
    if (yarn)
      return wrong_use("--at is for nodes; what ResourceManagers were told stands in the operator's audit", flags);
    if (workload) return wrong_use("--at is for nodes; a profile tells of the last seven days anyway", flags);
    if (config)
      return wrong_use("--at is for nodes; settings that were in force are listed by `list revisions`", flags);
    if (!moment)
      return wrong_use(base::cat("--at ", base::in_quotes(at), " is no time such as 2026-11-20T22:15:00Z or 90m"),
                       flags);
    if (journal.empty()) return wrong_use("--at needs --journal-dir, the folder of the manager's journal", flags);
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
