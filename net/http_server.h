// HTTP server: HTTP/1.1 and, over TLS, HTTP/2 by ALPN; TCP and unix sockets. A request is a coroutine of the handler;
// it is destroyed when its client goes away.
//
// Limits hold against hostile clients: head and body sizes, time to send a head and a body (slow loris), idle time,
// connections, streams a connection, bytes queued for a reader that does not read. A request that passes one gets 408,
// 413, 431 or 503, or its connection is closed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"

namespace tidemark::net {

// The peer, as far as the transport knows.
struct Peer {
  std::string address;                                 // "127.0.0.1:4711", or "unix"
  std::string ip;                                      // of a server that was connected to: the address in use
  std::optional<std::string> certificate_common_name;  // of a verified client certificate
  std::vector<std::string> certificate_organizations;
  struct UnixCredentials {
    int pid = 0;
    unsigned uid = 0;
    unsigned gid = 0;
  };
  std::optional<UnixCredentials> unix_credentials;
};

class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& head() const = 0;  // without the body
  virtual const Peer& peer() const = 0;
  // The whole request body; longer than `bytes_max` is kExhausted (and the caller answers 413), one that comes too
  // slowly is kDeadline (408).
  virtual Task<Result<std::string>> body(std::size_t bytes_max) = 0;
  // The whole answer at once. Content-length is set here.
  virtual void respond(int status, Headers headers, Buffer body) = 0;
  void respond(int status, std::string_view content_type, std::string body);

  // Or in pieces: start(), write() as often as wanted, and the end is when the handler returns.
  virtual void start(int status, Headers headers) = 0;
  // Done when no more than kQueuedMax bytes wait for this reader; kDeadline when it did not read for `limit`.
  virtual Task<Result<void>> write(Buffer piece, base::Duration limit) = 0;
  static constexpr std::size_t kQueuedMax = 64 * 1024;

  // After start(): an answer without an end of its own, whole after every piece (a watch). A draining server ends it
  // properly, after the pieces it has, and destroys its handler; without this word it waits for the handler.
  virtual void end_at_drain() {}

  // After start(): the written part is incomplete and stays so. When the handler returns, the answer is aborted, so
  // that the client does not take it as complete.
  virtual void abort() = 0;
};

// A handler that returns without an answer makes a 500.
using HttpHandler = std::function<Task<void>(HttpExchange&)>;

struct HttpServerConfig {
  std::string listen;  // "127.0.0.1:0" (a free port), "[::1]:80", or "unix:/run/x.sock"
  std::optional<TlsServerConfig> tls;
  unsigned unix_mode = 0600;
  HttpLimits limits;
  std::size_t connections_max = 4096;
  std::size_t streams_max = 2500;  // a connection
  base::Duration head_timeout = std::chrono::seconds(10);
  base::Duration idle_timeout = std::chrono::seconds(120);
  // A body that its handler waits for must come on: after `body_grace` at this many bytes a second on average.
  base::Duration body_grace = std::chrono::seconds(30);
  std::size_t body_rate_min = 16 * 1024;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> listen(EventLoop& loop, base::Log log, HttpServerConfig config,
                                                    HttpHandler handler);
  virtual ~HttpServer() = default;  // closes everything at once

  virtual std::string address() const = 0;  // with the port chosen
  virtual std::uint16_t port() const = 0;
  virtual std::size_t connections() const = 0;
  // Under TLS with material given as text: another certificate and key, from the next connection on. What cannot be
  // used is refused, and the old ones stay.
  virtual Result<void> use_certificate(std::string certificate_pem, std::string key_pem) = 0;
  // Stops accepting, asks clients to leave (GOAWAY, connection: close), ends what may be ended (end_at_drain()), waits
  // for the other running requests at most `limit`.
  virtual Task<void> drain(base::Duration limit) = 0;
};

}  // namespace tidemark::net
