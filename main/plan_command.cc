#include "base/text.h"
#include "cli/plan_text.h"
#include "kube/config.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "operate/plan_json.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kFileMax = std::size_t{4} << 20;  // bytes
}  // namespace

int run_plan(const std::vector<std::string>& args) {
  base::Flags flags("tidemark plan",
                    "Shows the effect of new settings on the current cluster, per node and in total. Writes nothing. "
                    "Exit codes: 0 shown, 1 invalid settings or cannot read the cluster, 2 wrong use.");
  ClusterOptions cluster_options;
  operate::PlanOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  std::string file;
  AnswerForm form;
  std::int64_t shown = 20;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, options.config_namespace, options.config_name);
  flags.text("filename", file, "file with the new ConfigMaps: slo-controller-config, tidemark-config")
      .placeholder("FILE")
      .alias("f")
      .required();
  flags.list("noderesource-plugins", options.plugins, "*", policy::sell::parse_plugins,
             "plugins that the manager runs with");
  declare_answer_flags(flags, form, options.limit);
  flags.integer("limit", shown, 0, 1'000'000, "maximum number of nodes to list, largest change first");
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  auto text = kube::system_files().read(file, kFileMax);
  if (!text) return failed(text.error());
  options.text = std::move(*text);
  bool good = false;
  const int code =
      ask_cluster("plan", log_options, cluster_options,
                  [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                    TM_CO_TRY(const auto plan, co_await operate::plan_settings(loop, client, options));
                    good = plan.problems.empty();
                    if (form.json()) {
                      const Json out = good ? operate::plan_json(plan, static_cast<std::size_t>(shown))
                                            : operate::problems_json(plan);
                      co_return out.dump_pretty() + "\n";
                    }
                    co_return good ? cli::plan_text(plan, static_cast<std::size_t>(shown)) : cli::problems_text(plan);
                  });
  return code == kDone && !good ? kFailed : code;
}

}  // namespace tidemark::main
