#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "net/http2_session.h"
#include "net/http_server_connection.h"

namespace tidemark::net {
namespace {

// A request body waits in its stream's window until its handler reads it. Uploads toward us are small (patches,
// reports), so these are smaller than the client's: 2,500 streams cannot hold more than the connection's 8 MiB.
constexpr std::int32_t kStreamWindowBytes = 256 * 1024;
constexpr std::int32_t kConnectionWindowBytes = 8 * 1024 * 1024;
// Bytes given to the connection before its socket takes them; the rest waits in its streams, as shared buffers.
constexpr std::size_t kOutBytesMax = 256 * 1024;

class ServerHttp2;

class ServerStream final : public ServerExchange::Outlet {
 public:
  ServerStream(ServerHttp2& owner, ServerContext& context, const Peer& peer, std::int32_t id, HttpRequest head)
      : owner_(owner),
        id_(id),
        expects_continue_(base::lower(head.headers.get("expect")) == "100-continue"),
        exchange_(context, peer, *this, std::move(head)),
        scope_(context.loop) {
    scope_.spawn(serve());
  }

  ServerExchange& exchange() { return exchange_; }
  // Of a draining server. Not from inside the handler's task.
  void end_if_it_may() {
    if (!exchange_.may_end()) return;
    scope_.clear();
    handler_done_ = true;
    exchange_.end_stream();
  }
  void on_sent();
  // The stream is through; answers whether nothing is left to do.
  bool close() {
    closed_ = true;
    reader_timer_.cancel();
    return handler_done_;
  }

 private:
  void send_head(int status, const Headers& headers, Body body, std::size_t length) override;
  void send_body(Buffer piece) override;
  void send_end() override;
  void send_abort() override;
  std::size_t queued() const override;
  void may_end_now() override;
  void body_wanted() override;
  void body_consumed(std::size_t bytes) override;

  Task<void> serve();
  void watch_reader(base::Duration limit);

  ServerHttp2& owner_;
  const std::int32_t id_;
  bool expects_continue_;
  bool has_body_ = false;
  bool moved_ = false;
  bool handler_done_ = false;
  bool closed_ = false;
  Timer reader_timer_;  // once the handler is done: what is left must be read in reasonable time
  ServerExchange exchange_;
  Scope scope_;
};

class ServerHttp2 final : public ServerConnection, private Http2Session::Events {
 public:
  ServerHttp2(ServerContext& context, std::unique_ptr<Connection> connection, std::function<void()> on_ended)
      : context_(context),
        connection_(std::move(connection)),
        on_ended_(std::move(on_ended)),
        session_(session_config(context.config), *this) {
    arm_idle();
    connection_->set_callbacks({.on_data = [this](std::string_view bytes) { return on_bytes(bytes); },
                                .on_drained = [this] { flush(); },
                                .on_end = [this](std::optional<Error>) { end(); }});
    flush();
  }

  void drain() override {
    if (ended_) return;
    draining_ = true;
    session_.drain();
    flush_later();
  }
  bool draining() const { return draining_; }

  Http2Session& session() { return session_; }
  ServerContext& context() { return context_; }
  bool ended() const { return ended_; }

  // The stream's handler ends with it. That may be what runs just now: it is destroyed at the next flush.
  void drop(std::int32_t id) {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;
    session_.consume(id, at->second->exchange().unconsumed());
    gone_.push_back(std::move(at->second));
    streams_.erase(at);
    flush_later();
  }

  // What was submitted leaves at the end of the round, so that an event for 2,000 streams is a few big writes.
  void flush_later() {
    if (!ended_ && !flush_.armed()) flush_ = context_.loop.after(base::Duration(0), [this] { flush(); });
  }

 private:
  static Http2Session::Config session_config(const HttpServerConfig& config) {
    return {.side = Http2Session::Side::kServer,
            .limits = config.limits,
            .streams_max = config.streams_max,
            .stream_window_bytes = kStreamWindowBytes,
            .connection_window_bytes = kConnectionWindowBytes};
  }

  bool on_bytes(std::string_view bytes) {
    if (ended_) return false;
    const auto fed = session_.feed(bytes, context_.loop.clock().monotonic());
    if (!fed) {
      context_.log.warn("an HTTP/2 connection is closed",
                        {{"peer", connection_->peer().address}, {"error", fed.error()}});
      write_some();
      end();
      return false;
    }
    flush_later();
    return true;
  }

  bool write_some() {
    bool more = true;
    while (more && connection_->queued() < kOutBytesMax) {
      std::string out;
      more = session_.take(out, kOutBytesMax / 4);
      if (out.empty()) return false;
      connection_->write(out);
    }
    return more;
  }

  void flush() {
    if (ended_) return;
    if (draining_) {
      for (const auto& [id, stream] : streams_) stream->end_if_it_may();
    }
    write_some();
    gone_.clear();
    if (session_.finished()) return end();
    if (streams_.empty() && !idle_.armed()) arm_idle();
  }

  void arm_idle() {
    idle_ = context_.loop.after(context_.config.idle_timeout, [this] {
      session_.goodbye();
      write_some();
      end();
    });
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    idle_.cancel();
    connection_->close_after_write();
    on_ended_();
  }

  // Events of the session.
  void on_request(std::int32_t id, HttpRequest head) override {
    idle_.cancel();
    streams_[id] = std::make_unique<ServerStream>(*this, context_, connection_->peer(), id, std::move(head));
  }
  void on_data(std::int32_t id, std::string_view bytes) override {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return session_.consume(id, bytes.size());
    at->second->exchange().on_body(bytes);
  }
  void on_end(std::int32_t id) override {
    if (const auto at = streams_.find(id); at != streams_.end()) at->second->exchange().on_body_end();
  }
  void on_sent(std::int32_t id, std::size_t) override {
    if (const auto at = streams_.find(id); at != streams_.end()) at->second->on_sent();
  }
  void on_closed(std::int32_t id, Http2Session::Closed how) override {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;
    // A handler that has answered may have something left to do; one whose client went away has not.
    const bool answered = how.error_code == Http2Session::kNoError && at->second->exchange().answered();
    if (at->second->close() || !answered) drop(id);
  }

  ServerContext& context_;
  std::unique_ptr<Connection> connection_;
  std::function<void()> on_ended_;
  Http2Session session_;
  std::unordered_map<std::int32_t, std::unique_ptr<ServerStream>> streams_;
  std::vector<std::unique_ptr<ServerStream>> gone_;
  Timer flush_;
  Timer idle_;
  bool draining_ = false;
  bool ended_ = false;
};

Task<void> ServerStream::serve() {
  co_await exchange_.run();
  handler_done_ = true;
  if (closed_) owner_.drop(id_);
}

void ServerStream::send_head(int status, const Headers& headers, Body body, std::size_t length) {
  has_body_ = body == Body::kPieces || (body == Body::kWhole && length > 0);
  Headers fields;
  for (const auto& [name, value] : headers) {
    if (body != Body::kWhole || name != "content-length") fields.add(name, value);
  }
  const bool of_head = body == Body::kNone && exchange_.head().method == "HEAD" && length > 0;
  if (body == Body::kWhole || of_head) fields.set("content-length", base::cat(length));
  owner_.session().respond(id_, status, fields, !has_body_);
  owner_.flush_later();
}

void ServerStream::send_body(Buffer piece) {
  owner_.session().send(id_, std::move(piece));
  owner_.flush_later();
}

void ServerStream::send_end() {
  if (!has_body_) return;
  owner_.session().end(id_);
  owner_.flush_later();
  watch_reader(owner_.context().config.idle_timeout);
}

void ServerStream::send_abort() {
  owner_.session().reset(id_, Http2Session::kInternalError);
  owner_.drop(id_);
}

void ServerStream::watch_reader(base::Duration limit) {
  moved_ = false;
  reader_timer_ = owner_.context().loop.after(limit, [this, limit] {
    if (moved_) return watch_reader(limit);
    owner_.session().reset(id_, Http2Session::kCancel);
    owner_.drop(id_);
  });
}

void ServerStream::on_sent() {
  moved_ = true;
  exchange_.on_progress();
}

std::size_t ServerStream::queued() const {
  return owner_.session().queued(id_);
}

void ServerStream::may_end_now() {
  if (owner_.draining()) owner_.flush_later();
}

void ServerStream::body_wanted() {
  if (!std::exchange(expects_continue_, false) || exchange_.started()) return;
  owner_.session().respond_continue(id_);
  owner_.flush_later();
}

void ServerStream::body_consumed(std::size_t bytes) {
  owner_.session().consume(id_, bytes);
  owner_.flush_later();
}

}  // namespace

std::unique_ptr<ServerConnection> make_server_http2(ServerContext& context, std::unique_ptr<Connection> connection,
                                                    std::function<void()> on_ended) {
  return std::make_unique<ServerHttp2>(context, std::move(connection), std::move(on_ended));
}

}  // namespace tidemark::net
