#include "net/http_client.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "net/authority.h"
#include "net/http_client_connection.h"
#include "net/http_fields.h"
#include "net/tls_context.h"

namespace tidemark::net {
namespace {

// A request that was not processed is sent again; a server that refuses everything must not make us try for ever.
constexpr int kUnprocessedRetriesMax = 3;
constexpr int kStaleRetriesMax = 1;
// Connections that are made and end before a request could use them.
constexpr int kDialsMax = 3;
// After a connection could not be made or was lost, before one is added to those that work.
constexpr base::Duration kFurtherDialPause = std::chrono::seconds(1);

bool is_idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" || method == "OPTIONS";
}

Error too_late(base::Duration limit) {
  return {ErrorKind::kDeadline, base::cat("no answer within ", base::format_go_duration(limit)), 0, 0};
}

// One request's answer; its destruction cancels what is left.
class NetworkStream final : public HttpStream {
 public:
  NetworkStream(EventLoop& loop, std::shared_ptr<ClientConnection> connection, std::shared_ptr<ClientExchange> exchange)
      : loop_(loop), connection_(std::move(connection)), exchange_(std::move(exchange)) {}
  ~NetworkStream() override { connection_->release(exchange_); }
  NetworkStream(const NetworkStream&) = delete;
  NetworkStream& operator=(const NetworkStream&) = delete;

  const HttpResponseHead& head() const override { return *exchange_->head; }
  const ClientExchange& exchange() const { return *exchange_; }

  Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
    return read_from(loop_, connection_, exchange_, limit);
  }

  // Until there is a head or an error; false when the time ran out.
  Task<bool> wait_for_head(base::MonotonicTime deadline) {
    while (!exchange_->head && !exchange_->error) {
      exchange_->changed.clear();
      if (!co_await exchange_->changed.wait_for(deadline - loop_.clock().monotonic())) break;
    }
    co_return exchange_->head || exchange_->error;
  }

 private:
  // By value: the task may outlive the stream.
  static Task<Result<std::optional<std::string>>> read_from(EventLoop& loop,
                                                            std::shared_ptr<ClientConnection> connection,
                                                            std::shared_ptr<ClientExchange> exchange,
                                                            base::Duration limit) {
    const base::MonotonicTime deadline = loop.clock().monotonic() + limit;
    bool in_time = true;
    for (;;) {
      if (!exchange->pending.empty()) {
        std::string piece = std::exchange(exchange->pending, {});
        connection->consumed(*exchange, piece.size());
        co_return std::optional<std::string>(std::move(piece));
      }
      if (exchange->error) co_return fail(*exchange->error);
      if (exchange->complete) co_return std::optional<std::string>();
      if (!in_time) {
        co_return fail(ErrorKind::kDeadline, "nothing more of the answer came within ",
                       base::format_go_duration(limit));
      }
      exchange->changed.clear();
      in_time = co_await exchange->changed.wait_for(deadline - loop.clock().monotonic());
    }
  }

  EventLoop& loop_;
  std::shared_ptr<ClientConnection> connection_;
  std::shared_ptr<ClientExchange> exchange_;
};

// A stream of open() may last for ever; an answer of fetch() does not.
enum class Use { kFetch, kStream };

// A connection attempt that several requests wait for.
struct Dial {
  explicit Dial(EventLoop& loop) : done(loop) {}
  Event done;
  std::optional<Error> error;
};

}  // namespace

std::string authority_of(const Url& url) {
  if (url.scheme == "unix") return "localhost";
  const bool six = url.host.find(':') != std::string::npos && !url.host.starts_with('[');
  std::string authority = six ? base::cat("[", url.host, "]") : url.host;
  if (url.port != (url.scheme == "https" ? 443 : 80)) authority += base::cat(":", url.port);
  return authority;
}

struct HttpClient::Impl : std::enable_shared_from_this<HttpClient::Impl> {
  using ConnectionPtr = std::shared_ptr<ClientConnection>;

  EventLoop& loop;
  WorkerPool* workers;
  const HttpClientConfig config;
  const std::string authority;
  std::shared_ptr<TlsClientContext> tls;
  std::uint64_t certificates = 0;  // generation of the TLS context
  bool speaks_http2;               // as far as known: what the last connection spoke
  bool closed = false;
  struct Member {
    ConnectionPtr connection;
    bool fetch_only = false;         // of HTTP/2
    bool streams = false;            // of HTTP/1.1: what it carries, or carried last, is a stream
    bool used = true;                // since the spare ones were last looked at
    std::uint64_t certificates = 0;  // generation of the TLS context that it was made with
    bool takes(Use use) const { return use == Use::kFetch || !fetch_only; }
  };
  std::vector<Member> open;  // all that have not ended, the oldest first
  std::size_t dialing = 0;   // for HTTP/1.1
  std::size_t dialing_streams = 0;
  std::shared_ptr<Dial> dial;  // for HTTP/2
  WaitLine fetches;
  WaitLine streams;
  base::MonotonicTime further_from{};  // no further connection of HTTP/2 is made before
  Timer spare_timer;
  Scope scope;

  Impl(EventLoop& l, WorkerPool* w, HttpClientConfig c)
      : loop(l),
        workers(w),
        config(std::move(c)),
        authority(authority_of(config.url)),
        speaks_http2(config.url.scheme == "https"),
        fetches(l),
        streams(l),
        scope(l) {}

  static Error closed_error() { return {ErrorKind::kUnavailable, "the client was closed", 0, 0}; }

  void shut_down() {
    closed = true;
    scope.clear();
    if (dial) {
      dial->error = closed_error();
      std::exchange(dial, nullptr)->done.set();
    }
    spare_timer.cancel();
    for (const auto& member : std::exchange(open, {})) member.connection->close(closed_error());
    call_all();
  }

  Task<Result<std::unique_ptr<Connection>>> connect_now(base::Duration limit) {
    if (config.url.scheme == "https" && !tls) {
      TM_CO_TRY(tls, make_tls_client_context(config.tls, loop.clock()));
      certificates = tls->context().generation();
    }
    co_return co_await connect(loop, workers, config.url, tls, std::min(limit, config.connect_timeout));
  }

  // Servers judge a client by the certificate of its connection at each request, also when that has expired since. What
  // was made with older files finishes what it carries and takes nothing new.
  void retire_outdated() {
    if (!tls) return;
    (void)tls->context().current();
    if (certificates == tls->context().generation()) return;
    certificates = tls->context().generation();
    for (const auto& member : std::vector(open)) {
      if (member.certificates != certificates) member.connection->retire();
    }
  }

  // `made_with`: the generation before the connection was begun, or an older one of two would be taken for the newer.
  ConnectionPtr adopt(std::unique_ptr<Connection> connection, std::uint64_t made_with) {
    speaks_http2 = connection->alpn() == "h2";
    // The connection's own address is its name here: it may end before it is in our list.
    struct Name {
      std::weak_ptr<ClientConnection> connection;
      bool ended = false;
    };
    auto name = std::make_shared<Name>();
    const ClientConnection::Listener listener{.on_room =
                                                  [weak = weak_from_this()] {
                                                    if (const auto self = weak.lock()) self->call_as_room();
                                                  },
                                              .on_ended =
                                                  [weak = weak_from_this(), name] {
                                                    name->ended = true;
                                                    if (const auto self = weak.lock())
                                                      self->forget(name->connection.lock());
                                                  }};
    const ClientConnectionConfig settings{.scheme = config.url.scheme == "https" ? "https" : "http",
                                          .authority = authority,
                                          .limits = config.limits,
                                          .ping_interval = config.ping_interval,
                                          .ping_timeout = config.connect_timeout};
    const auto make = speaks_http2 ? make_client_http2 : make_client_http1;
    ConnectionPtr made = make(loop, std::move(connection), settings, listener);
    name->connection = made;
    if (!name->ended) {
      open.push_back({.connection = made, .fetch_only = speaks_http2 && needs_fetch_only(), .certificates = made_with});
      if (made_with != certificates) made->retire();
    }
    if (speaks_http2 && open.size() > 1) watch_spares();
    return made;
  }

  void forget(const ConnectionPtr& connection) {
    std::erase_if(open, [&](const Member& member) { return member.connection == connection; });
    further_from = loop.clock().monotonic() + kFurtherDialPause;
    call_all();  // room for another connection, or the need of one
  }

  void call_all() {
    fetches.call(fetches.size());
    streams.call(streams.size());
  }

  void call_as_room() {
    call_as_room(Use::kFetch, fetches);
    call_as_room(Use::kStream, streams);
  }
  void call_as_room(Use use, WaitLine& line) {
    if (line.size() == 0) return;
    // An existing connection became full: a waiting request must make another.
    if (speaks_http2 && !dial && may_dial(use) && loop.clock().monotonic() >= further_from) {
      return line.call(line.size());
    }
    std::size_t room = 0;
    for (const auto& member : open) room += member.takes(use) ? member.connection->room() : 0;
    line.call(room);
  }

  std::size_t lasting(Use use) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        open, [&](const Member& member) { return member.takes(use) && member.connection->lasting(); }));
  }

  // With a bound of one there is nothing to set apart.
  std::size_t stream_connections_max() const { return std::max<std::size_t>(config.http2_connections_max, 2) - 1; }
  bool needs_fetch_only() const {
    return config.http2_connections_max > 1 && lasting(Use::kStream) >= stream_connections_max();
  }
  bool may_dial(Use use) const {
    const bool unsettled = std::ranges::any_of(
        open, [](const Member& member) { return member.connection->lasting() && !member.connection->settled(); });
    return !unsettled && lasting(Use::kFetch) < config.http2_connections_max &&
           (use == Use::kFetch || lasting(Use::kStream) < stream_connections_max());
  }

  // The oldest with room comes first, so that the others fall idle when less is to be done.
  ConnectionPtr with_room(Use use) {
    for (auto& member : open) {
      if (!member.takes(use) || !member.connection->lasting() || member.connection->room() == 0) continue;
      member.used = true;
      return member.connection;
    }
    return nullptr;
  }

  void watch_spares() {
    if (spare_timer.armed()) return;
    spare_timer = loop.after(config.spare_idle_timeout, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      std::vector<ConnectionPtr> spare;
      for (std::size_t i = 1; i < self->open.size(); ++i) {
        Member& member = self->open[i];
        if (!std::exchange(member.used, false) && member.connection->idle()) spare.push_back(member.connection);
      }
      for (const auto& connection : spare) connection->retire();
      if (self->open.size() > 1) self->watch_spares();
    });
  }

  void begin_dial() {
    if (dial) return;
    dial = std::make_shared<Dial>(loop);
    scope.spawn(run_dial(dial));
  }

  Task<void> run_dial(std::shared_ptr<Dial> mine) {
    const std::uint64_t made_with = certificates;
    auto connected = co_await connect_now(config.connect_timeout);
    if (connected) {
      adopt(std::move(*connected), made_with);
    } else {
      mine->error = std::move(connected).error();
      further_from = loop.clock().monotonic() + kFurtherDialPause;
    }
    dial.reset();
    mine->done.set();
    call_all();
  }

  // A connection with room for one request. `fresh`: not one that was kept.
  Task<Result<ConnectionPtr>> acquire(base::MonotonicTime deadline, base::Duration limit, Use use, bool fresh) {
    retire_outdated();
    for (int dials = 0;;) {
      const base::Duration left = deadline - loop.clock().monotonic();
      if (closed) co_return fail(closed_error());
      if (left <= base::Duration(0)) co_return fail(too_late(limit));
      if (!speaks_http2) {
        TM_CO_TRY(auto connection, co_await acquire_http1(left, use, fresh));
        if (connection != nullptr) co_return connection;
        continue;
      }
      if (const auto connection = with_room(use)) co_return connection;
      if (lasting(use) > 0) {
        // All are full. Another one is made where that is allowed, and whatever has room first is taken.
        base::Duration pause = left;
        if (may_dial(use)) {
          const base::MonotonicTime now = loop.clock().monotonic();
          if (now >= further_from) {
            begin_dial();
          } else {
            pause = std::min<base::Duration>(left, further_from - now);
          }
        }
        (void)co_await (use == Use::kFetch ? fetches : streams).wait(pause);
        continue;
      }
      if (dials++ == kDialsMax)
        co_return fail(ErrorKind::kUnavailable, "the server closes each new connection at once");
      begin_dial();
      const auto shared = dial;
      if (!co_await shared->done.wait_for(left)) co_return fail(too_late(limit));
      if (shared->error) co_return fail(*shared->error);
    }
  }

  bool may_stream_on_http1() const {
    const auto held = static_cast<std::size_t>(
        std::ranges::count_if(open, [](const Member& member) { return member.streams && !member.connection->idle(); }));
    return held + dialing_streams < std::max<std::size_t>(config.http1_connections_max, 2) - 1;
  }

  // Null: look again.
  Task<Result<ConnectionPtr>> acquire_http1(base::Duration left, Use use, bool fresh) {
    if (use == Use::kStream && config.http1_connections_max > 1 && !may_stream_on_http1()) {
      (void)co_await streams.wait(left);
      co_return ConnectionPtr();
    }
    Member* kept = nullptr;
    for (auto& member : open) {
      if (member.connection->room() > 0) kept = &member;  // the newest: the others may go idle
    }
    if (kept && !fresh) {
      kept->streams = use == Use::kStream;
      co_return kept->connection;
    }
    if (kept && open.size() + dialing >= config.http1_connections_max) {
      const ConnectionPtr old = kept->connection;
      old->close({ErrorKind::kUnavailable, "the connection is too old", 0, 0});
    }
    if (open.size() + dialing >= config.http1_connections_max) {
      (void)co_await (use == Use::kFetch ? fetches : streams).wait(left);
      co_return ConnectionPtr();
    }
    struct Count {
      Impl& self;
      const std::size_t stream;
      Count(Impl& s, Use use) : self(s), stream(use == Use::kStream ? 1 : 0) {
        ++self.dialing;
        self.dialing_streams += stream;
      }
      Count(const Count&) = delete;
      Count& operator=(const Count&) = delete;
      ~Count() {
        --self.dialing;
        self.dialing_streams -= stream;
        self.call_all();
      }
    } count(*this, use);
    const std::uint64_t made_with = certificates;
    TM_CO_TRY(auto connection, co_await connect_now(left));
    if (closed) co_return fail(closed_error());
    const ConnectionPtr made = adopt(std::move(connection), made_with);
    for (auto& member : open) {
      if (member.connection == made) member.streams = use == Use::kStream;
    }
    co_return made;
  }
};

namespace {

using StreamResult = Result<std::unique_ptr<HttpStream>>;

}  // namespace

HttpClient::HttpClient(EventLoop& loop, WorkerPool* workers, HttpClientConfig config)
    : impl_(std::make_shared<Impl>(loop, workers, std::move(config))) {}

HttpClient::~HttpClient() {
  impl_->shut_down();
}

namespace {

// "GET https://host:6443/api/v1/pods": without the query, which may be long.
std::string place(std::string_view method, const Url& url, std::string_view authority, std::string_view target) {
  return base::cat(method, " ", url.scheme, url.scheme == "unix" ? ":" : "://",
                   url.scheme == "unix" ? url.host : authority, target.substr(0, target.find('?')));
}

void tell_unsent(const HttpRequest& request, bool unsent) {
  if (request.unsent != nullptr) *request.unsent = unsent;
}

template <class Impl>
Task<StreamResult> open_on(std::shared_ptr<Impl> impl, HttpRequest request, base::Duration limit, Use use) {
  const base::MonotonicTime deadline = impl->loop.clock().monotonic() + limit;
  tell_unsent(request, true);
  const Buffer body = make_buffer(std::exchange(request.body, {}));
  request.target = base::cat(impl->config.url.path, request.target);
  if (!request.headers.has("user-agent")) request.headers.add("user-agent", impl->config.user_agent);
  // Compressed answers would have to be unpacked by every reader, and the network is not what is short here.
  if (!request.headers.has("accept-encoding")) request.headers.add("accept-encoding", "identity");
  const std::string where = place(request.method, impl->config.url, impl->authority, request.target);
  if (auto fine = check_request(request); !fine) co_return fail(std::move(fine).error().within(where));

  int unprocessed = 0;
  int stale = 0;
  for (;;) {
    auto connection = co_await impl->acquire(deadline, limit, use, stale > 0);
    if (!connection) co_return fail(std::move(connection).error().within(where));
    tell_unsent(request, false);
    auto exchange = (*connection)->send(request, body);
    auto stream = std::make_unique<NetworkStream>(impl->loop, std::move(*connection), std::move(exchange));
    if (!co_await stream->wait_for_head(deadline)) co_return fail(too_late(limit).within(where));
    if (stream->exchange().head) co_return std::unique_ptr<HttpStream>(std::move(stream));
    tell_unsent(request, stream->exchange().unprocessed);
    if (stream->exchange().unprocessed && unprocessed++ < kUnprocessedRetriesMax) continue;
    if (stream->exchange().stale && is_idempotent(request.method) && stale++ < kStaleRetriesMax) continue;
    co_return fail(stream->exchange().error->within(where));
  }
}

template <class Impl>
Task<Result<HttpResponse>> fetch_on(std::shared_ptr<Impl> impl, HttpRequest request, base::Duration limit) {
  const base::MonotonicTime deadline = impl->loop.clock().monotonic() + limit;
  const std::size_t bytes_max = impl->config.limits.body_bytes_max;
  const std::string where = place(request.method, impl->config.url, impl->authority, request.target);
  const bool to_head = request.method == "HEAD";
  const auto too_long = [&] {
    return fail(ErrorKind::kExhausted, where, ": the answer is longer than ", bytes_max, " bytes");
  };
  TM_CO_TRY(const auto stream, co_await open_on(impl, std::move(request), limit, Use::kFetch));
  HttpResponse response{.status = stream->head().status, .headers = stream->head().headers, .body = {}};
  const auto declared = parse_content_length(response.headers.get("content-length"));
  if (!to_head && declared) {
    if (*declared > bytes_max) co_return too_long();
    response.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*declared, 1 << 20)));
  }
  for (;;) {
    auto piece = co_await stream->read(deadline - impl->loop.clock().monotonic());
    if (!piece) co_return fail(std::move(piece).error().within(where));
    if (!*piece) co_return response;
    if (response.body.size() + (*piece)->size() > bytes_max) co_return too_long();
    response.body += **piece;
  }
}

}  // namespace

Task<Result<HttpResponse>> HttpClient::fetch(HttpRequest request, base::Duration limit) {
  return fetch_on(impl_, std::move(request), limit);
}

Task<Result<std::unique_ptr<HttpStream>>> HttpClient::open(HttpRequest request, base::Duration limit) {
  return open_on(impl_, std::move(request), limit, Use::kStream);
}

std::size_t HttpClient::connections() const {
  return impl_->open.size();
}

void HttpClient::close_idle_connections() {
  for (const auto& member : std::vector(impl_->open)) {
    if (impl_->speaks_http2 || member.connection->room() > 0) member.connection->retire();
  }
}

}  // namespace tidemark::net
