// The node's agent: measures the node and what runs on it, and reports it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/evict/last_words.h"
#include "agent/evict/take_back.h"
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
#include "policy/stance/peer.h"

namespace tidemark::agent {

struct AgentOptions {
  std::string node_name;
  MachinePlaces places;
  std::string sys_root = "/sys";
  std::string kernel_log = "/dev/kmsg";
  TaskFlags tasks;
  std::string state_dir;               // what was learned, kept over restarts; "": nothing is kept
  std::int64_t record_megabytes = 64;  // of what was measured
  std::int64_t safety_margin_percent = 10;
  bool report = true;
  // With its API server, on one machine: what is spread over many nodes elsewhere is done at once, and evictions go by
  // the lines that are drawn, without a gate or a grant.
  bool alone = false;
  bool reaction = true;  // to surges of online work between two decisions, on a thread and by a clock of its own
  std::string mode = "enforce";  // of strategies of which the manager says nothing
  std::string peers_namespace{policy::kPeersNamespace};
  std::string only_shows;  // why nothing could be written here, whatever anybody says; "": something can
  std::string pod_logs{kPodLogsDefault};
  base::Duration yarn_hold_back = kHoldBack;
  base::Duration line_ends_within = kLineEndsWithin;
  FeatureGates feature_gates;
  std::string audit_actor;
  std::string metrics_address = "127.0.0.1:9316";
  double queries_per_second = 5;
  std::int64_t query_burst = 20;
};

// The flags of `tidemark agent`, with the peer's names as aliases.
void declare_flags(base::Flags& flags, AgentOptions& options);

// What lies outside, and outlives the agent.
struct AgentConnections {
  kube::Client& client;
  std::function<std::string()> bearer;  // the agent's token, also toward the kubelet
  net::WorkerPool& resolvers;           // of names
  net::WorkerPool& files;               // reads and writes them: apart, so that a disk that hangs stops nothing else
  net::WorkerPool& disks;               // looks at those of pods, any of which may hang: nothing else waits there
  linux::ProbeRim& kernel;              // writes files of groups, and tries which of them do something
  linux::KillRim& killing;              // ends processes
  std::function<void(model::AuditLine)> audit{};  // of what is written; may be empty
};

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> make(net::EventLoop& loop, AgentConnections connections, const base::Log& log,
                                             base::Registry& metrics, base::Random random, AgentOptions options);
  virtual ~Agent() = default;

  virtual void start() = 0;                         // until destroyed
  virtual std::string not_ready() const = 0;        // "" when it does its work, else what is missing
  virtual std::string metrics_address() const = 0;  // with the port chosen; "" where none is served
  virtual net::Task<void> drain() = 0;              // an orderly stop
};

}  // namespace tidemark::agent
