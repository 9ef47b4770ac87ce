#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "agent/tasks/kubelet_flags.h"
#include "base/text.h"
#include "cli/doctor_node.h"
#include "kube/config.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kResolveQueueMax = 4;
constexpr std::size_t kConfigzBytesMax = 1 << 20;

// A kubelet names its node so where nobody says another name.
std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return base::lower(name);
}

}  // namespace

int run_doctor(const std::vector<std::string>& args) {
  base::Flags flags("tidemark doctor",
                    "Tells what on this machine stands in the way of offline work, or will, and what helps. As root; "
                    "needs no API server, no manager and no agent. Exit codes: 0 nothing bad, 1 something is, 2 wrong "
                    "use.");
  ClusterOptions cluster_options;
  cli::DoctorOptions options;
  agent::KubeletFlags kubelet;
  std::string node_name;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  flags.group("Machine");
  flags
      .text("node-name", node_name,
            "the node that this is; else $NODE_NAME, the name that an agent here heard last, the machine's")
      .placeholder("NAME");
  agent::declare_machine_flags(flags, options.places);
  kubelet.add_to(flags);
  declare_form_flag(flags, form);
  flags.arguments("node", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (parsed.arguments[0] != "node") {
    return wrong_use(base::cat("wanted node, found ", base::in_quotes(parsed.arguments[0])), flags);
  }
  if (node_name.empty()) node_name = environment_or_empty("NODE_NAME");
  if (node_name.empty()) node_name = cli::kept_node_name(options.places.run_dir).value_or(host_name());
  auto http = kubelet.client(node_name);
  if (!http) return wrong_use(http.error().message, flags);
  auto root = kubelet.groups_root();
  if (!root) return wrong_use(root.error().message, flags);
  options.kubelet_root = *std::move(root);
  options.kubelet_dir = kubelet.dir;
  options.runtime_dir = kubelet.runtime_dir;

  const base::SystemClock clock;
  const auto account = find_cluster(cluster_options, clock);  // who asks the kubelet
  if (!account && !cluster_options.kubeconfig.empty()) return failed(account.error());
  std::string bearer;
  if (account && http->url.scheme != "http") {  // in the clear whoever listens would get it
    bearer = account->bearer();
    http->tls.certificate = account->http.tls.certificate;
    http->tls.key = account->http.tls.key;
  }
  http->limits.body_bytes_max = kConfigzBytesMax;
  http->user_agent = "tidemark-doctor/" TIDEMARK_VERSION;

  net::EventLoop loop(clock);
  net::WorkerPool resolvers(1, kResolveQueueMax);
  net::HttpClient client(loop, &resolvers, *std::move(http));
  linux::KernelProbeRim kernel;
  int code = kFailed;
  const auto tell = [&](Result<cli::DoctorReport> report) {
    if (!report) return failed(report.error());
    if (!account) {
      report->notes.push_back(base::cat("the kubelet was asked without an account: ", account.error().message));
    }
    if (kubelet.insecure) report->notes.emplace_back("the kubelet's certificate was not verified, as a flag says");
    const int printed = print(form.json() ? cli::render_json(*report).dump_pretty() + "\n" : cli::render_text(*report));
    return report->bad() ? kFailed : printed;
  };
  const auto examine_then_stop = [&]() -> net::Task<void> {
    code = tell(co_await cli::examine_node(options, {kernel, client, std::move(bearer)}));
    loop.stop();
  };
  net::Scope scope(loop);
  scope.spawn(examine_then_stop());
  loop.run();
  return code;
}

}  // namespace tidemark::main
