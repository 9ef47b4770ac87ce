#include "journal/past_server.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::journal {
namespace {

constexpr std::size_t kConnectionsMax = 16;
constexpr std::size_t kStreamsMax = 16;  // a connection
constexpr std::size_t kHeaderBytesMax = 16 * 1024;
constexpr base::Duration kIdleMax = std::chrono::seconds(30);

int status_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kDenied:
      return error.code == 401 ? 401 : 403;
    case ErrorKind::kNotFound:
      return 404;
    case ErrorKind::kInvalid:
      return 400;
    case ErrorKind::kExhausted:
      return 429;
    case ErrorKind::kUnavailable:
    case ErrorKind::kDeadline:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

PastServer::PastServer(net::EventLoop& loop, CheckToken check, PastAnswers answers)
    : loop_(loop), check_(std::move(check)), answers_(std::move(answers)) {}

Result<std::unique_ptr<PastServer>> PastServer::listen(net::EventLoop& loop, const base::Log& log,
                                                       const std::string& address, CheckToken check,
                                                       PastAnswers answers) {
  std::unique_ptr<PastServer> out(new PastServer(loop, std::move(check), std::move(answers)));
  net::HttpServerConfig config;
  config.listen = address;
  config.tls.emplace().self_signed = true;
  config.connections_max = kConnectionsMax;
  config.streams_max = kStreamsMax;
  config.limits.header_bytes_max = kHeaderBytesMax;
  config.idle_timeout = kIdleMax;
  auto server = net::HttpServer::listen(
      loop, log, std::move(config), [past = out.get()](net::HttpExchange& exchange) { return past->handle(exchange); });
  if (!server) return std::unexpected(std::move(server).error().within("serving the past"));
  out->server_ = *std::move(server);
  log.info("past served", {{"address", out->address()}});
  return out;
}

net::Task<void> PastServer::handle(net::HttpExchange& exchange) {
  if (exchange.head().method != "GET") {
    exchange.respond(405, "text/plain", "only GET is served here\n");
    co_return;
  }
  auto body = co_await answer(exchange.head());
  if (body) {
    exchange.respond(200, "application/json", *std::move(body));
  } else {
    exchange.respond(status_of(body.error()), "text/plain; charset=utf-8", body.error().message + "\n");
  }
}

net::Task<Result<std::string>> PastServer::answer(const net::HttpRequest& request) {
  const auto target = net::parse_target(request.target);
  if (!target) co_return fail(ErrorKind::kInvalid, "the path or the query is not valid percent-encoded UTF-8");
  if (requests_ >= kAtOnce) co_return fail(ErrorKind::kExhausted, "too many requests at once; try again");
  struct Request {
    PastServer& past;
    explicit Request(PastServer& of) : past(of) { ++past.requests_; }
    ~Request() { --past.requests_; }
  } counted(*this);
  TM_CO_TRY_VOID(co_await check_(std::string(request.headers.get(kPastToken))));
  const auto found = answers_.find(target->path);
  if (found == answers_.end()) co_return fail(ErrorKind::kNotFound, "there is no ", base::in_quotes(target->path));
  if (!worker_) worker_ = std::make_unique<net::WorkerPool>(1, kAtOnce, net::WorkerPool::AtEnd::kAbandon);
  TM_CO_TRY(auto made, co_await worker_->run<Result<std::string>>(
                           loop_, [ask = found->second, target = *target] { return ask(target); }));
  if (made && made->size() > kPastAnswerMax) {
    co_return fail(ErrorKind::kExhausted, "the answer has more than ", kPastAnswerMax, " bytes; ask for less time");
  }
  co_return std::move(made);
}

}  // namespace tidemark::journal
