#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/http1_codec.h"
#include "net/http_client_connection.h"

namespace tidemark::net {
namespace {

// Of a body that its reader does not read; then the socket is not read either.
constexpr std::size_t kUnreadMax = 256 * 1024;

class ClientHttp1 final : public ClientConnection, public std::enable_shared_from_this<ClientHttp1> {
 public:
  ClientHttp1(EventLoop& loop, std::unique_ptr<Connection> connection, ClientConnectionConfig config, Listener listener)
      : loop_(loop),
        connection_(std::move(connection)),
        config_(std::move(config)),
        listener_(std::move(listener)),
        reader_(Http1Reader::Kind::kResponses, config_.limits) {}

  void begin() {
    connection_->set_callbacks({.on_data = [this](std::string_view bytes) { return on_data(bytes); },
                                .on_drained = nullptr,
                                .on_end = [this](std::optional<Error> error) { on_end(std::move(error)); }});
  }

  std::size_t room() const override { return !ended_ && !retired_ && exchange_ == nullptr ? 1 : 0; }
  bool lasting() const override { return !ended_ && !retired_; }
  bool settled() const override { return true; }
  bool idle() const override { return exchange_ == nullptr; }

  std::shared_ptr<ClientExchange> send(const HttpRequest& head, Buffer body) override {
    TM_CHECK(room() > 0, "one request at a time");
    exchange_ = std::make_shared<ClientExchange>(loop_);
    reused_ = served_++ > 0;
    bytes_seen_ = false;
    reader_.answers_head(head.method == "HEAD");
    std::string bytes;
    append_http1_request(bytes, head, config_.authority, body ? body->size() : 0);
    connection_->write(bytes);
    if (body && !body->empty()) connection_->write(std::move(body));
    return exchange_;
  }

  void consumed(ClientExchange&, std::size_t) override {
    if (paused_ && !ended_ && !resume_.armed()) resume_ = loop_.after(base::Duration(0), [this] { resume(); });
  }

  void release(const std::shared_ptr<ClientExchange>& exchange) override {
    if (exchange != exchange_) return;
    // The rest of the answer is under way: only closing stops it.
    end({ErrorKind::kUnavailable, "the request was cancelled", 0, 0});
  }

  void retire() override {
    retired_ = true;
    if (exchange_ == nullptr) end({ErrorKind::kUnavailable, "the connection was retired", 0, 0});
  }

  void close(Error why) override { end(std::move(why)); }

 private:
  bool on_data(std::string_view bytes) {
    const auto self = shared_from_this();
    if (ended_) return false;
    if (exchange_ == nullptr) {
      // Bytes that answer nothing: whatever they are, the next request must not take them for its answer.
      end({ErrorKind::kInvalid, "the server sent bytes without being asked", 0, 0});
      return false;
    }
    bytes_seen_ = true;
    ahead_.append(bytes);
    read_ahead();
    return !ended_ && !paused_;
  }

  void read_ahead() {
    std::string_view input = ahead_;
    while (!ended_ && exchange_ != nullptr) {
      paused_ = exchange_->pending.size() >= kUnreadMax;
      if (paused_) break;
      const auto step = reader_.next(input);
      if (step == Http1Reader::Step::kNeedMore) break;
      take(step);
    }
    ahead_.erase(0, ahead_.size() - input.size());
    if (!ended_ && exchange_ == nullptr && !ahead_.empty()) {
      end({ErrorKind::kInvalid, "the server sent bytes after its answer", 0, 0});
    }
  }

  void take(Http1Reader::Step step) {
    switch (step) {
      case Http1Reader::Step::kHead: {
        keep_alive_ = reader_.head().keep_alive;
        Http1Head head = reader_.take_head();
        exchange_->head = HttpResponseHead{.status = head.status, .headers = std::move(head.headers)};
        exchange_->changed.set();
        break;
      }
      case Http1Reader::Step::kBody:
        exchange_->pending.append(reader_.body());
        exchange_->changed.set();
        break;
      case Http1Reader::Step::kEnd:
        complete();
        break;
      case Http1Reader::Step::kFailed:
        end(reader_.error());
        break;
      case Http1Reader::Step::kNeedMore:
        break;
    }
  }

  void complete() {
    const auto exchange = std::exchange(exchange_, nullptr);
    exchange->complete = true;
    exchange->changed.set();
    // An answer that came before all of the request was sent leaves a connection with half a request on it.
    if (!keep_alive_ || retired_ || connection_->queued() > 0) {
      return end({ErrorKind::kUnavailable, "the connection is not kept", 0, 0});
    }
    listener_.on_room();
  }

  void resume() {
    const auto self = shared_from_this();
    if (ended_ || !paused_) return;
    read_ahead();
    if (peer_ended_ && !paused_) return finish();
    if (!paused_ && !ended_) connection_->resume_reading();
  }

  void on_end(std::optional<Error> error) {
    const auto self = shared_from_this();
    if (ended_) return;
    peer_ended_ = true;
    end_error_ = std::move(error);
    if (!paused_) finish();
  }

  // The connection is over and all that came of it has been looked at.
  void finish() {
    if (exchange_ != nullptr && !end_error_) {
      if (const auto step = reader_.finish(); step == Http1Reader::Step::kEnd) {
        keep_alive_ = false;
        return complete();
      }
    }
    if (exchange_ != nullptr) exchange_->stale = reused_ && !bytes_seen_;
    const std::string why = end_error_    ? end_error_->message
                            : bytes_seen_ ? std::string("the server closed the connection in the middle of its answer")
                                          : std::string("the server closed the connection without an answer");
    end({ErrorKind::kUnavailable, why, 0, 0});
  }

  void end(Error why) {
    if (std::exchange(ended_, true)) return;
    const auto self = shared_from_this();
    if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->end_with(std::move(why));
    resume_.cancel();
    connection_.reset();  // unsent bytes are not needed
    const auto listener = std::move(listener_);
    listener.on_ended();
  }

  EventLoop& loop_;
  std::unique_ptr<Connection> connection_;
  const ClientConnectionConfig config_;
  Listener listener_;
  Http1Reader reader_;
  std::shared_ptr<ClientExchange> exchange_;
  std::string ahead_;
  Timer resume_;
  std::optional<Error> end_error_;
  std::uint64_t served_ = 0;
  bool reused_ = false;
  bool bytes_seen_ = false;
  bool keep_alive_ = false;
  bool paused_ = false;
  bool peer_ended_ = false;
  bool retired_ = false;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<ClientConnection> make_client_http1(EventLoop& loop, std::unique_ptr<Connection> connection,
                                                    ClientConnectionConfig config,
                                                    ClientConnection::Listener listener) {
  auto made = std::make_shared<ClientHttp1>(loop, std::move(connection), std::move(config), std::move(listener));
  made->begin();
  return made;
}

}  // namespace tidemark::net
