#include "main/cluster.h"

#include <utility>

#include "base/text.h"
#include "kube/plugin_process.h"
#include "kube/plugin_transport.h"
#include "main/person.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kResolveQueueMax = 64;
}  // namespace

void declare_cluster_flags(base::Flags& flags, ClusterOptions& options) {
  flags.group("Cluster");
  flags
      .text("kubeconfig", options.kubeconfig,
            "kubeconfig file (default $KUBECONFIG, the pod's service account, ~/.kube/config)")
      .placeholder("FILE");
  flags.text("context", options.context, "context of the kubeconfig (default its current context)").placeholder("NAME");
}

Result<kube::ClusterConfig> find_cluster(const ClusterOptions& options, const base::Clock& clock) {
  kube::ConfigRequest request;
  request.kubeconfig = options.kubeconfig;
  request.context = options.context;
  request.kubeconfig_list = environment_or_empty("KUBECONFIG");
  request.home = environment_or_empty("HOME");
  request.service_host = environment_or_empty("KUBERNETES_SERVICE_HOST");
  request.service_port = environment_or_empty("KUBERNETES_SERVICE_PORT");
  return kube::find_config(request, kube::system_files(), clock);
}

void warn_if_unverified(const kube::ClusterConfig& found, const base::Log& log) {
  if (!found.http.tls.skip_verification) return;
  log.warn("the API server's certificate is not verified: the kubeconfig disables it", {{"source", found.source}});
}

Result<std::unique_ptr<net::HttpTransport>> make_transport(net::EventLoop& loop, net::WorkerPool& workers,
                                                           kube::ClusterConfig& found, base::Random random) {
  if (!found.plugin) return std::make_unique<net::HttpClient>(loop, &workers, found.http);
  const auto connect = [&loop, &workers, http = found.http](const kube::Credential& credential) {
    net::HttpClientConfig config = http;
    if (!credential.certificate_pem.empty()) {
      config.tls.certificate = net::PemSource{credential.certificate_pem, {}};
      config.tls.key = net::PemSource{credential.key_pem, {}};
    }
    return std::make_shared<net::HttpClient>(loop, &workers, std::move(config));
  };
  auto transport =
      std::make_unique<kube::PluginTransport>(loop, *found.plugin, kube::system_plugin_host(loop), connect, random);
  found.bearer = [plugin = transport.get()] { return plugin->token(); };
  return transport;
}

Result<void> log_in_by_plugin(net::EventLoop& loop, kube::ClusterConfig& found) {
  kube::PluginTransport plugin(
      loop, *found.plugin, kube::system_plugin_host(loop), [](const kube::Credential&) { return nullptr; },
      base::Random(base::Random::seed_from_system()));
  Result<kube::Credential> credential;
  const auto log_in_then_stop = [&]() -> net::Task<void> {
    credential = co_await plugin.credential(kube::kPluginLimit);
    loop.stop();
  };
  net::Scope scope(loop);
  scope.spawn(log_in_then_stop());
  loop.run();
  if (!credential) return fail(std::move(credential).error());
  found.bearer = [token = credential->token] { return token; };
  if (!credential->certificate_pem.empty()) {
    found.http.tls.certificate = net::PemSource{credential->certificate_pem, {}};
    found.http.tls.key = net::PemSource{credential->key_pem, {}};
  }
  return {};
}

Result<Cluster> connect_cluster(net::EventLoop& loop, const base::Log& log, base::Random random,
                                const ClusterOptions& options, const kube::ClientConfig& config) {
  TM_TRY(auto found, find_cluster(options, loop.clock()));
  warn_if_unverified(found, log);
  if (found.plugin && !options.runs_plugins) {
    return fail(ErrorKind::kUnsupported, found.source, ": user ", base::in_quotes(found.plugin->user),
                ": exec: this component runs no other program; use a token, a tokenFile or a client certificate");
  }
  Cluster cluster;
  cluster.source = found.source;
  const net::Url& url = found.http.url;
  cluster.url = base::cat(url.scheme, "://", url.host, ":", url.port, url.path);
  cluster.ns = found.default_namespace;
  cluster.workers = std::make_unique<net::WorkerPool>(1, kResolveQueueMax);
  TM_TRY(cluster.transport, make_transport(loop, *cluster.workers, found, random.fork()));
  cluster.bearer = std::move(found.bearer);
  cluster.client = std::make_unique<kube::Client>(loop, *cluster.transport, cluster.bearer, config, random);
  return cluster;
}

std::string short_name(const std::string& source) {
  constexpr std::string_view kContext = "(context ";
  const auto at = source.find(kContext);
  if (at == std::string::npos || !source.ends_with(')')) return source;
  return source.substr(at + kContext.size(), source.size() - at - kContext.size() - 1);
}

int ask_cluster(std::string_view command, const LogOptions& log_options, const ClusterOptions& options,
                const std::function<net::Task<Result<std::string>>(net::EventLoop&, kube::Client&)>& ask) {
  return ask_cluster(command, log_options, options,
                     [&](net::EventLoop& loop, kube::Client& client, const base::Log&) { return ask(loop, client); });
}

int ask_cluster(
    std::string_view command, const LogOptions& log_options, const ClusterOptions& options,
    const std::function<net::Task<Result<std::string>>(net::EventLoop&, kube::Client&, const base::Log&)>& ask) {
  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named(command);
  net::EventLoop loop(clock);
  kube::ClientConfig client_config;
  client_config.user_agent = base::cat("tidemark-", command, "/" TIDEMARK_VERSION);
  AuditOutput audit(loop, log, nullptr, options.audit);
  audit.listen_to(client_config, person_name());
  auto cluster = connect_cluster(loop, log, base::Random(base::Random::seed_from_system()), options, client_config);
  if (!cluster) return failed(cluster.error());
  return audit.run([&]() -> net::Task<int> {
    const auto answer = co_await ask(loop, *cluster->client, log);
    co_return answer ? print(*answer) : failed(answer.error());
  });
}

}  // namespace tidemark::main
