#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "agent/tasks/kubelet_flags.h"
#include "base/text.h"
#include "cli/doctor_cluster.h"
#include "cli/doctor_node.h"
#include "kube/config.h"
#include "main/cluster.h"
#include "main/person.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/start_beside.h"
#include "main/started.h"
#include "main/zones.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kDoctorResolveQueueMax = 4;
constexpr std::size_t kConfigzBytesMax = 1 << 20;

// The default node name of a kubelet.
std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return base::lower(name);
}

constexpr std::size_t kKubeletsMax = 1'000'000;
constexpr std::array<std::string_view, 5> kOfClusterAlone = {"config-namespace", "slo-config-name", "peer-namespace",
                                                             "kubelets", "timeout"};
constexpr std::array<std::string_view, 4> kOfBoth = {"kubeconfig", "context", "output", "config"};

// A given flag that only the other argument (node or cluster) supports; "" without such a flag.
std::string misplaced(const base::Flags::Parsed& parsed, bool cluster) {
  for (const auto& setting : parsed.settings) {
    if (!setting.from.starts_with("-") || std::ranges::find(kOfBoth, setting.name) != kOfBoth.end()) continue;
    const bool of_cluster = std::ranges::find(kOfClusterAlone, setting.name) != kOfClusterAlone.end();
    if (of_cluster != cluster) return base::cat("--", setting.name);
  }
  return "";
}

// "20", "all".
Result<std::optional<std::size_t>> parse_kubelets(std::string_view text) {
  if (text == "all") return std::nullopt;
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out > kKubeletsMax) {
    return fail(ErrorKind::kInvalid, "--kubelets: expected a number of 0..", kKubeletsMax, ", or all; found ",
                base::in_quotes(text));
  }
  return out;
}

int doctor_cluster(const ClusterOptions& cluster_options, cli::ClusterDoctorOptions options, bool json) {
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  options.zones = zones_of_machine();
  ProgressLine line;
  options.progress = [&](const std::string& text) { line.show(text); };
  bool bad = false;
  const int code =
      ask_cluster("doctor", log_options, cluster_options,
                  [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                    const auto report = co_await cli::examine_cluster(loop, client, options);
                    line.end();
                    if (!report) co_return std::unexpected(report.error());
                    bad = report->bad();
                    co_return json ? cli::render_json(*report).dump_pretty() + "\n" : cli::render_text(*report);
                  });
  return code == kDone && bad ? kFailed : code;
}

}  // namespace

int run_doctor(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "yarn") return start_beside(kHadoopProgram, "doctor", args);
  base::Flags flags(
      "tidemark doctor",
      "Reports what prevents offline work now or later, and the remedy. node: this machine, as root; needs no API "
      "server, manager or agent. cluster: all nodes, through the API server, with your permissions. yarn: the "
      "ResourceManagers of Hadoop's files; it has flags of its own (tidemark doctor yarn --help). Exit codes: 0 no "
      "problem, 1 problem found, 2 wrong use.");
  ClusterOptions cluster_options;
  cli::DoctorOptions options;
  cli::ClusterDoctorOptions cluster;
  std::string kubelets = std::to_string(*cluster.kubelets);
  agent::KubeletFlags kubelet;
  std::string node_name;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  declare_settings_flags(flags, cluster.config_namespace, cluster.config_name);
  flags
      .text("peer-namespace", cluster.peers_namespace, "namespace of Koordinator's agent, the container named koordlet")
      .placeholder("NAME");
  flags.group("Kubelets");
  flags
      .text("kubelets", kubelets,
            "number of kubelets per group of similar nodes whose configuration is read; needs nodes/proxy. 0 reads "
            "none")
      .placeholder("N|all");
  flags.group("Machine");
  flags
      .text("node-name", node_name,
            "name of this node (default $NODE_NAME, the last node name of the local agent, the host name)")
      .placeholder("NAME");
  agent::declare_machine_flags(flags, options.places);
  kubelet.add_to(flags);
  declare_answer_flags(flags, form, cluster.limit);
  flags.arguments("node|cluster|yarn", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const bool of_cluster = parsed.arguments[0] == "cluster";
  if (!of_cluster && parsed.arguments[0] != "node") {
    return wrong_use(base::cat("expected node, cluster or yarn, found ", base::in_quotes(parsed.arguments[0])), flags);
  }
  if (const std::string flag = misplaced(parsed, of_cluster); !flag.empty()) {
    return wrong_use(base::cat(flag, " is only for doctor ", of_cluster ? "node" : "cluster"), flags);
  }
  if (of_cluster) {
    auto asked = parse_kubelets(kubelets);
    if (!asked) return wrong_use(asked.error().message, flags);
    cluster.kubelets = *asked;
    return doctor_cluster(cluster_options, std::move(cluster), form.json());
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
  net::EventLoop loop(clock);
  auto account = find_cluster(cluster_options, clock);  // credentials for the kubelet
  if (account && account->plugin) {
    if (auto logged_in = log_in_by_plugin(loop, *account); !logged_in) account = fail(std::move(logged_in).error());
  }
  if (!account && !cluster_options.kubeconfig.empty()) return failed(account.error());
  std::string bearer;
  if (account && http->url.scheme != "http") {  // never send the token unencrypted
    bearer = account->bearer();
    http->tls.certificate = account->http.tls.certificate;
    http->tls.key = account->http.tls.key;
  }
  http->limits.body_bytes_max = kConfigzBytesMax;
  http->user_agent = "tidemark-doctor/" TIDEMARK_VERSION;

  net::WorkerPool resolvers(1, kDoctorResolveQueueMax);
  net::HttpClient client(loop, &resolvers, *std::move(http));
  linux::KernelProbeRim kernel;
  linux::KernelKillRim killing;
  int code = kFailed;
  const auto tell = [&](Result<cli::DoctorReport> report) {
    if (!report) return failed(report.error());
    if (!account) {
      report->notes.push_back(base::cat("no credentials for the kubelet: ", account.error().message));
    }
    if (kubelet.insecure) report->notes.emplace_back("the kubelet's certificate was not verified: a flag disables it");
    const int printed = print(form.json() ? cli::render_json(*report).dump_pretty() + "\n" : cli::render_text(*report));
    return report->bad() ? kFailed : printed;
  };
  const auto examine_then_stop = [&]() -> net::Task<void> {
    code = tell(co_await cli::examine_node(options, {kernel, killing, client, clock, std::move(bearer)}));
    loop.stop();
  };
  net::Scope scope(loop);
  scope.spawn(examine_then_stop());
  loop.run();
  return code;
}

}  // namespace tidemark::main
