#include "kube/memory/local_transport.h"

#include <deque>

namespace tidemark::kube::memory {

namespace {

using net::Buffer;

class Exchange final : public net::HttpExchange {
 public:
  Exchange(net::EventLoop& loop, net::HttpRequest request, std::string user)
      : changed(loop), drained_(loop), request_(std::move(request)), body_(std::move(request_.body)) {
    request_.body.clear();
    peer_.address = "local";
    if (!user.empty()) peer_.certificate_common_name = std::move(user);
  }

  const net::HttpRequest& head() const override { return request_; }
  const net::Peer& peer() const override { return peer_; }
  net::Task<Result<std::string>> body(std::size_t bytes_max) override {
    if (body_.size() > bytes_max)
      co_return fail(ErrorKind::kExhausted, "the body is longer than ", bytes_max, " bytes");
    co_return std::move(body_);
  }
  void respond(int status, net::Headers headers, Buffer body) override {
    start(status, std::move(headers));
    push(std::move(body));
  }
  void start(int status, net::Headers headers) override {
    response.status = status;
    response.headers = std::move(headers);
    started = true;
    changed.set();
  }
  void abort() override { aborted = true; }
  net::Task<Result<void>> write(Buffer piece, base::Duration limit) override {
    push(std::move(piece));
    while (queued_bytes > kQueuedMax) {
      drained_.clear();
      if (!co_await drained_.wait_for(limit)) co_return fail(ErrorKind::kDeadline, "the reader did not read in time");
    }
    co_return Result<void>();
  }

  std::optional<Buffer> pop() {
    if (pieces.empty()) return std::nullopt;
    Buffer piece = std::move(pieces.front());
    pieces.pop_front();
    queued_bytes -= piece->size();
    if (queued_bytes <= kQueuedMax) drained_.set();
    return piece;
  }
  void finish() {
    finished = true;
    if (!started) start(500, {});
    changed.set();
  }

  net::Event changed;
  net::HttpResponseHead response;
  std::deque<Buffer> pieces;
  std::size_t queued_bytes = 0;
  bool started = false;
  bool finished = false;
  bool aborted = false;

 private:
  void push(Buffer piece) {
    if (piece == nullptr || piece->empty()) return;
    queued_bytes += piece->size();
    pieces.push_back(std::move(piece));
    changed.set();
  }
  net::Event drained_;
  net::HttpRequest request_;
  std::string body_;
  net::Peer peer_;
};

net::Task<void> serve(net::HttpHandler handler, Exchange& exchange) {
  co_await handler(exchange);
  exchange.finish();
}

class Stream final : public net::HttpStream {
 public:
  Stream(net::EventLoop& loop, net::HttpHandler handler, net::HttpRequest request, std::string user)
      : exchange(loop, std::move(request), std::move(user)), scope_(loop) {
    scope_.spawn(serve(std::move(handler), exchange));
  }
  const net::HttpResponseHead& head() const override { return exchange.response; }
  net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
    for (;;) {
      if (auto piece = exchange.pop()) co_return std::optional<std::string>(**piece);
      if (exchange.finished && exchange.aborted) co_return fail(ErrorKind::kUnavailable, "the answer was broken off");
      if (exchange.finished) co_return std::optional<std::string>();
      exchange.changed.clear();
      if (!co_await exchange.changed.wait_for(limit))
        co_return fail(ErrorKind::kDeadline, "nothing came within the time given");
    }
  }
  net::Task<Result<void>> wait_started(base::Duration limit) {
    while (!exchange.started) {
      exchange.changed.clear();
      if (!co_await exchange.changed.wait_for(limit))
        co_return fail(ErrorKind::kDeadline, "no answer within the time given");
    }
    co_return Result<void>();
  }

  Exchange exchange;

 private:
  net::Scope scope_;  // the last member: the handler goes before the exchange that it uses
};

}  // namespace

LocalTransport::LocalTransport(net::EventLoop& loop, net::HttpHandler handler, std::string user)
    : loop_(loop), handler_(std::move(handler)), user_(std::move(user)) {}
LocalTransport::~LocalTransport() = default;

net::Task<Result<std::unique_ptr<net::HttpStream>>> LocalTransport::open(net::HttpRequest request,
                                                                         base::Duration limit) {
  auto stream = std::make_unique<Stream>(loop_, handler_, std::move(request), user_);
  TM_CO_TRY_VOID(co_await stream->wait_started(limit));
  co_return std::unique_ptr<net::HttpStream>(std::move(stream));
}

net::Task<Result<net::HttpResponse>> LocalTransport::fetch(net::HttpRequest request, base::Duration limit) {
  const base::MonotonicTime end = loop_.clock().monotonic() + limit;
  Stream stream(loop_, handler_, std::move(request), user_);
  TM_CO_TRY_VOID(co_await stream.wait_started(limit));
  net::HttpResponse response;
  response.status = stream.head().status;
  response.headers = stream.head().headers;
  for (;;) {
    const base::Duration left = end - loop_.clock().monotonic();
    TM_CO_TRY(auto piece, co_await stream.read(left > base::Duration(0) ? left : base::Duration(0)));
    if (!piece) co_return response;
    response.body += *piece;
  }
}

}  // namespace tidemark::kube::memory
