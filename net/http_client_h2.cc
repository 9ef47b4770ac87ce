#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/http2_session.h"
#include "net/http_client_connection.h"

namespace tidemark::net {
namespace {

// A list of tens of megabytes comes at the speed of window ÷ round trip: 1 MiB at 1 ms is 1 GB/s, more than is decoded.
constexpr std::int32_t kStreamWindowBytes = 1 << 20;
// What all readers together may leave unread: 31 that stand still do not stop the others.
constexpr std::int32_t kConnectionWindowBytes = 32 << 20;
constexpr std::size_t kStreamsMax = 4096;  // where the server allows as many
constexpr std::size_t kOutBytesMax = 256 * 1024;

class ClientHttp2 final : public ClientConnection,
                          public std::enable_shared_from_this<ClientHttp2>,
                          private Http2Session::Events {
 public:
  ClientHttp2(EventLoop& loop, std::unique_ptr<Connection> connection, ClientConnectionConfig config, Listener listener)
      : loop_(loop),
        connection_(std::move(connection)),
        config_(std::move(config)),
        listener_(std::move(listener)),
        session_({.side = Http2Session::Side::kClient,
                  .limits = config_.limits,
                  .streams_max = kStreamsMax,
                  .stream_window_bytes = kStreamWindowBytes,
                  .connection_window_bytes = kConnectionWindowBytes},
                 *this),
        last_byte_(loop.clock().monotonic()) {}

  void begin() {
    connection_->set_callbacks({.on_data = [this](std::string_view bytes) { return on_bytes(bytes); },
                                .on_drained = [this] { flush(); },
                                .on_end =
                                    [this](std::optional<Error> error) {
                                      const auto self = shared_from_this();
                                      const std::string why =
                                          error ? error->message : "the server closed the connection";
                                      end({ErrorKind::kUnavailable, base::cat("HTTP/2 connection lost: ", why), 0, 0});
                                    }});
    flush();
    watch_peer(config_.ping_interval);
  }

  std::size_t room() const override { return ended_ || retired_ ? 0 : session_.room(); }
  bool lasting() const override { return !ended_ && !retired_ && !session_.going_away(); }
  bool settled() const override { return session_.settled(); }
  bool idle() const override { return exchanges_.empty(); }

  std::shared_ptr<ClientExchange> send(const HttpRequest& head, Buffer body) override {
    auto exchange = std::make_shared<ClientExchange>(loop_);
    const auto id = session_.submit(head, config_.scheme, config_.authority, std::move(body));
    if (!id) {
      exchange->unprocessed = true;
      exchange->end_with(id.error());
      return exchange;
    }
    exchange->stream = *id;
    if (answered_) exchange->sent_after = received_;
    exchanges_[*id] = exchange;
    flush_later();
    return exchange;
  }

  void consumed(ClientExchange& exchange, std::size_t bytes) override {
    if (ended_) return;
    session_.consume(exchange.stream, bytes);
    flush_later();
  }

  void release(const std::shared_ptr<ClientExchange>& exchange) override {
    if (ended_ || exchange->stream == 0) return;
    // A read() that outlives its stream must neither consume these again nor take what is left for the proper end.
    const std::size_t unread = std::exchange(exchange->pending, {}).size();
    if (unread > 0 || !exchange->complete) {
      exchange->error = Error{ErrorKind::kUnavailable, "the request was cancelled", 0, 0};
      exchange->changed.set();
    }
    session_.consume(exchange->stream, unread);
    if (exchanges_.erase(exchange->stream) > 0) session_.reset(exchange->stream, Http2Session::kCancel);
    flush_later();
  }

  void retire() override {
    retired_ = true;
    flush_later();
  }

  void close(Error why) override {
    if (ended_) return;
    session_.goodbye();
    write_some();
    end(std::move(why));
  }

 private:
  bool on_bytes(std::string_view bytes) {
    const auto self = shared_from_this();
    if (ended_) return false;
    last_byte_ = loop_.clock().monotonic();
    received_ += bytes.size();
    if (const auto fed = session_.feed(bytes, last_byte_); !fed) {
      write_some();
      end(fed.error());
      return false;
    }
    flush_later();
    return true;
  }

  Error lost(std::string_view how) const {
    const std::string_view farewell = session_.farewell();
    return {ErrorKind::kUnavailable,
            base::cat("HTTP/2 connection lost: ", how, farewell.empty() ? "" : ", saying ", farewell), 0, 0};
  }

  void write_some() {
    bool more = true;
    while (more && connection_->queued() < kOutBytesMax) {
      std::string out;
      more = session_.take(out, kOutBytesMax / 4);
      if (out.empty()) return;
      connection_->write(out);
    }
  }

  void flush_later() {
    if (!ended_ && !flush_.armed()) flush_ = loop_.after(base::Duration(0), [this] { flush(); });
  }

  void flush() {
    const auto self = shared_from_this();
    if (ended_) return;
    write_some();
    if (session_.finished()) {
      if (session_.reason().empty()) return end(lost("the server sent GOAWAY"));
      return end({ErrorKind::kInvalid, base::cat("HTTP/2: ", session_.reason()), 0, 0});
    }
    if (exchanges_.empty() && !lasting()) return close({ErrorKind::kUnavailable, "the connection was retired", 0, 0});
    // Waiting requests also learn the server's limit: they may need another connection.
    const bool news = settled() && !std::exchange(told_settled_, true);
    if (room() > 0 || !lasting() || news) listener_.on_room();
  }

  // A peer that vanished without a word is found by silence.
  void watch_peer(base::Duration delay) {
    ping_ = loop_.after(delay, [this] {
      const auto self = shared_from_this();
      const base::MonotonicTime now = loop_.clock().monotonic();
      if (pinged_at_ && last_byte_ <= *pinged_at_) {
        return end(lost("no answer to a PING"));
      }
      pinged_at_.reset();
      const base::Duration silence = now - last_byte_;
      if (silence < config_.ping_interval) return watch_peer(config_.ping_interval - silence);
      pinged_at_ = now;
      session_.ping();
      flush_later();
      watch_peer(config_.ping_timeout);
    });
  }

  void end(Error why) {
    if (std::exchange(ended_, true)) return;
    ping_.cancel();
    flush_.cancel();
    for (const auto& [id, exchange] : std::exchange(exchanges_, {})) {
      // The server closed a kept connection as the request was on its way.
      exchange->stale = why.kind == ErrorKind::kUnavailable && exchange->sent_after == received_;
      exchange->end_with(why);
    }
    connection_->close_after_write();
    const auto listener = std::move(listener_);
    listener.on_ended();
  }

  std::shared_ptr<ClientExchange> find(std::int32_t id) const {
    const auto at = exchanges_.find(id);
    return at == exchanges_.end() ? nullptr : at->second;
  }

  // Events of the session.
  void on_response(std::int32_t id, HttpResponseHead head) override {
    answered_ = true;
    if (const auto exchange = find(id)) {
      exchange->head = std::move(head);
      exchange->changed.set();
    }
  }
  void on_data(std::int32_t id, std::string_view bytes) override {
    const auto exchange = find(id);
    if (!exchange) return session_.consume(id, bytes.size());
    exchange->pending.append(bytes);
    exchange->changed.set();
  }
  void on_end(std::int32_t id) override {
    if (const auto exchange = find(id)) {
      exchange->complete = true;
      exchange->changed.set();
    }
  }
  void on_closed(std::int32_t id, Http2Session::Closed how) override {
    const auto exchange = find(id);
    if (!exchange) return;
    exchanges_.erase(id);
    flush_later();
    if (exchange->complete) return;
    exchange->unprocessed = how.unprocessed;
    exchange->end_with(
        how.error ? std::move(*how.error)
                  : Error{ErrorKind::kUnavailable,
                          base::cat("the server ended the stream with ", http2_error_name(how.error_code)), 0, 0});
  }

  EventLoop& loop_;
  std::unique_ptr<Connection> connection_;
  const ClientConnectionConfig config_;
  Listener listener_;
  Http2Session session_;
  std::unordered_map<std::int32_t, std::shared_ptr<ClientExchange>> exchanges_;
  Timer flush_;
  Timer ping_;
  base::MonotonicTime last_byte_;
  std::optional<base::MonotonicTime> pinged_at_;
  std::uint64_t received_ = 0;  // bytes
  bool answered_ = false;       // a request, at least
  bool told_settled_ = false;
  bool retired_ = false;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<ClientConnection> make_client_http2(EventLoop& loop, std::unique_ptr<Connection> connection,
                                                    ClientConnectionConfig config,
                                                    ClientConnection::Listener listener) {
  auto made = std::make_shared<ClientHttp2>(loop, std::move(connection), std::move(config), std::move(listener));
  made->begin();
  return made;
}

}  // namespace tidemark::net
