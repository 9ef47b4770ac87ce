#include "base/metrics.h"
#include "linux/cgroup/kill.h"
#include "main/audit.h"
#include "main/process.h"
#include "net/worker.h"
#include "yarn_copilot/yarn_copilot.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kNamesWaitingMax = 16;
}  // namespace

int run_yarn_copilot(const std::vector<std::string>& args) {
  base::Flags flags("tidemark yarn-copilot",
                    "Tells what YARN's containers on this node are, and limits and ends them, over a unix socket.");
  yarn_copilot::CopilotOptions options;
  AuditOptions audit_options;
  LogOptions log_options;
  yarn_copilot::declare_flags(flags, options);
  declare_audit_flags(flags, audit_options);
  declare_log_flags(flags, log_options);
  flags.example("tidemark yarn-copilot --node-manager-endpoint localhost:8042");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("yarn-copilot");
  raise_descriptor_limit();
  net::EventLoop loop(clock);
  Signals signals(loop);
  AuditOutput audit(loop, log, &metrics, audit_options);
  net::WorkerPool names(1, kNamesWaitingMax);
  linux::KernelKillRim killing;
  log.info("starting", {{"version", TIDEMARK_VERSION}});
  auto copilot =
      yarn_copilot::YarnCopilot::make(loop, {killing, names, audit.listener()}, log, metrics, std::move(options));
  if (!copilot) return failed(copilot.error());
  signals.run(log, [&] { return (*copilot)->drain(); });
  copilot->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
