// What every component shows of itself over HTTP: /metrics, /healthz (it runs), /readyz (it can do its work).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::net {

// `not_ready` returns "" if ready, else the missing part. "0" or "" as address: no server, null. `more`, if set,
// returns metrics that are computed for each request, in the same text format.
Result<std::unique_ptr<HttpServer>> serve_admin(EventLoop& loop, base::Log log, std::string_view address,
                                                const base::Registry& metrics, std::function<std::string()> not_ready,
                                                std::function<std::string()> more = {});

// Only /healthz and /readyz, for probes on a separate port.
Result<std::unique_ptr<HttpServer>> serve_health(EventLoop& loop, base::Log log, std::string_view address,
                                                 std::function<std::string()> not_ready);

}  // namespace tidemark::net
