#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "console/console.h"
#include "main/audit.h"
#include "main/cluster.h"
#include "main/past_files.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"
#include "net/admin.h"
#include "net/tls.h"
#include "operate/past_pods.h"

namespace tidemark::main {
namespace {

// High, because a person waits and an order must not wait for a query budget.
constexpr int kWritesPerSecond = 100'000;
constexpr std::size_t kPastQueueMax = 8;
constexpr std::size_t kSecretBytesMin = 32;
constexpr std::size_t kSecretBytesMax = 64 * 1024;
constexpr std::size_t kIssuerAnswerBytesMax = 1024 * 1024;
constexpr std::size_t kGatewayAnswerBytesMax = 8 * 1024 * 1024;

// Where the runs of the page Spark are.
struct GatewayFlags {
  std::string url, token_file, ca_file;
};

void declare_gateway(base::Flags& flags, GatewayFlags& gateway) {
  flags.group("Spark");
  flags.text("gateway", gateway.url, "URL of the Spark gateway whose runs to show").placeholder("URL");
  flags
      .text("gateway-token-file", gateway.token_file,
            "your token of the gateway; with a certificate people give their own token on the page")
      .placeholder("FILE");
  flags.text("gateway-ca-file", gateway.ca_file, "authority of the gateway's certificate (default the system's)")
      .placeholder("FILE");
}

// The client of the gateway, null without a URL; lives as long as `workers`.
Result<std::unique_ptr<net::HttpClient>> client_of(const GatewayFlags& gateway, net::EventLoop& loop,
                                                   net::WorkerPool* workers) {
  if (gateway.url.empty()) return nullptr;
  net::HttpClientConfig config;
  TM_TRY(config.url, net::parse_url(gateway.url));
  config.tls.ca.file = gateway.ca_file;
  config.limits.body_bytes_max = kGatewayAnswerBytesMax;
  config.user_agent = "tidemark-console/" TIDEMARK_VERSION;
  return std::make_unique<net::HttpClient>(loop, workers, std::move(config));
}

// What is in force only with a certificate.
struct ClusterFlags {
  std::string cert_file, key_file, secret_file, metrics_addr = "0";
  std::vector<std::string> hosts;
  console::OidcOptions oidc;
  std::string oidc_secret_file, oidc_ca_file;
};

void declare_cluster_form(base::Flags& flags, ClusterFlags& form) {
  flags.group("In a cluster");
  flags.text("tls-cert-file", form.cert_file, "certificate; with it people log in, and write with their own token")
      .placeholder("FILE");
  flags.text("tls-key-file", form.key_file, "key of the certificate").placeholder("FILE");
  flags.list("host", form.hosts, "names under which people open the console, without port");
  flags
      .text("session-secret-file", form.secret_file,
            "secret that seals sessions, the same on every replica (default the key of the certificate)")
      .placeholder("FILE");
  flags.text("metrics-addr", form.metrics_addr, "address for /metrics, /healthz and /readyz; 0 is off")
      .placeholder("HOST:PORT");
  flags
      .text("oidc-issuer", form.oidc.issuer, "issuer of OpenID Connect that people log in by, as the API server has it")
      .placeholder("URL");
  flags.text("oidc-client-id", form.oidc.client_id, "client of the console at the issuer").placeholder("ID");
  flags.text("oidc-client-secret-file", form.oidc_secret_file, "secret of the client; default is a public client")
      .placeholder("FILE");
  flags.text("oidc-ca-file", form.oidc_ca_file, "certificate authorities of the issuer; default is the system's store")
      .placeholder("FILE");
  flags.list("oidc-scope", form.oidc.scopes, "scopes that the console asks for");
}

// The client of an issuer; its transports live as long as `workers`.
Result<void> complete_oidc(ClusterFlags& form, net::EventLoop& loop, net::WorkerPool* workers) {
  if (!form.oidc_secret_file.empty()) {
    TM_TRY(const std::string secret, kube::system_files().read(form.oidc_secret_file, kSecretBytesMax));
    form.oidc.client_secret = base::trim(secret);
  }
  if (std::ranges::find(form.oidc.scopes, "openid") == form.oidc.scopes.end()) form.oidc.scopes.emplace_back("openid");
  form.oidc.transport_of = [&loop, workers, ca = form.oidc_ca_file](const net::Url& origin) {
    net::HttpClientConfig config;
    config.url = origin;
    config.tls.ca.file = ca;
    config.limits.body_bytes_max = kIssuerAnswerBytesMax;
    return std::make_unique<net::HttpClient>(loop, workers, std::move(config));
  };
  return {};
}

// The error in the flags; "" if they are valid.
std::string wrong_form(const ClusterFlags& form, bool writes) {
  const bool tls = !form.cert_file.empty();
  if (tls == form.key_file.empty()) return "--tls-cert-file and --tls-key-file go together";
  if (!tls && !form.hosts.empty()) return "--host goes only with --tls-cert-file";
  if (!tls && !form.secret_file.empty()) return "--session-secret-file goes only with --tls-cert-file";
  if (form.oidc.issuer.empty() != form.oidc.client_id.empty()) return "--oidc-issuer and --oidc-client-id go together";
  if (!form.oidc.issuer.empty() && !form.oidc.issuer.starts_with("https://"))
    return "--oidc-issuer begins with https://";
  if (!tls) return form.oidc.issuer.empty() ? "" : "--oidc-issuer goes only with --tls-cert-file";
  if (form.hosts.empty()) return "--tls-cert-file needs --host, the name under which people open the console";
  return writes ? "--write is for one person; with --tls-cert-file people write with their own token" : "";
}

}  // namespace

int run_console(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark console",
      "Shows a cluster's co-location on a web page: on this machine with the rights of the kubeconfig, or "
      "with a certificate for people who log in.");
  ClusterOptions cluster_options;
  console::ConsoleOptions options;
  options.view.zones = zones_of_machine();
  bool writes = false;
  std::string price;
  std::vector<std::string> agents;
  std::string past_account = "tidemark-console", past_token_file;
  ClusterFlags form;
  GatewayFlags gateway;
  LogOptions log_options;
  flags.group("Page");
  flags.text("listen", options.listen, "address of the page, without a certificate on loopback; port 0 picks one")
      .placeholder("HOST:PORT");
  flags.boolean("write", writes, "let the page give orders and edit the settings; default is read-only");
  flags.group("Decisions");
  flags.list("journal-dir", options.files.journals, "directories of managers' decision journals to show")
      .placeholder("DIR");
  flags.list("audit-from", options.files.audits, "audit files to show, with the older files beside them")
      .placeholder("FILE");
  flags.list("agent-dir", agents, "state directories of agents whose records to show").placeholder("DIR");
  flags
      .text("past-account", past_account,
            "ServiceAccount that may read records of managers and agents; a token of it is requested; empty is off")
      .placeholder("NAME");
  flags
      .text("past-token-file", past_token_file,
            "token of that account for audience tidemark-past, in place of a request")
      .placeholder("FILE");
  flags.group("Numbers");
  flags.list("noderesource-plugins", options.plugins, "*", policy::sell::parse_plugins,
             "plugins that the manager runs with, for the terms of a node");
  flags.text("core-hour-price", price, "price of a core-hour of offline work, with its currency: 0.03 EUR")
      .placeholder("PRICE");
  declare_gateway(flags, gateway);
  declare_cluster_form(flags, form);
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare_settings_flags(flags, options.view.config_namespace, options.view.config_name);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (auto wrong = wrong_form(form, writes); !wrong.empty()) return wrong_use(wrong, flags);
  if (gateway.url.empty() && !(gateway.token_file + gateway.ca_file).empty()) {
    return wrong_use("--gateway-token-file and --gateway-ca-file go only with --gateway", flags);
  }
  if (!form.cert_file.empty() && !gateway.token_file.empty()) {
    return wrong_use("--gateway-token-file is of one person; with --tls-cert-file people give their own", flags);
  }

  options.past = past_files(options.files.journals, std::move(agents));
  if (!price.empty()) {
    auto read = console::parse_price(price);
    if (!read) return wrong_use(base::cat("--core-hour-price: ", read.error().message), flags);
    options.price = *std::move(read);
  }

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("console");
  base::Random random(base::Random::seed_from_system());
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);

  kube::ClientConfig client_config;
  client_config.read_only = true;
  client_config.user_agent = "tidemark-console/" TIDEMARK_VERSION;
  client_config.metrics = &metrics;
  auto cluster = connect_cluster(loop, log, random.fork(), cluster_options, client_config);
  if (!cluster) return failed(cluster.error());
  options.cluster = short_name(cluster->source);
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  // Of one person.
  kube::ClientConfig writer;
  writer.queries_per_second = kWritesPerSecond;
  writer.burst = kWritesPerSecond;
  writer.user_agent = client_config.user_agent;
  if (writes) {
    audit.listen_to(writer, person_name());
    options.person = console::Person{
        person_name(),
        std::make_shared<kube::Client>(loop, *cluster->transport, cluster->bearer, writer, random.fork())};
  }
  kube::ClientConfig asking;
  asking.user_agent = client_config.user_agent;
  kube::Client reviewer(loop, *cluster->transport, cluster->bearer, asking, random.fork());
  operate::PastPodsOptions past{options.view.config_namespace, past_account, {}};
  if (!past_token_file.empty()) {
    past.token = [file = past_token_file] {
      const auto text = kube::system_files().read(file, kSecretBytesMax);
      return text ? std::string(base::trim(*text)) : std::string();
    };
  }
  operate::PastPods past_pods(loop, *cluster->transport, cluster->bearer, reviewer, past);
  net::WorkerPool past_workers(1, kPastQueueMax);
  if (!past_account.empty()) options.past_of_pods = past_of_pods(loop, past_pods, past_workers);
  std::unique_ptr<net::HttpClient> of_people;  // without the console's own certificate
  if (!form.cert_file.empty()) {
    auto found = find_cluster(cluster_options, clock);
    if (!found) return failed(found.error());
    found->http.tls.certificate = {};
    found->http.tls.key = {};
    of_people = std::make_unique<net::HttpClient>(loop, cluster->workers.get(), found->http);
    const auto secret =
        kube::system_files().read(form.secret_file.empty() ? form.key_file : form.secret_file, kSecretBytesMax);
    if (!secret) return failed(secret.error());
    if (secret->size() < kSecretBytesMin) {
      return failed({ErrorKind::kInvalid,
                     base::cat("the session secret has ", secret->size(), " bytes; at least ", kSecretBytesMin), 0, 0});
    }
    console::ClusterForm in_cluster;
    in_cluster.tls = {{"", form.cert_file}, {"", form.key_file}, {}, false};
    for (const auto& host : form.hosts) in_cluster.hosts.push_back(base::lower(host));
    in_cluster.session_secret = *secret;
    in_cluster.certificate_end = [file = form.cert_file]() -> std::optional<base::WallTime> {
      const auto pem = kube::system_files().read(file, kSecretBytesMax);
      const auto facts = pem ? net::read_certificate(*pem) : std::unexpected(pem.error());
      return facts ? std::optional(facts->not_after) : std::nullopt;
    };
    in_cluster.reviewer = &reviewer;
    in_cluster.clients_of = [&, writer, asking](std::string token, const std::string& user) {
      kube::ClientConfig own = writer;
      audit.listen_to(own, user);
      const auto bearer = [token = std::move(token)] { return token; };
      return console::PersonClients{std::make_shared<kube::Client>(loop, *of_people, bearer, asking, random.fork()),
                                    std::make_shared<kube::Client>(loop, *of_people, bearer, own, random.fork())};
    };
    if (!form.oidc.issuer.empty()) {
      if (auto good = complete_oidc(form, loop, cluster->workers.get()); !good) return failed(good.error());
      in_cluster.oidc = form.oidc;
    }
    options.in_cluster = std::move(in_cluster);
  }
  const auto of_gateway = client_of(gateway, loop, cluster->workers.get());
  if (!of_gateway) return failed(of_gateway.error());
  options.gateway.transport = of_gateway->get();
  if (!gateway.token_file.empty()) {
    options.gateway.token = [file = gateway.token_file] {
      const auto text = kube::system_files().read(file, kSecretBytesMax);
      return text ? std::string(base::trim(*text)) : std::string();
    };
  }
  auto console = console::Console::make(loop, *cluster->client, log, metrics, random.fork(), std::move(options));
  if (!console) return failed(console.error());
  auto admin = net::serve_admin(loop, log, form.metrics_addr, metrics, [&] { return (*console)->not_ready(); });
  if (!admin) return failed(admin.error());
  (*console)->start();
  const int code = print(base::cat("console  ", (*console)->url(), "\n"));
  if (code != kDone) return code;
  if (!(*console)->has_page()) log.warn("built without the page, because Node.js was missing; only the API is served");
  signals.run(log, [&] { return (*console)->drain(); });
  admin->reset();
  console->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
