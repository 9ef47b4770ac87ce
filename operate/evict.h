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

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/off_progress.h"
#include "operate/order.h"

namespace tidemark::operate {

struct EvictOptions {
  base::Duration grace = std::chrono::seconds(30);  // longest time between the request and the kill
  std::int64_t per_minute = 0;                      // accepted requests in any minute; 0: no limit
  bool at_once = false;                             // delete pods: disruption budgets do not apply
};

// Until no node of the report has anything left, or the time is up. `on_progress` gets each change. The answer has all
// nodes that have something left.
net::Task<OffProgress> evict_offline(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                     base::Random random, const OrderReport& report, OrderOptions order,
                                     EvictOptions options, base::Duration limit,
                                     std::function<void(const OffProgress&)> on_progress);

}  // namespace tidemark::operate
