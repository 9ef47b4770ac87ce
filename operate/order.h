// `tidemark off|on|observe node NAME…|pool NAME|cluster`: writes what is ordered onto the nodes itself, with nothing
// but the API server there. An order for a pool or the cluster is stored first, so that nodes that join later inherit
// it, and then copied onto every node that is there.
//
// It may be ended and run again: what is done is found done. Of two operators at once the later order wins on every
// node, and the other operator gets an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/state/order.h"
#include "policy/state/state.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {

enum class OrderScope : std::uint8_t { kNode, kPool, kCluster };

// One field for each argument of the commands.
struct OrderOptions {
  OrderScope scope = OrderScope::kCluster;
  std::vector<std::string> nodes;                          // of kNode
  std::string pool;                                        // of kPool
  std::optional<policy::waterline::TidemarkConfig> pools;  // of kPool: from pools_for_order()
  policy::state::StateCommand command;
  bool dry_run = false;
  // Of `off`: for the removal of the agents. Ordered only where one of them may have a file of the kernel in force,
  // and waited for until none has.
  bool nothing_in_force = false;
  std::string config_namespace = "koordinator-system";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  std::int64_t in_flight = 100;                     // writes under way at once
  base::Duration limit = std::chrono::seconds(30);  // for one node, tries included
};

// What became of one node.
enum class OrderOutcome : std::uint8_t {
  kWritten,
  kAlready,     // it carried the order
  kSuperseded,  // a later order is on the node
  kNothing,     // `on` for a part that was not off
  kRefused,     // `on` for a class where everything is off
  kGone,        // deleted meanwhile
  kFailed,
};
std::string_view to_string(OrderOutcome);

struct OrderedNode {
  std::string name;
  OrderOutcome outcome = OrderOutcome::kFailed;
  std::string problem;                            // of kFailed
  policy::state::EffectiveState state;            // what holds on it now, by orders alone; not for kGone and kFailed
  ErrorKind problem_kind = ErrorKind::kInternal;  // of kFailed
};

struct OrderReport {
  bool dry_run = false;
  std::vector<OrderedNode> nodes;       // by name
  bool stored = false;                  // the order for the pool or the cluster was written
  bool was_stored = false;              // it was there already
  std::optional<base::WallTime> until;  // of an order with an end
  std::vector<std::string> notes;
  std::string incomplete;  // why not all nodes that it is for could be listed; "" where they could
  bool failed() const;     // some node was not reached
};

struct OrderProgress {
  std::size_t nodes = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
};

// By which an order for a pool finds its nodes: those that tidemark-config has now. An order is urgent, and an edit may
// be bad, or rename the pool: then those of the settings in force, and `note` says so.
struct PoolsForOrder {
  policy::waterline::TidemarkConfig config;
  std::string note;
};
net::Task<Result<PoolsForOrder>> pools_for_order(kube::Client& client, const OrderOptions& options);

// How many nodes it concerns, for the question before it. Cheap for kNode.
net::Task<Result<std::size_t>> count_nodes(kube::Client& client, const OrderOptions& options);

// An error where nothing was done at all: the API server away.
net::Task<Result<OrderReport>> give_order(net::EventLoop& loop, kube::Client& client, OrderOptions options,
                                          std::function<void(const OrderProgress&)> on_progress);

}  // namespace tidemark::operate
