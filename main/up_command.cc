#include <limits.h>
#include <unistd.h>

#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "embedded/embedded.h"
#include "embedded/service_manager.h"
#include "main/audit.h"
#include "main/past_files.h"
#include "main/person.h"
#include "main/process.h"
#include "main/zones.h"
#include "runtime/shim/shim.h"

namespace tidemark::main {
namespace {

// The default node name of a kubelet.
std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, HOST_NAME_MAX) != 0 || name[0] == '\0') return "localhost";
  return base::lower(name);
}

}  // namespace

int run_up(const std::vector<std::string>& args) {
  base::Flags flags("tidemark up",
                    "Runs all components on this machine, without a cluster: an API server, the manager, an agent, and "
                    "pods as processes.");
  embedded::EmbeddedOptions options;
  options.manager.zones = zones_of_machine();
  options.pods = true;
  // This program, even if its file was replaced.
  options.runtime.shim_argv = {"/proc/self/exe", std::string(runtime::kShimCommand)};
  LogOptions log_options;
  AuditOptions audit_options;
  embedded::declare_flags(flags, options);
  declare_audit_flags(flags, audit_options);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

  options.audit = file_options(audit_options);
  if (options.audit.path.empty()) options.audit.path = options.data_dir + "/audit.jsonl";
  if (options.runtime.node_name.empty()) options.runtime.node_name = host_name();

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("up");
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);
  int code = kDone;
  options.console.view.zones = options.manager.zones;
  options.person = person_name();
  options.past_files = past_files;
  auto embedded = embedded::Embedded::start(loop, log, metrics, base::Random::seed_from_system(), std::move(options),
                                            [&](const Error& error) {
                                              code = failed(error);
                                              loop.stop();
                                            });
  if (!embedded) return failed(embedded.error());
  code = print(base::cat("API server  https://", (*embedded)->address(), "\nkubeconfig  ", (*embedded)->kubeconfig(),
                         "\nconsole     ", (*embedded)->console_url(),
                         "\n\nTry: KUBECONFIG=", (*embedded)->kubeconfig(), " kubectl get nodes\n"));
  if (const auto told = embedded::tell_ready(environment_or_empty("NOTIFY_SOCKET")); !told) {
    log.warn("cannot report readiness to the service manager", {{"error", told.error()}});
  }
  if (code == kDone) signals.run(log, [&] { return (*embedded)->drain(); });
  embedded->reset();
  return code;
}

}  // namespace tidemark::main
