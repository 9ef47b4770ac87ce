#include "base/text.h"
#include "console/console.h"
#include "main/audit.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"

namespace tidemark::main {
namespace {

// High, because a person waits and an order must not wait for a query budget.
constexpr int kWritesPerSecond = 100'000;

// Of "kubeconfig /home/ann/.kube/config (context prod)" the context: the page has little room.
std::string name_of(const std::string& source) {
  constexpr std::string_view kContext = "(context ";
  const auto at = source.find(kContext);
  if (at == std::string::npos || !source.ends_with(')')) return source;
  return source.substr(at + kContext.size(), source.size() - at - kContext.size() - 1);
}

}  // namespace

int run_console(const std::vector<std::string>& args) {
  base::Flags flags("tidemark console",
                    "Shows a cluster's co-location on a web page on this machine, with the rights of the kubeconfig. "
                    "With --write the page also switches offline work off and on.");
  ClusterOptions cluster_options;
  console::ConsoleOptions options;
  options.view.zones = zones_of_machine();
  bool writes = false;
  LogOptions log_options;
  flags.group("Page");
  flags.text("listen", options.listen, "loopback address of the page; port 0 picks one").placeholder("HOST:PORT");
  flags.boolean("write", writes, "let the page order off, on and observe; default is read-only");
  flags.group("Decisions");
  flags.list("journal-dir", options.files.journals, "directories of managers' decision journals to show")
      .placeholder("DIR");
  flags.list("audit-from", options.files.audits, "audit files to show, with the older files beside them")
      .placeholder("FILE");
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare_settings_flags(flags, options.view.config_namespace, options.view.config_name);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

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
  options.cluster = name_of(cluster->source);
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  if (writes) {
    kube::ClientConfig writer;
    writer.queries_per_second = kWritesPerSecond;
    writer.burst = kWritesPerSecond;
    writer.user_agent = client_config.user_agent;
    audit.listen_to(writer, person_name());
    options.person = console::Person{
        person_name(),
        std::make_shared<kube::Client>(loop, *cluster->transport, cluster->bearer, writer, random.fork())};
  }
  auto console = console::Console::make(loop, *cluster->client, log, metrics, random.fork(), std::move(options));
  if (!console) return failed(console.error());
  (*console)->start();
  const int code = print(base::cat("console  ", (*console)->url(), "\n"));
  if (code != kDone) return code;
  if (!(*console)->has_page()) log.warn("built without the page, because Node.js was missing; only the API is served");
  signals.run(log, [&] { return (*console)->drain(); });
  console->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
