#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/address.h"
#include "net/handshake.h"
#include "net/socket_connection.h"

namespace tidemark::net {
namespace {

// A unix socket whose backlog is full fails with EAGAIN and gives no event when there is room.
constexpr base::Duration kBacklogRetry = std::chrono::milliseconds(10);

Task<std::uint32_t> wait_writable(EventLoop& loop, int fd, base::Duration limit) {
  OneShot<std::uint32_t> ready(loop);
  FdWatch watch;
  watch = loop.watch(fd, kWritable, [&](std::uint32_t events) {
    watch.cancel();
    ready.give(events);
  });
  const Timer timer = loop.after(limit, [&] { ready.give(0); });
  co_return co_await ready;
}

Task<Result<Fd>> connect_socket(EventLoop& loop, SocketAddress address, base::Duration limit) {
  const auto deadline = loop.clock().monotonic() + limit;
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) co_return base::fail_errno(errno, "making a socket");
  if (address.family() != AF_UNIX) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  const auto too_late = [&] {
    return fail(ErrorKind::kDeadline, "connecting to ", address.text(), " did not finish within ",
                base::format_go_duration(limit));
  };
  for (;;) {
    if (connect(fd.get(), address.get(), address.size) == 0) co_return std::move(fd);
    const int error = errno;
    if (error == EINTR || error == EINPROGRESS) break;
    if (error != EAGAIN) co_return std::unexpected(socket_error(error, base::cat("connecting to ", address.text())));
    if (loop.clock().monotonic() + kBacklogRetry > deadline) co_return too_late();
    co_await loop.sleep(kBacklogRetry);
  }
  if (co_await wait_writable(loop, fd.get(), deadline - loop.clock().monotonic()) == 0) co_return too_late();
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) co_return std::unexpected(socket_error(error, base::cat("connecting to ", address.text())));
  co_return std::move(fd);
}

// Each address gets its share of the time that is left, so that one which swallows packets does not take it all.
Task<Result<Fd>> connect_to_any(EventLoop& loop, std::vector<SocketAddress> addresses, base::MonotonicTime deadline) {
  Result<Fd> result = fail(ErrorKind::kUnavailable, "the name has no address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto left = deadline - loop.clock().monotonic();
    if (i > 0 && left <= base::Duration(0)) break;
    result = co_await connect_socket(loop, addresses[i], left / static_cast<long>(addresses.size() - i));
    if (result) break;
  }
  co_return result;
}

Task<Result<std::unique_ptr<Connection>>> connect_to(EventLoop& loop, WorkerPool* workers, Url url,
                                                     std::shared_ptr<TlsClientContext> tls, base::Duration limit) {
  const auto deadline = loop.clock().monotonic() + limit;
  const bool is_unix = url.scheme == "unix";
  const bool is_v6 = url.host.find(':') != std::string::npos && !url.host.starts_with('[');
  Peer peer;
  peer.address = is_unix ? base::cat("unix:", url.host)
                 : is_v6 ? base::cat("[", url.host, "]:", url.port)
                         : base::cat(url.host, ":", url.port);

  std::vector<SocketAddress> addresses;
  if (is_unix) {
    TM_CO_TRY(const auto address, unix_address(url.host));
    addresses.push_back(address);
  } else {
    TM_CO_TRY(addresses, co_await resolve(loop, workers, url.host, url.port, limit));
  }
  auto connected = co_await connect_to_any(loop, std::move(addresses), deadline);
  if (!connected) co_return std::unexpected(std::move(connected).error());
  SocketAddress in_use;
  in_use.size = sizeof in_use.storage;
  if (getpeername(connected->get(), reinterpret_cast<sockaddr*>(&in_use.storage), &in_use.size) == 0) {
    peer.ip = in_use.ip();
  }
  if (!tls) {
    auto plain = make_plain_channel(std::move(*connected), peer.address);
    co_return make_socket_connection(loop, std::move(plain), std::move(peer), nullptr);
  }

  std::string host = is_unix ? "localhost" : url.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  TM_CO_TRY(auto channel, make_tls_client_channel(std::move(*connected), peer.address, *tls, host));
  OneShot<Result<std::unique_ptr<Channel>>> shaken(loop);
  Handshake handshake(loop, std::move(channel), peer.address, deadline - loop.clock().monotonic(),
                      [&](auto result) { shaken.give(std::move(result)); });
  auto done = co_await shaken;
  if (!done) co_return std::unexpected(std::move(done).error());
  co_return make_socket_connection(loop, std::move(*done), std::move(peer), nullptr);
}

}  // namespace

// Not a coroutine itself: the URL is copied before the task is started.
Task<Result<std::unique_ptr<Connection>>> connect(EventLoop& loop, WorkerPool* workers, const Url& url,
                                                  std::shared_ptr<TlsClientContext> tls, base::Duration limit) {
  return connect_to(loop, workers, url, std::move(tls), limit);
}

}  // namespace tidemark::net
