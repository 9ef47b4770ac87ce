#include "manager/webhook/webhook_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/deadline.h"

namespace tidemark::manager {
namespace {

// The API server passes on only the code, not our message: by 429 an agent that asked to evict knows that the webhook
// runs (agent/evict/ending.cc). 503 means that this replica cannot answer at all.
constexpr int kTooManyCode = 429;
constexpr base::Duration kIdleLimit = std::chrono::seconds(90);  // the API server's own client lets go after 90 s

const std::vector<double>& seconds_buckets() {
  static const std::vector<double> kBuckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10};
  return kBuckets;
}

double in_seconds(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool is_json(std::string_view content_type) {
  return base::lower(base::trim(content_type.substr(0, content_type.find(';')))) == "application/json";
}

std::unexpected<Error> http_error(int status, std::string message) {
  return fail(Error{ErrorKind::kInvalid, std::move(message), status, 0});
}

// What a request's body may take: as it says itself, or as much as one may have.
std::size_t announced_bytes(std::string_view content_length) {
  const auto bytes = base::parse_int(content_length);
  if (!bytes || *bytes < 0) return kReviewBytesMax;
  return std::min(static_cast<std::size_t>(*bytes), kReviewBytesMax);
}

// One of those that run at the same time.
class Place {
 public:
  explicit Place(std::size_t& running) : running_(running) { ++running_; }
  ~Place() { --running_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::size_t& running_;
};

}  // namespace

const WebhookServer::Path WebhookServer::kPaths[] = {
    {kMutatePodPath, "mutate-pod", &AdmissionHandlers::mutate_pod},
    {kValidatePodPath, "validate-pod", &AdmissionHandlers::validate_pod},
    {kValidateConfigMapPath, "validate-configmap", &AdmissionHandlers::validate_config_map},
    {kValidateEvictionPath, "validate-eviction", &AdmissionHandlers::validate_eviction},
};

Result<std::unique_ptr<WebhookServer>> WebhookServer::listen(net::EventLoop& loop, base::Log log,
                                                             base::Registry& metrics, WebhookServerConfig config,
                                                             AdmissionHandlers& handlers,
                                                             std::function<std::string()> not_ready) {
  std::unique_ptr<WebhookServer> server(
      new WebhookServer(loop, std::move(log), metrics, handlers, std::move(not_ready)));
  net::HttpServerConfig http;
  http.listen = std::move(config.listen);
  http.tls = std::move(config.tls);
  http.limits.body_bytes_max = kReviewBytesMax;
  http.connections_max = kAdmissionConnectionsMax;
  http.idle_timeout = kIdleLimit;
  WebhookServer* self = server.get();
  auto listening = net::HttpServer::listen(loop, server->log_, std::move(http),
                                           [self](net::HttpExchange& exchange) { return self->serve(exchange); });
  if (!listening) return fail(std::move(listening).error().within("serving webhooks"));
  server->server_ = std::move(*listening);
  server->log_.info("webhooks served", {{"address", server->address()}});
  return server;
}

net::Task<void> WebhookServer::serve(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  const std::string path = target ? target->path : "";
  if (path == "/healthz" && (exchange.head().method == "GET" || exchange.head().method == "HEAD")) {
    exchange.respond(200, "text/plain", "ok\n");
    co_return;
  }
  const auto* known =
      std::find_if(std::begin(kPaths), std::end(kPaths), [&](const Path& each) { return each.path == path; });
  if (known == std::end(kPaths)) {
    exchange.respond(404, "text/plain",
                     "there are /mutate-pod, /validate-pod, /validate-configmap, /validate-eviction and /healthz\n");
    co_return;
  }
  const auto began = loop_.clock().monotonic();
  std::string outcome = "error";
  auto done = co_await answer(*known, exchange, outcome);
  count(*known, outcome, loop_.clock().monotonic() - began);
  if (done) {
    exchange.respond(200, "application/json", std::move(*done));
    co_return;
  }
  const Error& error = done.error();
  const int status = error.code >= 400 ? error.code : (error.kind == ErrorKind::kDeadline ? 504 : 500);
  log_.warn("an admission request was not answered",
            {{"webhook", known->name}, {"status", status}, {"from", exchange.peer().address}, {"why", error}});
  exchange.respond(status, "text/plain", error.message + "\n");
}

net::Task<Result<std::string>> WebhookServer::answer(const Path& path, net::HttpExchange& exchange,
                                                     std::string& outcome) {
  if (exchange.head().method != "POST") co_return http_error(405, "only POST is served here");
  if (!is_json(exchange.head().headers.get("content-type"))) {
    co_return http_error(415, "wanted content-type application/json");
  }
  if (auto missing = not_ready_(); !missing.empty()) {
    outcome = "not-ready";
    co_return http_error(503, base::cat("not ready: ", missing));
  }
  const auto too_many = [&outcome](std::string message) {
    outcome = "too-many";
    return http_error(kTooManyCode, std::move(message));
  };
  // The API server turns a webhook's 429 into a 500 that looks like a missing webhook, and an agent would kill. So an
  // eviction beyond the limit is read and refused with a cause.
  const bool crowded = running_ >= kAdmissionsMax;
  const bool refuses =
      crowded && path.path == kValidateEvictionPath && running_ < kAdmissionsMax + kRefusedEvictionsMax;
  if (crowded && !refuses) co_return too_many(base::cat("more than ", kAdmissionsMax, " requests at once"));
  const Place place(running_);
  ReviewBudget::Share share(budget_);
  const auto full = [&too_many] {
    return too_many(base::cat("the reviews that run take all of ", kReviewsBytesMax, " bytes"));
  };
  if (!share.grow(announced_bytes(exchange.head().headers.get("content-length")))) co_return full();
  const auto began = loop_.clock().monotonic();
  auto body = co_await net::within(loop_, exchange.body(kReviewBytesMax), kAdmissionLimit, "the request's body");
  if (!body) co_return std::unexpected(std::move(body).error());
  // Within the budget of bytes. A body with too many values is refused by the parser, before it builds any.
  const std::size_t values = review_values(*body);
  if (values <= kReviewValuesMax && !share.grow(values * kReviewValueBytes)) co_return full();
  auto request = decode_review(*body);
  if (!request) {
    outcome = "garbage";
    co_return http_error(request.error().code == 413 ? 413 : 400,
                         base::cat("no AdmissionReview: ", request.error().message));
  }
  body->clear();
  body->shrink_to_fit();
  const AdmissionRequest head{.uid = request->uid,
                              .group = {},
                              .resource = {},
                              .subresource = {},
                              .ns = request->ns,
                              .name = request->name,
                              .operation = request->operation,
                              .user = request->user,
                              .user_node = request->user_node,
                              .object = {},
                              .old_object = {}};
  // A plain function that makes the task, and not a coroutine lambda: the latter's captures would be gone.
  const auto run = [](net::Task<AdmissionAnswer> task) -> net::Task<Result<AdmissionAnswer>> {
    co_return co_await task;
  };
  const base::Duration left = kAdmissionLimit - (loop_.clock().monotonic() - began);
  Result<AdmissionAnswer> done = AdmissionHandlers::busy_eviction();
  if (!refuses) {
    done = co_await net::within(loop_, run((handlers_.*path.handle)(std::move(*request))), left, "the answer");
  }
  if (!done) co_return std::unexpected(std::move(done).error());
  tell(path, head, *done, outcome);
  co_return encode_review(head.uid, *done);
}

void WebhookServer::tell(const Path& path, const AdmissionRequest& request, const AdmissionAnswer& answer,
                         std::string& outcome) {
  const bool patched = answer.patch.is_array() && !answer.patch.as_array().empty();
  outcome = !answer.allowed ? "denied" : patched ? "patched" : "allowed";
  if (answer.allowed) return;
  const std::string reason = answer.causes.empty() ? answer.reason : answer.causes.front().reason;
  metrics_
      .counter("tidemark_webhook_denied_total", "Admission requests denied, by the first reason.",
               {{"component", path.name}, {"reason", reason}})
      .add();
  log_.info("denied", {{"webhook", path.name},
                       {"namespace", request.ns},
                       {"name", request.name},
                       {"user", request.user},
                       {"code", answer.code},
                       {"why", answer.message}});
}

void WebhookServer::count(const Path& path, std::string_view outcome, base::Duration took) {
  metrics_
      .counter("tidemark_webhook_requests_total", "Admission requests by result.",
               {{"component", path.name}, {"reason", outcome}})
      .add();
  metrics_
      .histogram("tidemark_webhook_request_seconds", "From the head of an admission request to its answer.",
                 seconds_buckets(), {{"component", path.name}})
      .observe(in_seconds(took));
}

}  // namespace tidemark::manager
