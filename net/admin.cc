#include "net/admin.h"

#include <utility>

#include "base/text.h"

namespace tidemark::net {

namespace {

using NotReady = std::function<std::string()>;

// `metrics` may be null.
Result<std::unique_ptr<HttpServer>> serve(EventLoop& loop, base::Log log, std::string_view address,
                                          const base::Registry* metrics, NotReady not_ready,
                                          std::function<std::string()> more = {}) {
  if (address.empty() || address == "0") return std::unique_ptr<HttpServer>();
  HttpServerConfig config;
  config.listen = std::string(address);
  HttpHandler handler = [metrics, not_ready = std::move(not_ready),
                         more = std::move(more)](HttpExchange& exchange) -> Task<void> {
    const auto target = parse_target(exchange.head().target);
    const std::string path = target ? target->path : "";
    if (exchange.head().method != "GET" && exchange.head().method != "HEAD") {
      exchange.respond(405, "text/plain", "only GET is served here\n");
    } else if (path == "/metrics" && metrics != nullptr) {
      const std::string late = more ? more() : std::string();  // first: it may bring gauges up to date
      exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8", metrics->text() + late);
    } else if (path == "/healthz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (path == "/readyz") {
      const std::string missing = not_ready();
      exchange.respond(missing.empty() ? 200 : 503, "text/plain", missing.empty() ? "ok\n" : missing + "\n");
    } else {
      exchange.respond(
          404, "text/plain",
          metrics != nullptr ? "there are /metrics, /healthz and /readyz\n" : "there are /healthz and /readyz\n");
    }
    co_return;
  };
  const std::string_view what = metrics != nullptr ? "metrics" : "health";
  auto server = HttpServer::listen(loop, log, std::move(config), std::move(handler));
  if (!server) return std::unexpected(std::move(server).error().within(base::cat("serving ", what)));
  log.info(base::cat(what, " served"), {{"address", (*server)->address()}});
  return server;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_admin(EventLoop& loop, base::Log log, std::string_view address,
                                                const base::Registry& metrics, std::function<std::string()> not_ready,
                                                std::function<std::string()> more) {
  return serve(loop, std::move(log), address, &metrics, std::move(not_ready), std::move(more));
}

Result<std::unique_ptr<HttpServer>> serve_health(EventLoop& loop, base::Log log, std::string_view address,
                                                 std::function<std::string()> not_ready) {
  return serve(loop, std::move(log), address, nullptr, std::move(not_ready));
}

}  // namespace tidemark::net
