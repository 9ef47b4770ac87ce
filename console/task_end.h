// Ends one offline pod by the Eviction API, with the rights of a person. A PodDisruptionBudget may refuse.
#pragma once

#include "base/clock.h"
#include "console/orders.h"
#include "net/http_server.h"

namespace tidemark::console {

// POST {"namespace":…,"name":…,"dryRun":…}. A dry run asks the API server whether it would do it: 200. Otherwise 202
// when the API server has accepted: the pod then has its own grace period. 409 if the pod is no offline work.
net::Task<void> end_task(net::HttpExchange& exchange, Person person);

}  // namespace tidemark::console
