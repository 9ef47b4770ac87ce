// The node's agent: measures the node and what runs on it, and reports it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/evict/yarn_reclaim.h"
#include "agent/feature_gates.h"
#include "agent/machine_places.h"
#include "agent/protect/line_ends.h"
#include "agent/tasks/task_flags.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "linux/cgroup/kill.h"
#include "linux/knob_probe.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/state/peer.h"

namespace tidemark::agent {

// One field for each flag or group of flags.
struct AgentOptions {
  std::string node_name;
  MachinePlaces places;
  std::string sys_root = "/sys";
  std::string kernel_log = "/dev/kmsg";
  TaskFlags tasks;
  std::string state_dir;               // learned models, kept over restarts; "": nothing is kept
  std::int64_t record_megabytes = 64;  // of measurements
  std::int64_t safety_margin_percent = 10;
  bool report = true;
  // The agent runs with its API server on one machine: work that is otherwise spread over many nodes is done at once,
  // and evictions follow the thresholds without a gate or a grant.
  bool alone = false;
  bool reaction = true;          // to surges of online work between two decisions, on its own thread and clock
  std::string mode = "enforce";  // of strategies that the manager does not configure
  std::string peers_namespace{policy::state::kPeersNamespace};
  std::string only_shows;  // why nothing can be written here, whatever the settings; "": something can
  std::string pod_logs = "/var/log/pods";
  base::Duration yarn_hold_back = kHoldBack;
  base::Duration line_ends_within = kLineEndsWithin;
  FeatureGates feature_gates;
  std::string audit_actor;
  std::string metrics_address = "127.0.0.1:9316";
  double queries_per_second = 5;
  std::int64_t query_burst = 20;
};

// Declares the flags of `tidemark agent`, with Koordinator's names as aliases.
void declare_flags(base::Flags& flags, AgentOptions& options);

// External parts, which outlive the agent.
struct AgentConnections {
  kube::Client& client;
  std::function<std::string()> bearer;  // the agent's token, also toward the kubelet
  net::WorkerPool& resolvers;           // of DNS names
  net::WorkerPool& files;               // file I/O, in a pool of its own so that a hanging disk stops nothing else
  net::WorkerPool& disks;               // reads pod disks, any of which may hang: nothing else waits there
  linux::ProbeRim& kernel;              // writes cgroup files and tests which of them have an effect
  linux::KillRim& killing;              // kills processes
  std::function<void(model::AuditLine)> audit{};  // of writes; may be empty
};

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> make(net::EventLoop& loop, AgentConnections connections, const base::Log& log,
                                             base::Registry& metrics, base::Random random, AgentOptions options);
  virtual ~Agent() = default;

  virtual void start() = 0;                         // until destroyed
  virtual std::string not_ready() const = 0;        // "" if ready, else what is missing
  virtual std::string metrics_address() const = 0;  // with the chosen port; "" if none is served
  virtual net::Task<void> drain() = 0;              // an orderly stop
};

}  // namespace tidemark::agent
