// POST /api/v1/pool-labels {"nodes": ["web-1"], "pool": "night", "dryRun": true}: the pool of nodes, by the person's
// own rights.
#pragma once

#include "console/orders.h"
#include "console/view.h"
#include "net/http_server.h"

namespace tidemark::console {

net::Task<void> set_pool_of_nodes(net::HttpExchange& exchange, Person person, ViewOptions settings);

}  // namespace tidemark::console
