// The HTTPS server that the API server asks: POST /mutate-pod, /validate-pod, /validate-configmap (contract 11.1),
// /validate-eviction, and GET /healthz. Bodies, times and connections are bounded; what is no AdmissionReview is 400,
// and the API server then goes on as its failurePolicy says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "manager/webhook/admission_handlers.h"
#include "manager/webhook/review_budget.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::manager {

inline constexpr std::string_view kMutatePodPath = "/mutate-pod";
inline constexpr std::string_view kValidatePodPath = "/validate-pod";
inline constexpr std::string_view kValidateConfigMapPath = "/validate-configmap";
inline constexpr std::string_view kValidateEvictionPath = "/validate-eviction";
inline constexpr base::Duration kAdmissionLimit = std::chrono::seconds(10);  // from the first byte to the answer
inline constexpr std::size_t kAdmissionConnectionsMax = 256;
inline constexpr std::size_t kAdmissionsMax = 512;         // at the same time; one more is answered 429
inline constexpr std::size_t kRefusedEvictionsMax = 2048;  // beyond them, refused with the cause TooMany

struct WebhookServerConfig {
  std::string listen;
  net::TlsServerConfig tls;
};

class WebhookServer {
 public:
  // `not_ready` answers "" once an answer of `handlers` would be right; until then everything is 503. `handlers`
  // outlives the server.
  static Result<std::unique_ptr<WebhookServer>> listen(net::EventLoop& loop, base::Log log, base::Registry& metrics,
                                                       WebhookServerConfig config, AdmissionHandlers& handlers,
                                                       std::function<std::string()> not_ready);

  std::string address() const { return server_->address(); }
  std::uint16_t port() const { return server_->port(); }
  Result<void> use_certificate(std::string certificate_pem, std::string key_pem) {
    return server_->use_certificate(std::move(certificate_pem), std::move(key_pem));
  }
  net::Task<void> drain(base::Duration limit) { return server_->drain(limit); }

 private:
  using Handle = net::Task<AdmissionAnswer> (AdmissionHandlers::*)(AdmissionRequest);
  struct Path {
    std::string_view path;
    std::string_view name;  // in metrics and log lines
    Handle handle;
  };
  static const Path kPaths[];

  WebhookServer(net::EventLoop& loop, base::Log log, base::Registry& metrics, AdmissionHandlers& handlers,
                std::function<std::string()> not_ready)
      : loop_(loop), log_(std::move(log)), metrics_(metrics), handlers_(handlers), not_ready_(std::move(not_ready)) {}

  net::Task<void> serve(net::HttpExchange& exchange);
  net::Task<Result<std::string>> answer(const Path& path, net::HttpExchange& exchange, std::string& outcome);
  void count(const Path& path, std::string_view outcome, base::Duration took);
  void tell(const Path& path, const AdmissionRequest& request, const AdmissionAnswer& answer, std::string& outcome);

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  AdmissionHandlers& handlers_;
  std::function<std::string()> not_ready_;
  std::size_t running_ = 0;
  ReviewBudget budget_;
  std::unique_ptr<net::HttpServer> server_;  // last: its requests use what stands above
};

}  // namespace tidemark::manager
