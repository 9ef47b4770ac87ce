#include <memory>
#include <optional>
#include <utility>

#include "base/metrics.h"
#include "main/cluster.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/line_stream.h"
#include "main/process.h"
#include "main/zones.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {
namespace {

// The kubelet takes up to a minute to bring an edited ConfigMap to its pods.
constexpr base::Duration kFilesLook = std::chrono::seconds(10);

struct ReadClusters {
  std::vector<yarn_operator::YarnCluster> clusters;
  std::size_t invalid = 0;
};

Result<ReadClusters> read_clusters(const yarn_operator::OperatorOptions& options, const base::Log& log,
                                   base::Registry& metrics) {
  std::vector<Error> invalid;
  ReadClusters read;
  TM_TRY(read.clusters, clusters_in(options.hadoop_conf_dir, options.user, &invalid));
  for (const Error& each : invalid) {
    log.error("cannot read the files of a YARN cluster; its nodes keep their totals until they are corrected",
              {{"error", each.message}});
  }
  read.invalid = invalid.size();
  for (auto& each : read.clusters) TM_TRY_VOID(speak_kerberos(each.managers, options.kerberos, log, &metrics));
  return read;
}

}  // namespace

int run_yarn_operator(const std::vector<std::string>& args) {
  base::Flags flags("tidemark yarn-operator",
                    "Publishes to YARN what it may use of each node, and to Kubernetes what YARN holds.");
  ClusterOptions cluster_options;
  yarn_operator::OperatorOptions options;
  LogOptions log_options;
  StreamOptions stream_options;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare_stream_flags(flags, stream_options);
  yarn_operator::declare_flags(flags, options);
  declare_log_flags(flags, log_options);
  base::PeerFlags peer_flags(yarn_operator::peer_flags());
  peer_flags.declare(flags);
  flags.example("tidemark yarn-operator --hadoop-conf-dir /etc/hadoop-conf --mode observe");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (options.hadoop_conf_dir.empty()) options.hadoop_conf_dir = environment_or_empty("HADOOP_CONF_DIR");
  if (options.hadoop_conf_dir.empty()) {
    return wrong_use("directory of yarn-site.xml is not set; give --hadoop-conf-dir or $HADOOP_CONF_DIR", flags);
  }

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("yarn-operator");
  base::Random random(base::Random::seed_from_system());
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);

  std::string files = yarn_operator::files_of(hadoop_folder(options.hadoop_conf_dir));
  auto read = read_clusters(options, log, metrics);
  if (!read) return failed(read.error());

  kube::ClientConfig client_config;
  client_config.queries_per_second = options.queries_per_second;
  client_config.burst = static_cast<int>(options.query_burst);
  yarn_operator::let_answers_go_ahead(client_config);
  client_config.read_only = options.mode == "observe";
  client_config.user_agent = "tidemark-yarn-operator/" TIDEMARK_VERSION;
  client_config.metrics = &metrics;
  options.lease.identity = host_identity(random.next());
  const std::string actor = base::cat("yarn-operator ", options.lease.identity);
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  audit.listen_to(client_config, actor);
  auto cluster = connect_cluster(loop, log, random.fork(), cluster_options, client_config);
  if (!cluster) return failed(cluster.error());
  if (options.lease.ns.empty()) options.lease.ns = cluster->ns;
  for (const auto& what : peer_flags.without_effect(parsed)) log.warn("flag without effect", {{"what", what}});
  log.info("starting", {{"version", TIDEMARK_VERSION},
                        {"cluster", cluster->source},
                        {"yarn_clusters", std::to_string(read->clusters.size())},
                        {"mode", options.mode}});

  const auto stream =
      StreamOutput::make(loop, log, metrics, random.fork(), stream_options, {cluster_options.audit.file}, actor);
  if (!stream) return failed(stream.error());
  kube::ClientConfig election_config;
  election_config.user_agent = "tidemark-yarn-operator-election";
  kube::Client election(loop, *cluster->transport, cluster->bearer, election_config, random.fork());
  const auto make = [&](ReadClusters of) {
    return yarn_operator::YarnOperator::make(
        loop, {*cluster->client, election, *cluster->workers, audit.listener(), actor, zones_of_machine(), of.invalid},
        std::move(of.clusters), log, metrics, random.fork(), options);
  };
  auto running = make(*std::move(read));
  if (!running) return failed(running.error());
  (*running)->start();
  // With changed files, another operator follows this one; until then nothing else is sent.
  const auto follow_files = [&]() -> net::Task<void> {
    while (true) {
      co_await loop.sleep(kFilesLook);
      std::string now = yarn_operator::files_of(hadoop_folder(options.hadoop_conf_dir));
      if (now == files) continue;
      files = std::move(now);
      auto again = read_clusters(options, log, metrics);
      if (!again) {
        log.error("cannot read Hadoop's changed files; the earlier ones stay in force",
                  {{"error", again.error().message}});
        continue;
      }
      log.info("Hadoop's files changed", {{"yarn_clusters", std::to_string(again->clusters.size())}});
      co_await (*running)->drain();
      running->reset();
      running = make(*std::move(again));
      if (!running) {
        log.error("cannot start with Hadoop's changed files", {{"error", running.error().message}});
        loop.stop();
        co_return;
      }
      (*running)->start();
    }
  };
  std::optional<net::Scope> following(loop);
  following->spawn(follow_files());
  signals.run(log, [&]() -> net::Task<void> {
    following.reset();
    if (running && *running) co_await (*running)->drain();
  });
  following.reset();
  const bool failed_again = !running;
  if (running) running->reset();
  audit.finish();
  return failed_again ? kFailed : kDone;
}

}  // namespace tidemark::main
