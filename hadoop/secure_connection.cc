#include "hadoop/secure_connection.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "hadoop/rpc_frames.h"

namespace tidemark::hadoop {
namespace {

// Largest piece before wrapping, even if the server accepts more: requests are small, and Hadoop's clients send no more
// at once.
constexpr std::uint32_t kPieceMax = 64 * 1024;
constexpr std::size_t kWaitingBytesMax = kAnswerBytesMax;  // of protected pieces that are not opened yet

// A SASL message in a frame; an error if the server refuses or sends something else.
Result<SaslMessage> sasl_in(std::string_view frame) {
  TM_TRY(const Answer answer, read_answer(frame));
  if (answer.refusal) return fail(to_error(*answer.refusal));
  if (answer.call_id != kSaslCall) {
    return fail(ErrorKind::kInvalid, "an answer to call ", answer.call_id, " where SASL was wanted");
  }
  return decode_sasl(answer.response);
}

// Callbacks run from the loop and never inside a task of ours: the owner may destroy the connection in one, and the
// tasks with it.
class Protected : public std::enable_shared_from_this<Protected> {
 public:
  Protected(net::EventLoop& loop, std::unique_ptr<net::Connection> below)
      : loop_(loop), below_(std::move(below)), arrived_(loop), outgoing_(loop), incoming_(loop), scope_(loop) {}

  void begin(base::Duration limit) {
    below_->set_callbacks({
        .on_data =
            [weak = weak_from_this()](std::string_view bytes) {
              const auto self = weak.lock();
              return self && self->on_bytes(bytes);
            },
        .on_drained = [] {},
        .on_end =
            [weak = weak_from_this()](std::optional<Error> why) {
              if (const auto self = weak.lock()) {
                self->end(why ? std::move(*why)
                              : Error{ErrorKind::kUnavailable, "the server closed the connection", 0, 0});
              }
            },
    });
    late_ = loop_.after(limit, [weak = weak_from_this(), limit] {
      if (const auto self = weak.lock()) {
        self->end(
            Error{ErrorKind::kDeadline, base::cat("not agreed on within ", base::format_go_duration(limit)), 0, 0});
      }
    });
  }

  net::Task<Result<void>> shake(Gss& gss, Security security, base::Duration limit) {
    if (security.server.pattern.empty() && wants_host(security.server.principal)) {
      TM_CO_TRY(const std::string name, co_await gss.canonical_name(below_->peer().ip));
      security.server.principal = with_host(security.server.principal, name);
    }
    TM_CO_TRY(const std::string own, co_await gss.own_principal(limit));
    const std::size_t at = own.rfind('@');
    SaslExchange exchange(security.server, security.protections, at == own.npos ? "" : own.substr(at + 1));
    below_->write(std::string_view(preamble(Authentication::kSasl)));
    send(SaslExchange::begin());
    for (;;) {
      TM_CO_TRY(const SaslMessage message, co_await next_message());
      auto next = exchange.on_message(message);
      while (next && next->what != SaslExchange::Next::Do::kSend && next->what != SaslExchange::Next::Do::kDone) {
        next = co_await ask(gss, exchange, std::move(*next));
      }
      if (!next) co_return fail(std::move(next).error());
      if (next->what == SaslExchange::Next::Do::kDone) break;
      send(next->message);
    }
    co_return co_await settle(exchange);
  }

  void set_callbacks(net::Connection::Callbacks callbacks) {
    callbacks_ = std::make_shared<net::Connection::Callbacks>(std::move(callbacks));
    if (protection_ != Protection::kAuthentication) {
      scope_.spawn(wrap_all());
      scope_.spawn(unwrap_all());
    }
    if (ended_) deliver_later();
  }

  void write(std::string_view bytes) {
    if (protection_ == Protection::kAuthentication) {
      below_->write(bytes);
      return;
    }
    to_wrap_.append(bytes);
    outgoing_.set();
  }

  void resume_reading() {
    if (!std::exchange(paused_, false)) return;
    deliver_later();
    below_->resume_reading();
  }

  net::Connection& below() { return *below_; }
  std::size_t queued() const { return to_wrap_.size() + below_->queued(); }

  // The owner is gone, perhaps with the Kerberos client. A running callback keeps only this object alive.
  void abandon() {
    callbacks_.reset();
    ended_ = true;
    scope_.clear();
    context_.reset();
  }

 private:
  using Next = SaslExchange::Next;

  bool confidential() const { return protection_ == Protection::kPrivacy; }

  void send(const SaslMessage& message) {
    std::string out;
    append_sasl(out, message);
    below_->write(std::string_view(out));
  }

  net::Task<Result<Next>> ask(Gss& gss, SaslExchange& exchange, Next next) {
    if (!context_) context_ = gss.context(exchange.server_principal());
    if (next.what == Next::Do::kStep) {
      TM_CO_TRY(GssStep stepped, co_await context_->step(std::move(next.bytes)));
      co_return exchange.on_stepped(std::move(stepped.token), stepped.complete);
    }
    if (next.what == Next::Do::kUnwrap) {
      TM_CO_TRY(const GssOpened opened, co_await context_->unwrap(std::move(next.bytes)));
      co_return exchange.on_unwrapped(opened.bytes);
    }
    TM_CO_TRY(std::string token, co_await context_->wrap(std::move(next.bytes), false));
    co_return exchange.on_wrapped(std::move(token));
  }

  net::Task<Result<SaslMessage>> next_message() {
    while (messages_.empty() && !ended_) {
      arrived_.clear();
      co_await arrived_.wait();
    }
    if (messages_.empty()) co_return fail(*ended_with_);
    SaslMessage message = std::move(messages_.front());
    messages_.pop_front();
    co_return message;
  }

  net::Task<Result<void>> settle(const SaslExchange& exchange) {
    if (!messages_.empty()) co_return fail(ErrorKind::kInvalid, "SASL: unexpected further message of the server");
    if (exchange.protection() != Protection::kAuthentication) {
      const bool hidden = exchange.protection() == Protection::kPrivacy;
      TM_CO_TRY(piece_max_, co_await context_->wrap_max(exchange.send_max(), hidden));
      if (piece_max_ == 0) {
        co_return fail(ErrorKind::kInvalid, "SASL: the server takes tokens of ", exchange.send_max(),
                       " bytes, in which nothing goes");
      }
      piece_max_ = std::min(piece_max_, kPieceMax);
    }
    protection_ = exchange.protection();
    late_.cancel();
    co_return Result<void>();
  }

  bool on_bytes(std::string_view bytes) {
    if (ended_) return false;
    if (callbacks_ && protection_ == Protection::kAuthentication) {
      const auto kept = callbacks_;
      paused_ = !kept->on_data(bytes);
      return !paused_;
    }
    frames_.append(bytes);
    for (;;) {
      const auto frame = frames_.next();
      if (frame && !*frame) return true;
      const auto taken = frame ? take(**frame) : fail(frame.error());
      if (taken) continue;
      end(taken.error());
      return false;
    }
  }

  Result<void> take(std::string_view frame) {
    TM_TRY(SaslMessage message, sasl_in(frame));
    if (!callbacks_) {
      if (messages_.size() == static_cast<std::size_t>(kSaslRoundsMax)) {
        return fail(ErrorKind::kInvalid, "SASL: too many messages at once");
      }
      messages_.push_back(std::move(message));
      arrived_.set();
      return {};
    }
    if (message.state != SaslState::kWrap || !message.token) {
      return fail(ErrorKind::kDenied, "a message that is not protected, where ", to_string(protection_),
                  " was agreed on");
    }
    waiting_bytes_ += message.token->size();
    if (waiting_bytes_ > kWaitingBytesMax) {
      return fail(ErrorKind::kExhausted, "more than ", kWaitingBytesMax, " protected bytes at once");
    }
    to_unwrap_.push_back(std::move(*message.token));
    incoming_.set();
    return {};
  }

  void end(Error why) {
    if (std::exchange(ended_, true)) return;
    ended_with_ = std::move(why);
    arrived_.set();
    if (callbacks_) deliver_later();
  }

  void deliver_later() {
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->deliver();
    });
  }

  // Delivers the unwrapped data before the end of the stream.
  void deliver() {
    while (callbacks_ && !opened_.empty() && !paused_) {
      const auto kept = callbacks_;
      const std::string bytes = std::move(opened_.front());
      opened_.pop_front();
      paused_ = !kept->on_data(bytes);
    }
    if (!callbacks_ || !ended_ || paused_ || !opened_.empty() || (waiting_bytes_ > 0 && !broken_)) return;
    const auto kept = std::move(callbacks_);
    callbacks_.reset();
    kept->on_end(ended_with_);
  }

  net::Task<void> wrap_all() {
    for (;;) {
      while (to_wrap_.empty()) {
        outgoing_.clear();
        co_await outgoing_.wait();
      }
      std::string piece = to_wrap_.substr(0, piece_max_);
      to_wrap_.erase(0, piece.size());
      auto token = co_await context_->wrap(std::move(piece), confidential());
      if (!token) {
        end(std::move(token).error().within("protecting what is sent"));
        co_return;
      }
      send({SaslState::kWrap, std::move(*token)});
    }
  }

  net::Task<void> unwrap_all() {
    for (;;) {
      while (to_unwrap_.empty()) {
        incoming_.clear();
        co_await incoming_.wait();
      }
      std::string token = std::move(to_unwrap_.front());
      to_unwrap_.pop_front();
      const std::size_t size = token.size();
      auto opened = co_await context_->unwrap(std::move(token));
      waiting_bytes_ -= size;
      if (opened && confidential() && !opened->confidential) {
        opened = fail(ErrorKind::kDenied, "a message in the clear, where privacy was agreed on");
      }
      if (!opened) {
        broken_ = true;
        end(std::move(opened).error().within("opening what was received"));
        deliver_later();
        co_return;
      }
      opened_.push_back(std::move(opened->bytes));
      deliver_later();
    }
  }

  net::EventLoop& loop_;
  std::unique_ptr<net::Connection> below_;
  std::unique_ptr<GssContext> context_;
  std::shared_ptr<net::Connection::Callbacks> callbacks_;
  net::Timer late_;
  FrameReader frames_;
  std::deque<SaslMessage> messages_;
  net::Event arrived_;
  Protection protection_ = Protection::kAuthentication;
  std::uint32_t piece_max_ = 0;
  std::string to_wrap_;
  std::deque<std::string> to_unwrap_;
  std::deque<std::string> opened_;
  std::size_t waiting_bytes_ = 0;  // in to_unwrap_, and of the one that is being opened
  net::Event outgoing_, incoming_;
  bool paused_ = false;
  bool broken_ = false;  // nothing more can be opened
  bool ended_ = false;
  std::optional<Error> ended_with_;
  net::Scope scope_;  // last: its tasks use everything above
};

class SecureConnection : public net::Connection {
 public:
  explicit SecureConnection(std::shared_ptr<Protected> core) : core_(std::move(core)) {}
  ~SecureConnection() override { core_->abandon(); }
  SecureConnection(const SecureConnection&) = delete;
  SecureConnection& operator=(const SecureConnection&) = delete;

  void set_callbacks(Callbacks callbacks) override { core_->set_callbacks(std::move(callbacks)); }
  void write(std::string_view bytes) override { core_->write(bytes); }
  void write(net::Buffer bytes) override {
    if (bytes) core_->write(std::string_view(*bytes));
  }
  std::size_t queued() const override { return core_->queued(); }
  void resume_reading() override { core_->resume_reading(); }
  void close_after_write() override { core_->below().close_after_write(); }
  std::string_view alpn() const override { return ""; }
  const net::Peer& peer() const override { return core_->below().peer(); }

 private:
  std::shared_ptr<Protected> core_;
};

}  // namespace

net::Task<Result<std::unique_ptr<net::Connection>>> secure(net::EventLoop& loop,
                                                           std::unique_ptr<net::Connection> connection, Gss& gss,
                                                           Security security, base::Duration limit) {
  const auto core = std::make_shared<Protected>(loop, std::move(connection));
  core->begin(limit);
  auto shaken = co_await core->shake(gss, std::move(security), limit);
  if (!shaken) co_return fail(std::move(shaken).error());
  co_return std::make_unique<SecureConnection>(core);
}

}  // namespace tidemark::hadoop
