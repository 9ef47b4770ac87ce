#include <utility>

#include "base/metrics.h"
#include "main/cluster.h"
#include "main/line_stream.h"
#include "main/past_files.h"
#include "main/past_service.h"
#include "main/process.h"
#include "main/zones.h"
#include "manager/manager.h"
#include "manager/peer_flags.h"

namespace tidemark::main {

int run_manager(const std::vector<std::string>& args) {
  base::Flags flags("tidemark manager",
                    "Publishes the idle capacity of nodes as batch resources for Kubernetes and YARN.");
  ClusterOptions cluster_options;
  manager::ManagerOptions options;
  options.zones = zones_of_machine();
  LogOptions log_options;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  StreamOptions stream_options;
  declare_stream_flags(flags, stream_options);
  manager::declare_flags(flags, options);
  std::string past_address;
  declare_past_flag(flags, past_address);
  declare_log_flags(flags, log_options);
  base::PeerFlags peer_flags(manager::peer_flags());
  peer_flags.declare(flags);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("manager");
  base::Random random(base::Random::seed_from_system());
  net::EventLoop loop(clock);
  Signals signals(loop);

  kube::ClientConfig client_config;
  client_config.queries_per_second = options.queries_per_second;
  client_config.burst = static_cast<int>(options.query_burst);
  client_config.read_only = options.mode == "observe";
  client_config.user_agent = "tidemark-manager/" TIDEMARK_VERSION;
  client_config.metrics = &metrics;
  const std::string identity = host_identity(random.next());
  if (cluster_options.audit.file.empty() && !options.journal.directory.empty()) {
    cluster_options.audit.file = options.journal.directory + "/audit.jsonl";
  }
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  audit.listen_to(client_config, "manager " + identity);
  auto cluster = connect_cluster(loop, log, random.fork(), cluster_options, client_config);
  if (!cluster) return failed(cluster.error());
  for (const auto& what : peer_flags.without_effect(parsed)) log.warn("flag without effect", {{"what", what}});
  for (const auto& what : options.feature_gates.without_effect())
    log.warn("feature gate without effect", {{"what", what}});
  if (options.lease.ns.empty()) options.lease.ns = cluster->ns;
  options.lease.identity = identity;
  log.info("starting", {{"version", TIDEMARK_VERSION},
                        {"cluster", cluster->source},
                        {"plugins", policy::sell::plugins_text(options.plugins)}});
  if (options.webhooks.mode == manager::WebhookMode::kAuto) {
    options.webhooks.mode = cluster->source == "in-cluster" ? manager::WebhookMode::kOn : manager::WebhookMode::kOff;
  }

  const auto stream = StreamOutput::make(loop, log, metrics, random.fork(), stream_options,
                                         {cluster_options.audit.file}, "manager " + identity);
  if (!stream) return failed(stream.error());
  const auto past = PastService::make(loop, log, *cluster, random.fork(), past_address, client_config.user_agent,
                                      past_of_manager(options.journal.directory, cluster_options.audit.file));
  if (!past) return failed(past.error());
  kube::Client election(loop, *cluster->transport, cluster->bearer, manager::election_client_config(), random.fork());
  auto manager =
      manager::Manager::make(loop, *cluster->client, election, log, metrics, random.fork(), std::move(options));
  if (!manager) return failed(manager.error());
  (*manager)->start();
  signals.run(log, [&] { return (*manager)->drain(); });
  manager->reset();  // logs the work that it aborts
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
