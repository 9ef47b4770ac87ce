// `tidemark console`: shows a cluster on a web page, and gives orders.
//
//   laptop    on loopback, with the rights of a kubeconfig; writes only if `person` is given
//   cluster   behind TLS and a login; people write with their own token
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "console/documents.h"
#include "console/login.h"
#include "console/orders.h"
#include "console/past_files.h"
#include "console/spark_api.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/task.h"
#include "net/tls.h"
#include "operate/decisions.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::console {

struct ClusterForm {
  net::TlsServerConfig tls;
  std::vector<std::string> hosts;                                  // names of the console, in lower case, without port
  std::string session_secret;                                      // the same on every replica
  std::function<std::optional<base::WallTime>()> certificate_end;  // of the one in `tls`; nullopt: unreadable
  kube::Client* reviewer = nullptr;                                // makes TokenReviews; outlives the console
  ClientsOf clients_of;
  std::optional<OidcOptions> oidc{};  // nullopt: people log in by a token only
};

struct ConsoleOptions {
  std::string listen = "127.0.0.1:8090";
  ViewOptions view{};
  std::string cluster{};           // its name on the page
  std::optional<Person> person{};  // gives the orders of the page; nullopt: the console is read-only
  std::optional<ClusterForm> in_cluster{};
  operate::DecisionFiles files{};
  PastFiles past{};
  PastOfPods past_of_pods{};          // outlives the console
  policy::sell::PluginSet plugins{};  // what the manager runs with, for the terms of a node
  std::optional<Price> price{};       // nullopt: the page shows core-hours only
  SparkGateway gateway{};             // of the page Spark
};

class Console {
 public:
  // Listens at once. kInvalid: the address is not on loopback, and it is not the cluster form.
  static Result<std::unique_ptr<Console>> make(net::EventLoop& loop, kube::Client& client, base::Log log,
                                               base::Registry& metrics, base::Random random, ConsoleOptions options);
  virtual ~Console() = default;

  virtual void start() = 0;  // reads the cluster until destroyed
  virtual std::string url() const = 0;
  virtual std::string not_ready() const = 0;  // "": ready, else what is missing
  virtual bool has_page() const = 0;          // false: built without Node.js
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::console
