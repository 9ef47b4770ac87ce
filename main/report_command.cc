#include "base/text.h"
#include "cli/budgets.h"
#include "cli/report.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"

namespace tidemark::main {

int run_report(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark report",
      "Shows the states of all nodes, the difference between the current and the planned values, the eviction "
      "budgets of pools and jobs, or the number of evicted tasks.");
  ClusterOptions cluster_options;
  cli::ReportOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.config_namespace, options.config_name);
  flags.list("noderesource-plugins", options.plugins, "*", policy::parse_plugins, "plugins that the manager runs with");
  declare_answer_flags(flags, form, options.limit);
  flags.text("pool", options.pool, "show only nodes of this pool").placeholder("NAME");
  flags.boolean("all", options.all, "also show nodes without findings");
  declare_log_flags(flags, log_options);
  flags.arguments("states|difference|budgets|evictions", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const std::string& about = parsed.arguments[0];
  if (about == "budgets" || about == "evictions") {
    cli::BudgetsOptions budgets;
    budgets.about = about == "budgets" ? cli::BudgetsOf::kBudgets : cli::BudgetsOf::kEvictions;
    budgets.pool = options.pool;
    budgets.config_namespace = options.config_namespace;
    budgets.json = form.json();
    budgets.limit = options.limit;
    return ask_cluster("report", log_options, cluster_options, [&](net::EventLoop& loop, kube::Client& client) {
      return cli::report_budgets(loop, client, budgets);
    });
  }
  if (about != "states" && about != "difference") {
    return wrong_use(
        base::cat("cannot report ", base::in_quotes(about), "; expected states, difference, budgets or evictions"),
        flags);
  }
  options.about = about == "states" ? cli::ReportOf::kStates : cli::ReportOf::kDifference;
  options.json = form.json();
  return ask_cluster("report", log_options, cluster_options,
                     [&](net::EventLoop& loop, kube::Client& client) { return cli::report(loop, client, options); });
}

}  // namespace tidemark::main
