// What every component shows of itself over HTTP:
//
//   /metrics           the component
//   /metrics/online    online work, if the component knows it
//   /metrics/offline   offline work, by pool and class
//   /all-metrics       all three, as Koordinator's programs serve them
//   /healthz, /readyz  it runs; it can do its work
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

// Metrics that are computed for each request, in the text format of Prometheus. Null: none.
struct ComputedMetrics {
  std::function<void()> refresh{};  // brings gauges of the registry up to date; called first
  std::function<std::string()> component{}, online{}, offline{};
};

// `not_ready` returns "" if ready, else the missing part. "0" or "" as address: no server, null.
Result<std::unique_ptr<HttpServer>> serve_admin(EventLoop& loop, base::Log log, std::string_view address,
                                                const base::Registry& metrics, std::function<std::string()> not_ready,
                                                ComputedMetrics computed = {});

// Only /healthz and /readyz, for probes on a separate port.
Result<std::unique_ptr<HttpServer>> serve_health(EventLoop& loop, base::Log log, std::string_view address,
                                                 std::function<std::string()> not_ready);

}  // namespace tidemark::net
