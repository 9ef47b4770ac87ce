#include "net/handshake.h"

#include <utility>

namespace tidemark::net {

Handshake::Handshake(EventLoop& loop, std::unique_ptr<Channel> channel, std::string peer, base::Duration limit,
                     Done done)
    : channel_(std::move(channel)), done_(std::move(done)) {
  // A connected socket is writable at once, so the first step comes in the next round on both sides.
  watch_ = loop.watch(channel_->fd(), kWritable, [this](std::uint32_t) { step(); });
  timer_ = loop.after(limit, [this, peer = std::move(peer), limit] {
    finish(
        fail(ErrorKind::kDeadline, peer, " did not finish the TLS handshake within ", base::format_go_duration(limit)));
  });
}

void Handshake::step() {
  auto shaken = channel_->handshake();
  switch (shaken.state) {
    case Transfer::State::kWantRead:
      return watch_.want(kReadable);
    case Transfer::State::kWantWrite:
      return watch_.want(kWritable);
    case Transfer::State::kDone:
      watch_.cancel();
      return finish(std::move(channel_));
    case Transfer::State::kEnd:
    case Transfer::State::kFailed:
      return finish(std::unexpected(std::move(shaken.error)));
  }
}

void Handshake::finish(Result<std::unique_ptr<Channel>> result) {
  watch_.cancel();
  channel_.reset();
  timer_.cancel();
  const auto done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace tidemark::net
