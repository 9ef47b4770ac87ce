// The operator: tells each YARN cluster how much of each node it may hand out, and Kubernetes how much of it YARN
// holds.
//
//   nodes, pods ──informers──▶ node_map ─▶ policy/yarn_total ─▶ cluster_link ──one call──▶ ResourceManager
//   node annotation ◀──patch── what its containers hold    ◀── cluster_link ◀──reports── ResourceManager
//
// Level, not edge: every pass compares what should be with what the last report says, so what an NM that began anew, a
// failover or somebody else changed is put right like anything else.
#pragma once

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
#include "policy/yarn_total/yarn_total.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/pool_modes.h"

namespace tidemark::yarn_operator {

// Where the ResourceManagers are, who calls them, and how a total is made: of the operator, and of commands that
// explain what it does.
struct YarnOptions {
  std::string hadoop_conf_dir;
  std::string user;  // the caller; "": as the peer, which names none
  hadoop::KerberosOptions kerberos;
  policy::YarnTotalConfig totals;
};
void declare_yarn_flags(base::Flags& flags, YarnOptions& options);     // all but the rounding
void declare_rounding_flag(base::Flags& flags, YarnOptions& options);  // for those who make totals

struct OperatorOptions : YarnOptions {
  std::string config_namespace = "koordinator-system";  // of tidemark-config
  std::string mode = "enforce";  // "observe": decides and shows, tells nobody and writes nothing, no Lease either
  base::Duration poll = std::chrono::seconds(5);
  base::Duration lost_hold = std::chrono::minutes(10);
  std::string metrics_address = "127.0.0.1:8080";
  std::string health_address;
  bool leader_elect = true;
  kube::LeaderConfig lease = {.ns = "", .name = "koordinator-yarn-operator", .identity = {}};
  std::string controllers = "yarnresource";  // by the peer's name; there is no other
  double queries_per_second = 30;
  std::int64_t query_burst = 50;
};

void declare_flags(base::Flags& flags, OperatorOptions& options);
std::span<const base::PeerFlag> peer_flags();  // of the peer's operator, for parts that are not here

// An agent waits three seconds for its answer, and what it evicts without one is a failure of its application. Answers
// wait behind nothing else that is written: so many nodes may ask in one moment, and so many each second after that.
inline constexpr int kAnsweredAtOnce = 500;
inline constexpr double kAnsweredPerSecond = 100;
void let_answers_go_ahead(kube::ClientConfig& client);

class YarnOperator {
 public:
  struct Rim {
    kube::Client& client;
    kube::Client& election;  // under a budget of its own
    net::WorkerPool& workers;
    std::function<void(model::AuditLine)> audit;
    std::string actor;
    ZonesOf zones = [](std::string_view) { return policy::Zones(); };  // only UTC
  };
  static Result<std::unique_ptr<YarnOperator>> make(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters,
                                                    base::Log log, base::Registry& metrics, base::Random random,
                                                    OperatorOptions options);
  virtual ~YarnOperator() = default;

  virtual void start() = 0;                         // until destroyed
  virtual std::string not_ready() const = 0;        // "" when it does its work, else what is missing
  virtual std::string metrics_address() const = 0;  // with the port chosen; "" where none is served
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::yarn_operator
