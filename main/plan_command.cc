#include "base/text.h"
#include "cli/plan.h"
#include "kube/config.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/zones.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kFileMax = std::size_t{4} << 20;  // bytes
}  // namespace

int run_plan(const std::vector<std::string>& args) {
  base::Flags flags("tidemark plan",
                    "Shows what other settings would do to the cluster as it is now, node by node and in sum. Writes "
                    "nothing. Exit codes: 0 shown, 1 the new settings are wrong or the cluster was not read, 2 wrong "
                    "use.");
  ClusterOptions cluster_options;
  cli::PlanOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  std::string file;
  std::string output = "text";
  std::int64_t shown = static_cast<std::int64_t>(options.shown_max);
  declare_cluster_flags(flags, cluster_options);
  flags.group("Configuration");
  flags.text("filename", file, "manifests of the ConfigMaps as they would be: slo-controller-config, tidemark-config")
      .placeholder("FILE")
      .alias("f")
      .required();
  flags.text("config-namespace", options.config_namespace, "namespace of the ConfigMaps with the settings")
      .placeholder("NAMESPACE");
  flags.text("slo-config-name", options.config_name, "name of the ConfigMap with the co-location settings")
      .placeholder("NAME");
  flags.list("noderesource-plugins", options.plugins, "*", policy::parse_plugins, "what the manager runs with");
  flags.group("Output");
  flags.integer("limit", shown, 0, 1'000'000, "nodes shown one by one, those that change most first");
  flags.choice("output", output, {"text", "json"}, "form of the answer").alias("o");
  flags.duration("timeout", options.limit, std::chrono::milliseconds(100), std::chrono::hours(1),
                 "longest wait for one answer of the API server");
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  options.json = output == "json";
  options.shown_max = static_cast<std::size_t>(shown);
  auto text = kube::system_files().read(file, kFileMax);
  if (!text) return failed(text.error());
  options.text = std::move(*text);
  bool good = false;
  const int code = ask_cluster("plan", log_options, cluster_options,
                               [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                                 TM_CO_TRY(auto report, co_await cli::plan_settings(loop, client, options));
                                 good = report.good;
                                 co_return std::move(report.text);
                               });
  return code == kDone && !good ? kFailed : code;
}

}  // namespace tidemark::main
