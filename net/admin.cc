#include "net/admin.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::net {

namespace {

using NotReady = std::function<std::string()>;

// What all pages are made from. `registry` may be null.
struct Source {
  const base::Registry* registry = nullptr;
  ComputedMetrics computed;

  // nullopt: there is no such page.
  std::optional<std::string> page(std::string_view path) const {
    const auto of = [](const std::function<std::string()>& text) { return text ? text() : std::string(); };
    const bool all = path == "/all-metrics";
    const bool online = path == "/metrics/online" && computed.online;
    const bool offline = path == "/metrics/offline";
    if (registry == nullptr || !(all || online || offline || path == "/metrics")) return std::nullopt;
    if (computed.refresh) computed.refresh();
    if (all) return registry->text() + of(computed.component) + of(computed.online) + of(computed.offline);
    if (online) return of(computed.online);
    if (offline) return registry->text(base::Page::kOffline) + of(computed.offline);
    return registry->text(base::Page::kComponent) + of(computed.component);
  }
};

Result<std::unique_ptr<HttpServer>> serve(EventLoop& loop, base::Log log, std::string_view address, Source source,
                                          NotReady not_ready) {
  if (address.empty() || address == "0") return std::unique_ptr<HttpServer>();
  HttpServerConfig config;
  config.listen = std::string(address);
  const bool has_metrics = source.registry != nullptr;
  HttpHandler handler = [source = std::move(source), not_ready = std::move(not_ready),
                         has_metrics](HttpExchange& exchange) -> Task<void> {
    const auto target = parse_target(exchange.head().target);
    const std::string path = target ? target->path : "";
    if (exchange.head().method != "GET" && exchange.head().method != "HEAD") {
      exchange.respond(405, "text/plain", "only GET is served here\n");
    } else if (auto text = source.page(path)) {
      exchange.respond(200, "text/plain; version=0.0.4; charset=utf-8", *std::move(text));
    } else if (path == "/healthz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (path == "/readyz") {
      const std::string missing = not_ready();
      exchange.respond(missing.empty() ? 200 : 503, "text/plain", missing.empty() ? "ok\n" : missing + "\n");
    } else {
      exchange.respond(404, "text/plain",
                       has_metrics ? "there are /metrics, /metrics/offline, /healthz and /readyz\n"
                                   : "there are /healthz and /readyz\n");
    }
    co_return;
  };
  const std::string_view what = has_metrics ? "metrics" : "health";
  auto server = HttpServer::listen(loop, log, std::move(config), std::move(handler));
  if (!server) return std::unexpected(std::move(server).error().within(base::cat("serving ", what)));
  log.info(base::cat(what, " served"), {{"address", (*server)->address()}});
  return server;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_admin(EventLoop& loop, base::Log log, std::string_view address,
                                                const base::Registry& metrics, std::function<std::string()> not_ready,
                                                ComputedMetrics computed) {
  return serve(loop, std::move(log), address, {&metrics, std::move(computed)}, std::move(not_ready));
}

Result<std::unique_ptr<HttpServer>> serve_health(EventLoop& loop, base::Log log, std::string_view address,
                                                 std::function<std::string()> not_ready) {
  return serve(loop, std::move(log), address, {}, std::move(not_ready));
}

}  // namespace tidemark::net
