#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/metrics.h"
#include "gateway/gateway.h"
#ifdef TIDEMARK_POSTGRES
#include "gateway/postgres/store.h"
#endif
#include "hadoop/kerberos.h"
#include "hadoop/site.h"
#include "kube/config.h"
#include "kube/plugin_process.h"
#include "main/cluster.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kGatewayNamesMax = 64;

// Every property of the site files: drivers on YARN get them from here.
Result<std::map<std::string, std::string>> hadoop_properties(const yarn_operator::HadoopFolder& folder) {
  hadoop::Site site(folder.environment);
  TM_TRY(const auto names, folder.list(folder.path));
  for (const std::string_view file : {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"}) {
    if (std::ranges::find(names, file) == names.end()) continue;
    TM_TRY_VOID(site.add(base::cat(folder.path, "/", file), folder.read));
  }
  std::map<std::string, std::string> out;
  for (const auto& each : site.said()) out[each.name] = each.value;
  return out;
}

Result<std::unique_ptr<gateway::Store>> open_postgres(net::EventLoop& loop, const base::Log& log,
                                                      const std::string& where, base::Random& random) {
#ifdef TIDEMARK_POSTGRES
  gateway::postgres::PostgresOptions options;
  options.where = where;
  options.replica = host_identity(random.next());
  return gateway::postgres::open_store(loop, log, options, random.next());
#else
  (void)loop, (void)log, (void)where, (void)random;
  return fail(ErrorKind::kInvalid, "--postgres: this tidemark-hadoop is static, and cannot load libpq");
#endif
}

}  // namespace

int run_gateway(const std::vector<std::string>& args) {
  base::Flags flags("tidemark gateway", "Sends Spark jobs to Kubernetes or YARN, and follows them.");
  ClusterOptions cluster_options;
  gateway::GatewayOptions options;
  hadoop::KerberosOptions kerberos;
  std::string hadoop_conf_dir, postgres;
  LogOptions log_options;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  gateway::declare_flags(flags, options);
  flags
      .text("postgres", postgres,
            "database for several replicas, as libpq writes it: host=db dbname=tidemark; PGPASSFILE names its password")
      .placeholder("WHERE")
      .secret();
  flags.text("hadoop-conf-dir", hadoop_conf_dir, "directory of yarn-site.xml; without it there is no YARN")
      .placeholder("DIR");
  hadoop::declare_kerberos_flags(flags, kerberos);
  declare_log_flags(flags, log_options);
  flags.example("tidemark gateway --data-dir /var/lib/tidemark --hadoop-conf-dir /etc/hadoop-conf");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("gateway");
  base::Random random(base::Random::seed_from_system());
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);
  net::WorkerPool workers(1, kGatewayNamesMax);

  gateway::Gateway::Rim rim;
  rim.workers = &workers;
  if (!hadoop_conf_dir.empty()) {
    const auto folder = hadoop_folder(hadoop_conf_dir);
    auto clusters = clusters_in(hadoop_conf_dir, options.yarn_user);
    if (!clusters) return failed(clusters.error());
    if (clusters->size() != 1) return failed(Error{ErrorKind::kUnsupported, "the gateway uses one YARN cluster"});
    auto properties = hadoop_properties(folder);
    if (!properties) return failed(properties.error());
    options.yarn.hadoop = *std::move(properties);
    options.kubernetes.hadoop = options.yarn.hadoop;
    if (auto able = speak_kerberos(clusters->front().managers, kerberos, log, &metrics); !able) {
      return failed(able.error());
    }
    rim.yarn = std::move(clusters->front().managers);
  }

  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  kube::ClientConfig client_config;
  client_config.queries_per_second = 500;
  client_config.burst = 1000;
  client_config.user_agent = "tidemark-gateway/" TIDEMARK_VERSION;
  client_config.metrics = &metrics;
  rim.audit = audit.listener();
  rim.files = kube::system_files();
  rim.environment = [](const std::string& name) { return environment_or_empty(name.c_str()); };
  rim.programs = kube::system_plugin_host(loop);
  options.spark_submit.java_home = environment_or_empty("JAVA_HOME");
  if (!options.spnego_keytab.empty()) {
    auto acceptor = make_acceptor(loop, options.spnego_keytab);
    if (!acceptor) return failed(acceptor.error());
    rim.acceptor = *std::move(acceptor);
  }
  audit.listen_to(client_config, base::cat("gateway ", host_identity(random.next())));
  std::optional<Cluster> cluster;
  if (auto connected = connect_cluster(loop, log, random.fork(), cluster_options, client_config)) {
    cluster = *std::move(connected);
    options.kubernetes.master = cluster->url;
    rim.client = cluster->client.get();
  } else if (!rim.yarn || !cluster_options.kubeconfig.empty()) {
    return failed(connected.error());
  } else {
    log.warn("no Kubernetes cluster; all runs go to YARN", {{"error", connected.error()}});
  }

  mkdir(options.data_dir.c_str(), 0700);
  if (!postgres.empty()) {
    auto store = open_postgres(loop, log, postgres, random);
    if (!store) return failed(store.error());
    rim.store = *std::move(store);
  }
  auto running = gateway::Gateway::make(loop, std::move(rim), log, metrics, random.fork(), std::move(options));
  if (!running) return failed(running.error());
  (*running)->start();
  signals.run(log, [&] { return (*running)->drain(); });
  running->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
