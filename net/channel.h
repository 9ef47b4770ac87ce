// The bytes of one connected socket, in the clear or under TLS: non-blocking calls that say what they wait for.
// Internal to net/; the state machine above it is connection.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "net/http_server.h"

namespace tidemark::net {

class TlsClientContext;
class TlsServerContext;

struct Transfer {
  enum class State { kDone, kWantRead, kWantWrite, kEnd, kFailed };
  State state = State::kDone;
  std::size_t bytes = 0;  // of kDone
  bool more = false;      // of a read: there may be more without another event of the descriptor
  Error error;            // of kFailed
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int fd() const = 0;
  virtual Transfer handshake() = 0;
  virtual Transfer read(std::span<char> space) = 0;
  // Writes from the front, as much as goes at once. After kWant… the next call begins with the same bytes.
  virtual Transfer write(std::span<const std::string_view> pieces) = 0;
  virtual Transfer finish() = 0;  // sends close_notify; does not touch the socket
  virtual std::string_view alpn() const = 0;
  virtual void describe(Peer& peer) const = 0;  // adds data of the handshake
};

// `peer` is how messages call the other side.
std::unique_ptr<Channel> make_plain_channel(Fd fd, std::string peer);
Result<std::unique_ptr<Channel>> make_tls_client_channel(Fd fd, std::string peer, TlsClientContext& context,
                                                         std::string_view host);
Result<std::unique_ptr<Channel>> make_tls_server_channel(Fd fd, std::string peer, TlsServerContext& context);

// kUnavailable with the errno: "127.0.0.1:6443: Connection reset by peer".
Error socket_error(int errno_value, std::string_view peer);

}  // namespace tidemark::net
