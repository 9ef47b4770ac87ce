// `tidemark node join` and `tidemark node leave`: takes nodes into co-location and out of it, step by step.
//
//   join    preflight → observe → pool → the agent reports → on
//   leave   drain → off, evict what is left → proof
//
// Observe comes before the pool: a pool that enforces must not let a node sell whose agent never reported. A node that
// sells and whose agent reports goes on selling. All progress is on the nodes, so the same call again goes on and skips
// what is done. A node that fails a step goes no further; the others do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "operate/evict.h"
#include "operate/order.h"
#include "operate/order_wait.h"
#include "policy/explain/doctor/cluster_findings.h"
#include "policy/state/state.h"

namespace tidemark::operate {

// By the NodeMetric, which an agent renews also while the node is observed or off.
enum class AgentReports : std::uint8_t { kNever, kLate, kFresh };
std::string_view to_string(AgentReports reports);

struct JoinOptions {
  std::vector<std::string> nodes;
  std::string pool;           // "": each node stays in its pool
  bool observe_only = false;  // stops before the nodes sell
  bool dry_run = false;
  std::string by, why;
  std::string config_namespace;
  manager::ZonesOf zones;
  base::Duration wait{0};        // longest, first for reports of the agents and then for the manager
  std::int64_t in_flight = 100;  // writes at the same time
  base::Duration limit = std::chrono::seconds(30);
};

// The steps that a node needs. Pure.
struct JoinSteps {
  bool observe = false, label = false, on = false;
  bool any() const { return observe || label || on; }
  bool operator==(const JoinSteps&) const = default;
};
struct JoinFacts {
  policy::state::NodeMarks marks;
  model::Mode mode = model::Mode::kObserve;       // of the pool that it is in
  model::Mode mode_then = model::Mode::kObserve;  // of the pool that it is to be in
  bool in_pool = true;                            // it is in that pool already
  AgentReports agent = AgentReports::kNever;
};
JoinSteps join_steps(const JoinFacts& facts, bool observe_only, base::WallTime now);

struct JoinedNode {
  std::string name;
  std::string pool_before, pool_after;
  JoinSteps steps;                            // of a dry run those that would be taken
  policy::state::EffectiveState state;        // in force in the end
  AgentReports agent = AgentReports::kNever;  // in the end
  std::optional<base::WallTime> reported;     // by its agent
  std::string problem;                        // why it goes no further; "" if it got there
};

struct JoinReport {
  bool dry_run = false;
  // What the doctor finds in the Node objects of these nodes; only what is not as it should be.
  std::vector<policy::explain::ClusterFinding> preflight;
  std::vector<JoinedNode> nodes;  // as they were named
  bool failed() const;
};

enum class JoinStep : std::uint8_t { kPreflight, kObserve, kLabel, kAgents, kOn };
struct JoinProgress {
  JoinStep step = JoinStep::kPreflight;
  std::size_t nodes = 0, done = 0;
  bool operator==(const JoinProgress&) const = default;
};

// kNotFound: there is no such pool.
net::Task<Result<JoinReport>> join_nodes(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                         base::Random random, JoinOptions options,
                                         std::function<void(const JoinProgress&)> on_progress);

struct LeaveOptions {
  OrderOptions order;    // `off`, with its drain, for the nodes by name
  EvictOptions evict;    // of what is left when draining is over
  base::Duration limit;  // longest time of that
};
struct LeaveReport {
  OrderReport order;
  std::optional<EvictPreview> would;  // of a dry run
  std::optional<OffProgress> proof;   // otherwise
};
struct LeaveProgress {
  std::function<void(const WaitProgress&)> drains;
  std::function<void(const OffProgress&)> evicts;
};
net::Task<Result<LeaveReport>> leave_nodes(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                           base::Random random, LeaveOptions options, LeaveProgress on_progress);

// The nodes that a label selector of Kubernetes names, by name.
net::Task<Result<std::vector<std::string>>> select_nodes(net::EventLoop& loop, kube::Client& client,
                                                         std::string selector, base::Duration limit);

}  // namespace tidemark::operate
