// Evicts the offline work of the nodes of an `off` order, and shows that none is left.
//
//   pods          by this program, through the API server: the Eviction API with at most `grace`, then a deletion with
//                 a grace of one second for what outlives it
//   containers    by the yarn-operator, because the mark of the node says so (policy/state, `evict`)
//   kernel files  by the agent of the node, when its last offline task has ended
//
// Needs neither the manager nor an agent. What a dead program leaves is named per node. All progress is in the API
// server: the program may be ended and run again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "model/resources.h"
#include "net/loop.h"
#include "operate/off_progress.h"
#include "operate/order.h"

namespace tidemark::operate {

struct EvictOptions {
  base::Duration grace = std::chrono::seconds(30);  // longest time between the request and the kill
  std::int64_t per_minute = 0;                      // accepted requests in any minute; 0: no limit
  bool at_once = false;                             // delete pods: disruption budgets do not apply
  // Ends if nothing has changed for this long and no pod waits for a budget. 0: only the limit ends it.
  base::Duration gives_up_after{0};
};

// The longest time without a wait of the user: with `per_minute`, the standstill that it sets ends the eviction.
base::Duration default_wait(EvictOptions& options);

// An `off` order with eviction of the offline work.
struct EvictOrder {
  OrderOptions order;
  EvictOptions options;
  base::Duration limit{0};  // longest time for all of it
};

// Until no node of the report has anything left, or the time is up. `on_progress` gets each change. The answer has all
// nodes that have something left.
net::Task<OffProgress> evict_offline(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                     base::Random random, const OrderReport& report, EvictOrder order,
                                     std::function<void(const OffProgress&)> on_progress);

// What `off --evict` would evict now.
struct EvictPreview {
  std::size_t pods = 0;
  std::size_t static_pods = 0;  // of those: they stay, because the kubelet would create them again
  std::size_t nodes_with_yarn = 0;
  model::Resources yarn;  // held by YARN's containers there, by the last report of the yarn-operator
};
net::Task<Result<EvictPreview>> preview_eviction(net::EventLoop& loop, kube::Client& client, const OrderReport& report,
                                                 base::Duration limit);

}  // namespace tidemark::operate
