#include <optional>
#include <utility>

#include "base/metrics.h"
#include "base/peer_flags.h"
#include "base/random.h"
#include "linux/cgroup/kill.h"
#include "main/audit.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"
#include "net/worker.h"
#include "yarn_copilot/yarn_copilot.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kNamesWaitingMax = 16;

// nullopt: no Hadoop configuration is given.
Result<std::optional<hadoop::RmCluster>> managers_of(const yarn_copilot::CopilotOptions& options) {
  if (options.hadoop_conf_dir.empty()) return std::nullopt;
  TM_TRY(auto clusters, clusters_in(options.hadoop_conf_dir, options.user));
  const std::string_view wanted = options.cluster.empty() ? yarn_operator::kDefaultCluster : options.cluster;
  for (auto& each : clusters) {
    if (each.id == wanted) return std::move(each.managers);
  }
  return fail(ErrorKind::kNotFound, "--yarn-cluster: not found: ", wanted, ".yarn-site.xml in ",
              options.hadoop_conf_dir);
}

}  // namespace

int run_yarn_copilot(const std::vector<std::string>& args) {
  base::Flags flags("tidemark yarn-copilot",
                    "Lists, limits and evicts the YARN containers of this node. Serves the agent on a Unix socket.");
  yarn_copilot::CopilotOptions options;
  AuditOptions audit_options;
  LogOptions log_options;
  yarn_copilot::declare_flags(flags, options);
  declare_audit_flags(flags, audit_options);
  declare_log_flags(flags, log_options);
  base::PeerFlags peer_flags({});
  peer_flags.declare(flags);
  flags.example("tidemark yarn-copilot --node-manager-endpoint localhost:8042");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (options.hadoop_conf_dir.empty()) options.hadoop_conf_dir = environment_or_empty("HADOOP_CONF_DIR");
  if (options.hadoop_conf_dir.empty() && !options.cluster.empty()) {
    return wrong_use("--yarn-cluster needs --hadoop-conf-dir", flags);
  }
  auto managers = managers_of(options);
  if (!managers) return failed(managers.error());

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("yarn-copilot");
  if (*managers) {
    if (auto able = speak_kerberos(**managers, options.kerberos, log, &metrics); !able) return failed(able.error());
  }
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);
  AuditOutput audit(loop, log, &metrics, audit_options);
  net::WorkerPool names(1, kNamesWaitingMax);
  linux::KernelKillRim killing;
  for (const auto& what : peer_flags.without_effect(parsed)) log.warn("flag without effect", {{"what", what}});
  log.info("starting", {{"version", TIDEMARK_VERSION}});
  auto copilot = yarn_copilot::YarnCopilot::make(
      loop, {killing, names, audit.listener(), *std::move(managers), base::Random::seed_from_system()}, log, metrics,
      std::move(options));
  if (!copilot) return failed(copilot.error());
  signals.run(log, [&] { return (*copilot)->drain(); });
  copilot->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
