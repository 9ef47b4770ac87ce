#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/agent.h"
#include "agent/record/past_lines.h"
#include "agent/record/recorder.h"
#include "base/metrics.h"
#include "base/text.h"
#include "linux/cgroup/kill.h"
#include "linux/knob_probe.h"
#include "main/audit.h"
#include "main/cluster.h"
#include "main/line_stream.h"
#include "main/past_service.h"
#include "main/process.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {
constexpr std::size_t kFileQueueMax = 16;
}  // namespace

int run_agent(const std::vector<std::string>& args) {
  base::Flags flags("tidemark agent",
                    "Measures one node and its tasks, reports the usage, and limits and evicts offline work.");
  ClusterOptions cluster_options;
  agent::AgentOptions options;
  LogOptions log_options;
  StreamOptions stream_options;
  declare_cluster_flags(flags, cluster_options);
  declare_audit_flags(flags, cluster_options.audit);
  declare_stream_flags(flags, stream_options);
  agent::declare_flags(flags, options);
  std::string past_address;
  declare_past_flag(flags, past_address);
  declare_log_flags(flags, log_options);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (options.node_name.empty()) options.node_name = environment_or_empty("NODE_NAME");
  if (options.node_name.empty()) return wrong_use("node name is not set; give --node-name or $NODE_NAME", flags);

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("agent");
  base::Random random(base::Random::seed_from_system());
  raise_descriptor_limit();  // some files of each cgroup stay open
  net::EventLoop loop(clock);
  Signals signals(loop);

  kube::ClientConfig client_config;
  client_config.queries_per_second = options.queries_per_second;
  client_config.burst = static_cast<int>(options.query_burst);
  client_config.user_agent = "tidemark-agent/" TIDEMARK_VERSION;
  client_config.metrics = &metrics;
  if (!options.state_dir.empty()) {
    std::error_code error;  // the writers report a failure
    std::filesystem::create_directories(options.state_dir, error);
    if (cluster_options.audit.file.empty()) cluster_options.audit.file = options.state_dir + "/audit.jsonl";
  }
  cluster_options.runs_plugins = false;  // an agent runs as root and starts no other program (tests/tidy/layers.py)
  options.audit_actor = base::cat("agent ", options.node_name);
  AuditOutput audit(loop, log, &metrics, cluster_options.audit);
  audit.listen_to(client_config, options.audit_actor);
  auto cluster = connect_cluster(loop, log, random.fork(), cluster_options, client_config);
  if (!cluster) return failed(cluster.error());
  if (options.tasks.kubelet.insecure) log.warn("the kubelet's certificate is not verified: a flag disables it");
  log.info("starting", {{"version", TIDEMARK_VERSION}, {"cluster", cluster->source}, {"node", options.node_name}});

  std::vector<std::string> kept = {cluster_options.audit.file};
  if (!options.state_dir.empty()) kept.push_back(base::cat(options.state_dir, "/", agent::kRecordFile));
  const auto stream = StreamOutput::make(loop, log, metrics, random.fork(), stream_options, kept, options.node_name);
  if (!stream) return failed(stream.error());
  const auto past = PastService::make(loop, log, *cluster, random.fork(), past_address, client_config.user_agent,
                                      agent::past_of_agent(options.state_dir, cluster_options.audit.file));
  if (!past) return failed(past.error());

  net::WorkerPool files(1, kFileQueueMax), disks(1, kFileQueueMax);
  linux::KernelProbeRim kernel;
  linux::KernelKillRim killing;
  auto agent = agent::Agent::make(
      loop, {*cluster->client, cluster->bearer, *cluster->workers, files, disks, kernel, killing, audit.listener()},
      log, metrics, random.fork(), std::move(options));
  if (!agent) return failed(agent.error());
  (*agent)->start();
  signals.run(log, [&] { return (*agent)->drain(); });
  agent->reset();
  audit.finish();
  return kDone;
}

}  // namespace tidemark::main
