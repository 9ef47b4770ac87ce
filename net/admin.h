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

// `not_ready` answers "" when all is well, otherwise what is missing. "0" or "" as address: no server, null. `more`, if
// there is one, answers metrics that are worked out when somebody asks, as lines of the same text format.
Result<std::unique_ptr<HttpServer>> serve_admin(EventLoop& loop, base::Log log, std::string_view address,
                                                const base::Registry& metrics, std::function<std::string()> not_ready,
                                                std::function<std::string()> more = {});

// /healthz and /readyz alone, for those who want the probes on a port of their own.
Result<std::unique_ptr<HttpServer>> serve_health(EventLoop& loop, base::Log log, std::string_view address,
                                                 std::function<std::string()> not_ready);

}  // namespace tidemark::net
