#include <utility>

#include "base/text.h"
#include "cli/budgets_text.h"
#include "cli/off_text.h"
#include "cli/report_text.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/off_progress.h"

namespace tidemark::main {

int run_report(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark report",
      "Shows the states of all nodes, the difference between the current and the planned values, the progress of "
      "`off --evict`, the eviction budgets of pools and jobs, or the number of evicted tasks.");
  ClusterOptions cluster_options;
  operate::ReportOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  bool all = false;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.config_namespace, options.config_name);
  flags.list("noderesource-plugins", options.plugins, "*", policy::sell::parse_plugins,
             "plugins that the manager runs with");
  declare_answer_flags(flags, form, options.limit);
  flags.text("pool", options.pool, "show only nodes of this pool").placeholder("NAME");
  flags.boolean("all", all, "also show nodes without findings");
  declare_log_flags(flags, log_options);
  flags.arguments("states|difference|off|budgets|evictions", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const std::string& about = parsed.arguments[0];
  if (about == "budgets" || about == "evictions") {
    const auto of = about == "budgets" ? cli::BudgetsOf::kBudgets : cli::BudgetsOf::kEvictions;
    const operate::BudgetsQuestion question{options.pool, options.config_namespace, options.limit};
    return ask_cluster("report", log_options, cluster_options,
                       [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                         TM_CO_TRY(auto budgets, co_await operate::read_budgets(client, question));
                         co_return cli::render_budgets(std::move(budgets), of, options.pool, form.json(),
                                                       loop.clock().wall());
                       });
  }
  if (about == "off") {
    return ask_cluster("report", log_options, cluster_options,
                       [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                         TM_CO_TRY(const auto all,
                                   co_await operate::read_progress(client, options.config_namespace, options.limit));
                         if (!form.json()) co_return cli::stored_text(all, loop.clock().wall());
                         Json out = Json::object({{"schema", 1}, {"off", Json::array()}});
                         for (const auto& each : all) out["off"].as_array().push_back(operate::progress_json(each));
                         co_return out.dump_pretty() + "\n";
                       });
  }
  if (about != "states" && about != "difference") {
    return wrong_use(
        base::cat("cannot report ", base::in_quotes(about), "; expected states, difference, off, budgets or evictions"),
        flags);
  }
  options.about = about == "states" ? operate::ReportOf::kStates : operate::ReportOf::kDifference;
  return ask_cluster("report", log_options, cluster_options,
                     [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                       TM_CO_TRY(const auto report, co_await operate::report_nodes(loop, client, options));
                       co_return form.json() ? cli::render_json(report, options.about).dump_pretty() + "\n"
                                             : cli::render_text(report, options.about, all);
                     });
}

}  // namespace tidemark::main
