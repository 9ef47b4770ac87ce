#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "net/deadline.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kAddressesMax = 16;  // of one name

SocketAddress from_sockaddr(const sockaddr* address, socklen_t size, std::uint16_t port) {
  SocketAddress made;
  made.size = std::min<socklen_t>(size, sizeof made.storage);
  memcpy(&made.storage, address, made.size);
  if (made.family() == AF_INET) reinterpret_cast<sockaddr_in*>(&made.storage)->sin_port = htons(port);
  if (made.family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&made.storage)->sin6_port = htons(port);
  return made;
}

using Addresses = Result<std::vector<SocketAddress>>;

Addresses look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) return fail(ErrorKind::kUnavailable, "resolving ", base::in_quotes(host), ": ", gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* next = found; next != nullptr && addresses.size() < kAddressesMax; next = next->ai_next) {
    addresses.push_back(from_sockaddr(next->ai_addr, next->ai_addrlen, port));
  }
  return addresses;
}

}  // namespace

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

std::string SocketAddress::ip() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, buffer, sizeof buffer);
  } else if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, buffer, sizeof buffer);
  }
  return buffer;
}

std::string SocketAddress::text() const {
  switch (family()) {
    case AF_INET:
      return base::cat(ip(), ":", port());
    case AF_INET6:
      return base::cat("[", ip(), "]:", port());
    default:
      return base::cat("unix:", reinterpret_cast<const sockaddr_un*>(&storage)->sun_path);
  }
}

std::optional<SocketAddress> ip_address(std::string_view host, std::uint16_t port) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string text(host);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    return from_sockaddr(reinterpret_cast<sockaddr*>(&four), sizeof four, port);
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    return from_sockaddr(reinterpret_cast<sockaddr*>(&six), sizeof six, port);
  }
  return std::nullopt;
}

Result<SocketAddress> unix_address(std::string_view path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "socket path ", base::in_quotes(path), " must have 1 to ",
                sizeof address.sun_path - 1, " bytes");
  }
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  SocketAddress made;
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  memcpy(&made.storage, &address, made.size);
  return made;
}

Result<SocketAddress> listen_address(std::string_view text) {
  if (text.starts_with("unix:")) return unix_address(text.substr(5));
  const auto colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : base::parse_uint(text.substr(colon + 1));
  if (!port || *port > 65535) {
    return fail(ErrorKind::kInvalid, "listen address ", base::in_quotes(text),
                " must be ADDRESS:PORT, [ADDRESS]:PORT, :PORT or unix:PATH");
  }
  std::string_view host = text.substr(0, colon);
  const bool bare_six = host.find(':') != std::string_view::npos && host.front() != '[';
  if (host.empty()) host = "::";
  if (host == "localhost") host = "127.0.0.1";
  const auto address = bare_six ? std::nullopt : ip_address(host, static_cast<std::uint16_t>(*port));
  if (!address) {
    return fail(ErrorKind::kInvalid, "listen address ", base::in_quotes(text), ": ", base::in_quotes(host),
                bare_six ? " is ambiguous; write [ADDRESS]:PORT" : " is not an IP address");
  }
  return *address;
}

Task<Addresses> resolve(EventLoop& loop, WorkerPool* workers, std::string host, std::uint16_t port,
                        base::Duration limit) {
  if (const auto address = ip_address(host, port)) co_return std::vector{*address};
  // Loopback by definition (RFC 6761), whatever a resolver says.
  if (base::lower(host) == "localhost") co_return std::vector{*ip_address("127.0.0.1", port), *ip_address("::1", port)};
  if (workers == nullptr) {
    co_return fail(ErrorKind::kInvalid, base::in_quotes(host),
                   " is a name, and only addresses can be reached from here");
  }
  auto looked_up = co_await within(loop, workers->run<Addresses>(loop, [host, port] { return look_up(host, port); }),
                                   limit, base::cat("resolving ", base::in_quotes(host)));
  if (!looked_up) co_return std::unexpected(std::move(looked_up).error());
  co_return std::move(*looked_up);
}

}  // namespace tidemark::net
