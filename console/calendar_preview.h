// POST /api/v1/calendar: the week of a pool with a text of `tidemark-config` that is not stored.
#pragma once

#include "base/clock.h"
#include "console/view.h"
#include "net/http_server.h"
#include "net/task.h"

namespace tidemark::console {

// {"pool":"web","text":"schema: 1\n…","at":1764400000}; the answer is that of GET with the same pool and time.
net::Task<void> preview_calendar(net::HttpExchange& exchange, View& view, base::WallTime now);

}  // namespace tidemark::console
