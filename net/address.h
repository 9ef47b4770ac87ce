// Socket addresses as values, and names turned into them. Internal to net/.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;
  std::string ip() const;    // without the port, and without brackets; "" of a unix socket
  std::string text() const;  // "127.0.0.1:80", "[::1]:80", "unix:/run/x.sock"
};

std::optional<SocketAddress> ip_address(std::string_view host, std::uint16_t port);  // brackets around IPv6 or not
Result<SocketAddress> unix_address(std::string_view path);
// "127.0.0.1:0", "[::1]:80", "localhost:80", ":80" (every address of the machine), "unix:/run/x.sock"
Result<SocketAddress> listen_address(std::string_view text);

// Addresses of a host, in the order in which they are to be tried. A name needs `workers`, but for "localhost".
Task<Result<std::vector<SocketAddress>>> resolve(EventLoop& loop, WorkerPool* workers, std::string host,
                                                 std::uint16_t port, base::Duration limit);

}  // namespace tidemark::net
