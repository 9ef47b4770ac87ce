#include <unistd.h>

#include "base/text.h"
#include "cli/uninstall_text.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "operate/uninstall.h"

namespace tidemark::main {

int run_uninstall(const std::vector<std::string>& args) {
  base::Flags flags("tidemark uninstall",
                    "Removes what Tidemark wrote to the cluster, and names what it cannot remove. Run it after "
                    "`tidemark off cluster --evict` and after the Deployments and DaemonSets are gone.");
  ClusterOptions cluster_options;
  operate::UninstallOptions options;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  bool yes = false;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  flags.group("Uninstall");
  flags.boolean("dry-run", options.dry_run, "show what would be removed, write nothing");
  flags.boolean("keep-shared", options.keep_shared,
                "keep what Koordinator uses too: offers, NodeSLOs, leases, webhooks");
  flags.boolean("yes", yes, "do not ask for confirmation");
  flags.integer("in-flight", options.in_flight, 1, 1000, "maximum number of concurrent writes");
  declare_answer_flags(flags, form, options.limit);
  declare_namespace_flag(flags, options.config_namespace);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (!yes && !options.dry_run) {
    if (::isatty(STDIN_FILENO) != 1) return wrong_use("without a terminal, uninstall needs --yes", flags);
    if (!asked("Remove everything that Tidemark wrote to the cluster?")) {
      return failed({ErrorKind::kDenied, "canceled; nothing was changed", 0, 0});
    }
  }
  bool complete = false;
  const int code =
      ask_cluster("uninstall", log_options, cluster_options,
                  [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                    TM_CO_TRY(const auto report, co_await operate::uninstall(loop, client, options));
                    complete = report.complete();
                    co_return form.json() ? cli::render_json(report).dump_pretty() + "\n" : cli::render_text(report);
                  });
  return code == kDone && !complete ? kFailed : code;
}

}  // namespace tidemark::main
