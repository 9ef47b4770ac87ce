// The manager: follows nodes, pods, NodeMetrics and the configuration, and keeps what nodes may sell up to date.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/leader.h"
#include "manager/record/decision_journal.h"
#include "manager/settings/revision.h"
#include "manager/switches.h"
#include "manager/webhook/webhooks.h"
#include "net/loop.h"
#include "policy/sell/overcommit/plugins.h"
#include "policy/state/contest.h"

namespace tidemark::manager {

// One field for each flag or group of flags.
struct ManagerOptions {
  ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };  // only UTC
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  policy::sell::PluginSet plugins;
  std::string mode = "enforce";  // "observe": decides and shows, and writes nothing at all, no Lease and no event
  policy::state::ContestConfig contest;
  ControllerSet controllers;
  FeatureGates feature_gates;
  JournalOptions journal;
  std::string metrics_address = "127.0.0.1:8080";
  std::string health_address;     // /healthz and /readyz once more, by themselves; "" for not
  base::Duration sync_period{0};  // every node is looked at again so often, whatever happens; 0: only on its own times
  bool leader_elect = true;
  kube::LeaderConfig lease = {.name = "koordinator-manager", .identity = {}};  // identity: unique among replicas
  std::int64_t workers = 4;                                                    // nodes decided at the same time
  // Enough for 10,000 nodes. The API server protects itself by priority and fairness: it answers 429, and the client
  // waits as its Retry-After says.
  double queries_per_second = 5000;
  std::int64_t query_burst = 5000;
  WebhookOptions webhooks;  // kAuto means off here: the caller knows where the process runs and decides
};

// The budget of the election's own client.
kube::ClientConfig election_client_config();

// The flags of `tidemark manager`, with the peer's names as aliases.
void declare_flags(base::Flags& flags, ManagerOptions& options);
// Those that also make sense where one process is its own leader.
void declare_common_flags(base::Flags& flags, ManagerOptions& options);

class Manager {
 public:
  // `election` speaks to the same API server under a budget of its own: renewing the lease must never wait behind
  // capacity writes.
  static Result<std::unique_ptr<Manager>> make(net::EventLoop& loop, kube::Client& client, kube::Client& election,
                                               base::Log log, base::Registry& metrics, base::Random random,
                                               ManagerOptions options);
  virtual ~Manager() = default;

  virtual void start() = 0;                         // until destroyed
  virtual std::string not_ready() const = 0;        // "" when it does its work, else what is missing
  virtual std::string metrics_address() const = 0;  // with the port chosen; "" where none is served
  virtual std::string health_address() const = 0;   // the same
  virtual net::Task<void> drain() = 0;              // an orderly stop: finish writes under way, give the lease back
};

}  // namespace tidemark::manager
