#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/http1_codec.h"
#include "net/http_server_connection.h"

namespace tidemark::net {
namespace {

// Bytes of requests that came before their turn, and of a body whose handler does not read it.
constexpr std::size_t kAheadMax = 64 * 1024;

// One request at a time. Its phases: waiting for a head (a deadline runs once its first byte is there), an exchange,
// and letting the answer drain before the next head is looked at.
class ServerHttp1 final : public ServerConnection, public ServerExchange::Outlet {
 public:
  ServerHttp1(ServerContext& context, std::unique_ptr<Connection> connection, std::function<void()> on_ended)
      : context_(context),
        connection_(std::move(connection)),
        on_ended_(std::move(on_ended)),
        reader_(Http1Reader::Kind::kRequests, context.config.limits),
        scope_(context.loop) {
    arm(context_.config.head_timeout);  // a new client must send a request
    connection_->set_callbacks({.on_data = [this](std::string_view bytes) { return on_data(bytes); },
                                .on_drained =
                                    [this] {
                                      if (exchange_) exchange_->on_progress();
                                      step_later();
                                    },
                                .on_end = [this](std::optional<Error>) { end(); }});
  }

  void drain() override {
    draining_ = true;
    step_later();
  }

 private:
  bool on_data(std::string_view bytes) {
    if (ended_) return false;
    ahead_.append(bytes);
    read_ahead();
    return wants_bytes();
  }

  bool wants_bytes() const { return !ended_ && ahead_.size() < kAheadMax; }

  bool body_paused() const { return exchange_ != nullptr && exchange_->unconsumed() >= kAheadMax; }

  // Looks at what has come, as far as its turn is.
  void read_ahead() {
    std::string_view input = ahead_;
    while (!ended_ && !request_complete_ && !draining_output_ && !body_paused()) {
      const auto step = reader_.next(input);
      if (step == Http1Reader::Step::kNeedMore) {
        if (exchange_ == nullptr && !reader_.idle() && !head_timed_) {
          head_timed_ = true;
          arm(context_.config.head_timeout);
        }
        break;
      }
      switch (step) {
        case Http1Reader::Step::kHead:
          begin_exchange();
          break;
        case Http1Reader::Step::kBody:
          exchange_->on_body(reader_.body());
          break;
        case Http1Reader::Step::kEnd:
          request_complete_ = true;
          exchange_->on_body_end();
          break;
        case Http1Reader::Step::kFailed:
          refuse(reader_.error());
          break;
        case Http1Reader::Step::kNeedMore:
          break;
      }
    }
    ahead_.erase(0, ahead_.size() - input.size());
  }

  void begin_exchange() {
    timer_.cancel();
    Http1Head head = reader_.take_head();
    keep_alive_ = head.keep_alive && head.minor_version == 1;
    minor_version_ = head.minor_version;
    expects_continue_ = head.expects_continue;
    answer_complete_ = false;
    exchange_ = std::make_unique<ServerExchange>(context_, connection_->peer(), *this,
                                                 HttpRequest{.method = std::move(head.method),
                                                             .target = std::move(head.target),
                                                             .headers = std::move(head.headers),
                                                             .body = {}});
    handler_done_ = false;
    scope_.spawn(serve());
  }

  Task<void> serve() {
    co_await exchange_->run();
    handler_done_ = true;
    step_later();
  }

  // The request is broken, in its head or in its body. With an answer under way all that is left is to close.
  void refuse(const Error& error) {
    context_.log.debug("a request was refused", {{"peer", connection_->peer().address}, {"error", error}});
    close_with(error.code != 0 ? error.code : 400);
  }

  void close_with(int status) {
    if (exchange_ == nullptr || !exchange_->started()) {
      const std::string body = base::cat(status, " ", reason_phrase(status), "\n");
      Headers headers;
      headers.add("content-type", "text/plain");
      std::string bytes;
      append_http1_response(bytes, status, headers,
                            {.body = Http1Head::Body::kLength, .content_length = body.size(), .keep_alive = false});
      connection_->write(bytes + body);
    }
    end();
  }

  // What was written is still sent; the handler is destroyed with this object, a moment later.
  void end() {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    connection_->close_after_write();
    on_ended_();
  }

  void arm(base::Duration limit) {
    timer_ = context_.loop.after(limit, [this] { on_timeout(); });
  }

  void on_timeout() {
    if (draining_output_) {
      // Waiting for a reader: patient as long as it takes something.
      if (connection_->queued() < queued_then_) {
        queued_then_ = connection_->queued();
        return arm(context_.config.idle_timeout);
      }
      return end();
    }
    if (!reader_.idle() || first_) return close_with(408);
    end();
  }

  void step_later() {
    if (!ended_ && !step_.armed()) step_ = context_.loop.after(base::Duration(0), [this] { step(); });
  }

  // From the loop, never from inside the handler's task.
  void step() {
    if (ended_) return;
    if (draining_ && exchange_ && exchange_->may_end()) {
      scope_.clear();
      handler_done_ = true;
      exchange_->end_stream();
    }
    if (exchange_ && answer_complete_ && handler_done_) {
      // An incomplete body can not be separated from the next request: close the connection.
      if (!keep_alive_ || !request_complete_ || draining_) return end();
      scope_.clear();
      exchange_.reset();
      request_complete_ = false;
      first_ = false;
      head_timed_ = false;
      draining_output_ = true;
      queued_then_ = connection_->queued();
      arm(context_.config.idle_timeout);
    }
    // A client that asks and asks and does not read the answers must not fill our memory.
    if (draining_output_ && connection_->queued() <= HttpExchange::kQueuedMax) {
      draining_output_ = false;
      arm(context_.config.idle_timeout);
    }
    read_ahead();
    if (ended_) return;
    if (draining_ && exchange_ == nullptr && reader_.idle()) return end();
    if (wants_bytes()) connection_->resume_reading();
  }

  // Outlet.
  void send_head(int status, const Headers& headers, Body body, std::size_t length) override {
    if (!request_complete_ || draining_) keep_alive_ = false;
    Http1Framing framing;
    chunked_ = false;
    if (body == Body::kNone) {
      // The framing says "no body"; the length is what a GET would get.
      if (exchange_->head().method == "HEAD" && length > 0) {
        framing.body = Http1Head::Body::kLength;
        framing.content_length = length;
      }
    } else if (body == Body::kWhole) {
      framing.body = Http1Head::Body::kLength;
      framing.content_length = length;
    } else if (minor_version_ == 1) {
      framing.body = Http1Head::Body::kChunked;
      chunked_ = true;
    } else {
      keep_alive_ = false;  // the end of the connection is the end of the body
    }
    framing.keep_alive = keep_alive_;
    std::string bytes;
    append_http1_response(bytes, status, headers, framing);
    connection_->write(bytes);
  }

  void send_body(Buffer piece) override {
    if (!chunked_) return connection_->write(std::move(piece));
    std::string size;
    append_chunk_size(size, piece->size());
    connection_->write(size);
    connection_->write(std::move(piece));
    connection_->write(kChunkEnd);
  }

  void send_end() override {
    if (chunked_) connection_->write(kLastChunk);
    answer_complete_ = true;
    step_later();
  }

  void send_abort() override { end(); }

  std::size_t queued() const override { return connection_->queued(); }

  void may_end_now() override {
    if (draining_) step_later();
  }

  void body_wanted() override {
    if (std::exchange(expects_continue_, false) && exchange_ && !exchange_->started()) connection_->write(kContinue);
  }

  void body_consumed(std::size_t) override { step_later(); }

  ServerContext& context_;
  std::unique_ptr<Connection> connection_;
  std::function<void()> on_ended_;
  Http1Reader reader_;
  std::string ahead_;  // came, and not yet looked at
  std::unique_ptr<ServerExchange> exchange_;
  Scope scope_;  // the handler; before the exchange it works on
  Timer timer_;
  Timer step_;
  std::size_t queued_then_ = 0;
  int minor_version_ = 1;
  bool first_ = true;
  bool head_timed_ = true;  // the constructor's deadline is for the first head
  bool handler_done_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool request_complete_ = false;
  bool answer_complete_ = false;
  bool draining_output_ = false;
  bool draining_ = false;
  bool chunked_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ServerConnection> make_server_http1(ServerContext& context, std::unique_ptr<Connection> connection,
                                                    std::function<void()> on_ended) {
  return std::make_unique<ServerHttp1>(context, std::move(connection), std::move(on_ended));
}

}  // namespace tidemark::net
