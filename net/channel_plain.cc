#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <utility>

#include "net/channel.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kPiecesMax = 16;  // a call

class PlainChannel final : public Channel {
 public:
  PlainChannel(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  int fd() const override { return fd_.get(); }
  Transfer handshake() override { return {}; }
  Transfer finish() override { return {}; }
  std::string_view alpn() const override { return ""; }
  void describe(Peer&) const override {}

  Transfer read(std::span<char> space) override {
    for (;;) {
      const ssize_t count = recv(fd_.get(), space.data(), space.size(), 0);
      if (count > 0) {
        const auto bytes = static_cast<std::size_t>(count);
        return {Transfer::State::kDone, bytes, bytes == space.size(), {}};
      }
      if (count == 0) return {Transfer::State::kEnd, 0, false, {}};
      if (errno != EINTR) return blocked_or_failed(Transfer::State::kWantRead);
    }
  }

  Transfer write(std::span<const std::string_view> pieces) override {
    iovec parts[kPiecesMax];
    const std::size_t count = std::min(pieces.size(), kPiecesMax);
    for (std::size_t i = 0; i < count; ++i) {
      parts[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    for (;;) {
      const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
      if (sent >= 0) return {Transfer::State::kDone, static_cast<std::size_t>(sent), false, {}};
      if (errno != EINTR) return blocked_or_failed(Transfer::State::kWantWrite);
    }
  }

 private:
  Transfer blocked_or_failed(Transfer::State want) const {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {want, 0, false, {}};
    return {Transfer::State::kFailed, 0, false, socket_error(errno, peer_)};
  }

  Fd fd_;
  std::string peer_;
};

}  // namespace

std::unique_ptr<Channel> make_plain_channel(Fd fd, std::string peer) {
  return std::make_unique<PlainChannel>(std::move(fd), std::move(peer));
}

Error socket_error(int errno_value, std::string_view peer) {
  Error error = base::fail_errno(errno_value, peer).error();
  error.kind = ErrorKind::kUnavailable;
  return error;
}

}  // namespace tidemark::net
