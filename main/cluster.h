// Connects to the cluster that flags, environment or the pod's own files name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/config.h"
#include "main/audit.h"
#include "main/process.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::main {

struct ClusterOptions {
  std::string kubeconfig;
  std::string context;
  AuditOptions audit;        // of commands that write
  bool runs_plugins = true;  // false: an `exec` of the kubeconfig is an error
};
void declare_cluster_flags(base::Flags& flags, ClusterOptions& options);

// Finds the address and credentials in flags, environment or the pod's own files.
Result<kube::ClusterConfig> find_cluster(const ClusterOptions& options, const base::Clock& clock);

void warn_if_unverified(const kube::ClusterConfig& found, const base::Log& log);

// The transport to the API server, with the credentials of the kubeconfig's plugin if it names one; then `found.bearer`
// returns the plugin's current token. `found` and the result have the same lifetime.
Result<std::unique_ptr<net::HttpTransport>> make_transport(net::EventLoop& loop, net::WorkerPool& workers,
                                                           kube::ClusterConfig& found, base::Random random);

// Runs the plugin of `found` and puts its credential into `found`, for a short command that needs no renewal. Runs
// `loop`.
Result<void> log_in_by_plugin(net::EventLoop& loop, kube::ClusterConfig& found);

// All parts have the same lifetime.
struct Cluster {
  std::unique_ptr<net::WorkerPool> workers;  // resolves names
  std::unique_ptr<net::HttpTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::function<std::string()> bearer;  // for further clients on the same transport
  std::string source;
  std::string url;  // of the API server
  std::string ns;   // the pod's own, or that of the kubeconfig's context
};
Result<Cluster> connect_cluster(net::EventLoop& loop, const base::Log& log, base::Random random,
                                const ClusterOptions& options, const kube::ClientConfig& config);

// Of the source "kubeconfig /home/ann/.kube/config (context prod)" the context, for a header with little room.
std::string short_name(const std::string& source);

// Runs one request to the cluster and prints its text or its error. Returns the exit code.
int ask_cluster(std::string_view command, const LogOptions& log_options, const ClusterOptions& options,
                const std::function<net::Task<Result<std::string>>(net::EventLoop&, kube::Client&)>& ask);
int ask_cluster(
    std::string_view command, const LogOptions& log_options, const ClusterOptions& options,
    const std::function<net::Task<Result<std::string>>(net::EventLoop&, kube::Client&, const base::Log&)>& ask);

}  // namespace tidemark::main
