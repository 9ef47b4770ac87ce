#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "embedded/embedded.h"
#include "main/audit.h"
#include "main/process.h"
#include "main/zones.h"

namespace tidemark::main {

int run_up(const std::vector<std::string>& args) {
  base::Flags flags("tidemark up",
                    "Runs an API server in memory and the manager in one process, on this machine only.");
  embedded::EmbeddedOptions options;
  options.manager.zones = zones_of_machine();
  LogOptions log_options;
  AuditOptions audit_options;
  embedded::declare_flags(flags, options);
  declare_audit_flags(flags, audit_options);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

  options.audit = file_options(audit_options);
  if (options.audit.path.empty()) options.audit.path = options.data_dir + "/audit.jsonl";
  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("up");
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);
  int code = kDone;
  auto embedded = embedded::Embedded::start(loop, log, metrics, base::Random::seed_from_system(), std::move(options),
                                            [&](const Error& error) {
                                              code = failed(error);
                                              loop.stop();
                                            });
  if (!embedded) return failed(embedded.error());
  code = print(base::cat("API server  https://", (*embedded)->address(), "\nkubeconfig  ", (*embedded)->kubeconfig(),
                         "\n\nTry: KUBECONFIG=", (*embedded)->kubeconfig(), " kubectl get nodes\n"));
  if (code == kDone) signals.run(log, [&] { return (*embedded)->drain(); });
  embedded->reset();
  return code;
}

}  // namespace tidemark::main
