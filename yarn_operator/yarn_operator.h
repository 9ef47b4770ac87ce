// The operator: sends each YARN cluster the total of each node, and publishes to Kubernetes what YARN holds.
//
//   nodes, pods ──informers──▶ node_map ─▶ policy/sell ─▶ cluster_link ──one call──▶ ResourceManager
//   node annotation ◀──patch── what its containers hold    ◀── cluster_link ◀──reports── ResourceManager
//
// Level, not edge: every pass compares the wanted state with the last report. So the same code repairs a restarted
// NodeManager, a failover and a change by another program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/peer_flags.h"
#include "base/random.h"
#include "base/result.h"
#include "hadoop/kerberos.h"
#include "hadoop/yarn_records.h"
#include "kube/client.h"
#include "kube/leader.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/pool_modes.h"

namespace tidemark::yarn_operator {

// Address of the ResourceManagers, user of the calls, and rules of totals: for the operator and for commands that
// explain it.
struct YarnOptions {
  std::string hadoop_conf_dir;
  std::string user;  // user of the calls; "": not sent, as in Koordinator's operator
  hadoop::KerberosOptions kerberos;
  policy::sell::YarnTotalConfig totals;
};
void declare_yarn_flags(base::Flags& flags, YarnOptions& options);     // all except the rounding
void declare_rounding_flag(base::Flags& flags, YarnOptions& options);  // for programs that compute totals

struct OperatorOptions : YarnOptions {
  std::string config_namespace = "koordinator-system";  // of tidemark-config
  std::string mode = "enforce";  // "observe": decides and shows, sends and writes nothing, takes no Lease
  base::Duration poll = std::chrono::seconds(5);
  base::Duration lost_hold = std::chrono::minutes(10);
  base::Duration preemption_grace = std::chrono::seconds(10);
  std::string metrics_address = "127.0.0.1:8080";
  std::string health_address;
  bool leader_elect = true;
  kube::LeaderConfig lease = {.ns = "", .name = "koordinator-yarn-operator", .identity = {}};
  std::string controllers = "yarnresource";  // Koordinator's name of this controller; there is no other
  double queries_per_second = 1000;
  std::int64_t query_burst = 1000;
};

void declare_flags(base::Flags& flags, OperatorOptions& options);
std::span<const base::PeerFlag> peer_flags();  // of Koordinator's operator, for parts that do not exist here

// An agent waits three seconds for its answer, and then its eviction counts as a failure of the application. So answers
// do not wait behind other writes: limits for one moment, and for each second after that.
inline constexpr int kAnsweredAtOnce = 500;
inline constexpr double kAnsweredPerSecond = 100;
void let_answers_go_ahead(kube::ClientConfig& client);

class YarnOperator {
 public:
  struct Rim {
    kube::Client& client;
    kube::Client& election;  // with a budget of its own
    net::WorkerPool& workers;
    std::function<void(model::AuditLine)> audit;
    std::string actor;
    ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };  // only UTC
    std::size_t invalid_clusters = 0;  // those with an invalid file: they count as away
  };
  static Result<std::unique_ptr<YarnOperator>> make(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters,
                                                    base::Log log, base::Registry& metrics, base::Random random,
                                                    OperatorOptions options);
  virtual ~YarnOperator() = default;

  virtual void start() = 0;                         // until destroyed
  virtual std::string not_ready() const = 0;        // "" if ready, else the missing part
  virtual std::string metrics_address() const = 0;  // with the actual port; "" if not served
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::yarn_operator
