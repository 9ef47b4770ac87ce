#include "net/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <deque>
#include <utility>

#include "net/socket_connection.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kReadBytes = 32 * 1024;  // on the stack, so that an idle connection holds no buffer
// What one connection may do before others have their turn.
constexpr int kReadsPerTurn = 4;
constexpr int kWritesPerTurn = 16;
constexpr std::size_t kPiecesPerWrite = 16;
// Small writes are joined into pieces of a TLS record's size; a shared buffer is joined up to the other figure.
constexpr std::size_t kJoinedMax = 16 * 1024;
constexpr std::size_t kSharedCopiedMax = 1024;
// After close_after_write(): without progress for this long the rest is given up.
constexpr base::Duration kCloseLimit = std::chrono::seconds(10);
// Bytes that still come while we close are read and dropped: closing over them would send a reset, which can destroy an
// answer before its reader has seen it.
constexpr base::Duration kLingerLimit = std::chrono::seconds(2);
constexpr std::size_t kLingerBytesMax = 8 * 1024 * 1024;

enum class Phase {
  kOpen,
  kClosing,    // close_after_write(): sending what is queued
  kLingering,  // all sent, waiting for the peer to close
  kClosed,
};

struct Piece {
  std::string own;
  Buffer shared;  // null: own
  std::string_view bytes() const { return shared ? std::string_view(*shared) : std::string_view(own); }
};

// Callbacks run from the loop only, never from inside a call of the owner. After each of them the owner may have
// destroyed the connection: check phase_.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(EventLoop& loop, std::unique_ptr<Channel> channel, Peer peer, std::shared_ptr<void> place)
      : loop_(loop),
        channel_(std::move(channel)),
        peer_(std::move(peer)),
        place_(std::move(place)),
        alpn_(channel_->alpn()) {}

  void begin() {
    watch_ = loop_.watch(channel_->fd(), 0, [weak = weak_from_this()](std::uint32_t events) {
      if (const auto self = weak.lock()) self->on_events(events);
    });
  }

  void set_callbacks(Connection::Callbacks callbacks) {
    if (ended_) return;
    callbacks_ = std::make_shared<Connection::Callbacks>(std::move(callbacks));
    reading_ = true;
    pump_later();
  }

  void write(std::string_view bytes) {
    if (bytes.empty() || !writable()) return;
    if (queue_.empty() || queue_.back().shared || queue_.back().own.size() + bytes.size() > kJoinedMax) {
      queue_.emplace_back();
    }
    queue_.back().own.append(bytes);
    queued_ += bytes.size();
    pump_later();
  }

  void write(Buffer bytes) {
    if (!bytes || bytes->size() <= kSharedCopiedMax) return bytes ? write(std::string_view(*bytes)) : void();
    if (!writable()) return;
    queued_ += bytes->size();
    queue_.push_back({{}, std::move(bytes)});
    pump_later();
  }

  std::size_t queued() const { return queued_; }
  const Peer& peer() const { return peer_; }
  std::string_view alpn() const { return alpn_; }

  void resume_reading() {
    if (phase_ != Phase::kOpen || ended_ || reading_) return;
    reading_ = true;
    pump_later();
  }

  void close_after_write() {
    if (phase_ != Phase::kOpen) return;
    phase_ = Phase::kClosing;
    arm_closer(kCloseLimit);
    pump_later();
  }

  // The owner is gone. Data of close_after_write() is still sent.
  void abandon() {
    ended_ = true;
    callbacks_.reset();  // one that runs just now is kept by its caller
    if (phase_ == Phase::kOpen) close();
  }

 private:
  bool writable() const { return phase_ == Phase::kOpen && !write_error_; }

  void pump_later() {
    if (pump_posted_ || phase_ == Phase::kClosed) return;
    pump_posted_ = true;
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->pump_posted_ = false;
        self->pump();
      }
    });
  }

  void on_events(std::uint32_t events) {
    if ((events & kHangup) != 0) {
      if (phase_ == Phase::kOpen && peer_ended_) return close();
      if (phase_ == Phase::kOpen && !reading_) {
        // The event repeats, and the bytes are not wanted yet: stop watching the descriptor.
        watch_.cancel();
        hung_up_ = true;
      }
    }
    pump();
  }

  void pump() {
    const auto self = shared_from_this();
    if (phase_ == Phase::kOpen || phase_ == Phase::kClosing) write_some();
    if (phase_ == Phase::kOpen) read_some();
    if (phase_ == Phase::kLingering) drop_some();
    if (phase_ != Phase::kClosed) watch_.want(wanted());
  }

  std::uint32_t wanted() const {
    std::uint32_t events = 0;
    if (phase_ == Phase::kLingering) return kReadable;
    if (phase_ == Phase::kOpen && reading_ && !peer_ended_) events |= read_wants_write_ ? kWritable : kReadable;
    if (!queue_.empty() || phase_ == Phase::kClosing) events |= write_wants_read_ ? kReadable : kWritable;
    return events;
  }

  void write_some() {
    for (int writes = 0; !queue_.empty(); ++writes) {
      if (writes == kWritesPerTurn) return pump_later();
      std::string_view pieces[kPiecesPerWrite];
      std::size_t count = 0;
      for (auto piece = queue_.begin(); piece != queue_.end() && count < kPiecesPerWrite; ++piece) {
        pieces[count] = piece->bytes().substr(count == 0 ? front_sent_ : 0);
        ++count;
      }
      auto sent = channel_->write({pieces, count});
      write_wants_read_ = sent.state == Transfer::State::kWantRead;
      if (sent.state == Transfer::State::kFailed || sent.state == Transfer::State::kEnd) {
        return write_failed(std::move(sent.error));
      }
      if (sent.state != Transfer::State::kDone) return;
      take(sent.bytes);
      if (phase_ == Phase::kClosing) arm_closer(kCloseLimit);
    }
    if (phase_ == Phase::kClosing) return finish();
    if (std::exchange(drain_due_, false) && callbacks_ && callbacks_->on_drained) {
      const auto callbacks = callbacks_;
      callbacks->on_drained();
    }
  }

  void take(std::size_t sent) {
    queued_ -= sent;
    sent += front_sent_;
    while (!queue_.empty() && sent >= queue_.front().bytes().size()) {
      sent -= queue_.front().bytes().size();
      queue_.pop_front();
    }
    front_sent_ = sent;
    drain_due_ = queue_.empty();
  }

  // The peer does not take bytes any more, but what it said before may explain why (an alert, an early answer): that is
  // read first, as far as the owner wants to read.
  void write_failed(Error error) {
    queue_.clear();
    queued_ = front_sent_ = 0;
    if (phase_ != Phase::kOpen || ended_ || !reading_) return end(std::move(error));
    write_error_ = std::move(error);
  }

  void read_some() {
    char space[kReadBytes];
    for (int reads = 0; reading_ && !peer_ended_; ++reads) {
      if (reads == kReadsPerTurn) return pump_later();
      auto got = channel_->read(space);
      read_wants_write_ = got.state == Transfer::State::kWantWrite;
      switch (got.state) {
        case Transfer::State::kDone: {
          const auto callbacks = callbacks_;
          if (!callbacks->on_data({space, got.bytes})) reading_ = false;
          if (phase_ != Phase::kOpen || !callbacks_) return;
          // A short read of a socket: wait for the next event.
          if (!got.more && !hung_up_ && !write_error_) return;
          break;
        }
        case Transfer::State::kWantRead:
        case Transfer::State::kWantWrite:
          if (write_error_) return end(std::move(*write_error_));
          if (hung_up_) return end(socket_error(ECONNRESET, peer_.address));
          return;
        case Transfer::State::kEnd:
          peer_ended_ = true;
          if (write_error_) return end(std::move(*write_error_));
          return end(std::nullopt);
        case Transfer::State::kFailed:
          return end(std::move(got.error));
      }
    }
    if (write_error_ && !reading_) end(std::move(*write_error_));
  }

  // The end of the peer's stream leaves our direction open; an error closes both.
  void end(std::optional<Error> error) {
    if (error) close();
    const auto callbacks = std::exchange(callbacks_, nullptr);
    reading_ = false;
    if (std::exchange(ended_, true) || !callbacks || !callbacks->on_end) return;
    callbacks->on_end(std::move(error));
  }

  void finish() {
    const auto told = channel_->finish();
    if (told.state == Transfer::State::kWantWrite) return;
    if (told.state == Transfer::State::kFailed || peer_ended_ || shutdown(channel_->fd(), SHUT_WR) != 0)
      return closed();
    phase_ = Phase::kLingering;
    arm_closer(kLingerLimit);
  }

  void drop_some() {
    char space[kReadBytes];
    for (int reads = 0; reads < kReadsPerTurn; ++reads) {
      // Below TLS: the bytes do not matter.
      const ssize_t count = recv(channel_->fd(), space, sizeof space, 0);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count <= 0) return closed();
      dropped_ += static_cast<std::size_t>(count);
      if (dropped_ > kLingerBytesMax) return closed();
    }
    pump_later();
  }

  // Also after the owner is gone: the timer keeps it alive.
  void arm_closer(base::Duration limit) {
    closer_ = loop_.after(limit, [self = shared_from_this()] {
      if (self->phase_ == Phase::kLingering) return self->closed();
      self->end(Error{ErrorKind::kDeadline, base::cat(self->peer_.address, " did not take the last bytes"), 0, 0});
    });
  }

  void closed() {
    close();
    end(std::nullopt);
  }

  void close() {
    if (std::exchange(phase_, Phase::kClosed) == Phase::kClosed) return;
    const auto self = shared_from_this();  // the timer may hold the last reference
    watch_.cancel();
    channel_.reset();
    closer_.cancel();
    place_.reset();
    queue_.clear();
    queued_ = front_sent_ = 0;
  }

  EventLoop& loop_;
  std::unique_ptr<Channel> channel_;
  Peer peer_;
  std::shared_ptr<void> place_;
  std::string alpn_;
  FdWatch watch_;
  Timer closer_;
  std::shared_ptr<Connection::Callbacks> callbacks_;
  std::deque<Piece> queue_;
  std::size_t front_sent_ = 0;  // of the first piece
  std::size_t queued_ = 0;
  std::size_t dropped_ = 0;
  std::optional<Error> write_error_;
  Phase phase_ = Phase::kOpen;
  bool reading_ = false;  // the owner wants bytes
  bool read_wants_write_ = false;
  bool write_wants_read_ = false;
  bool drain_due_ = false;
  bool pump_posted_ = false;
  bool peer_ended_ = false;
  bool hung_up_ = false;
  bool ended_ = false;  // on_end was called, or there is no owner
};

class SocketConnection final : public Connection {
 public:
  explicit SocketConnection(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~SocketConnection() override { core_->abandon(); }
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;

  void set_callbacks(Callbacks callbacks) override { core_->set_callbacks(std::move(callbacks)); }
  void write(std::string_view bytes) override { core_->write(bytes); }
  void write(Buffer bytes) override { core_->write(std::move(bytes)); }
  std::size_t queued() const override { return core_->queued(); }
  void resume_reading() override { core_->resume_reading(); }
  void close_after_write() override { core_->close_after_write(); }
  std::string_view alpn() const override { return core_->alpn(); }
  const Peer& peer() const override { return core_->peer(); }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<Connection> make_socket_connection(EventLoop& loop, std::unique_ptr<Channel> channel, Peer peer,
                                                   std::shared_ptr<void> place) {
  auto core = std::make_shared<Core>(loop, std::move(channel), std::move(peer), std::move(place));
  core->begin();
  return std::make_unique<SocketConnection>(std::move(core));
}

std::unique_ptr<Connection> adopt(EventLoop& loop, Fd stream, std::string name) {
  Peer peer;
  peer.address = name;
  const int flags = fcntl(stream.get(), F_GETFL);
  fcntl(stream.get(), F_SETFL, flags | O_NONBLOCK);
  return make_socket_connection(loop, make_plain_channel(std::move(stream), std::move(name)), std::move(peer), nullptr);
}

}  // namespace tidemark::net
