// HTTP client toward one origin: HTTP/2 over TLS where the server offers it (ALPN; many streams on a connection, and a
// further one when it is full), HTTP/1.1 otherwise, in the clear only where the URL says http or unix. Connections are
// made on demand, kept, and made again.
//
// Every call has a deadline. A stream's deadline covers its head; each read has its own. Destroying a task or a stream
// cancels its request (RST_STREAM, or the connection is closed for HTTP/1.1). Errors: kUnavailable (no connection,
// broken, refused before being processed), kDeadline, kExhausted (a limit of ours), kInvalid (the peer speaks garbage).
// A status of 4xx or 5xx is an answer, not an error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"
#include "net/worker.h"

namespace tidemark::net {

// A response whose body is read in pieces. Flow control follows the reader: unread bytes are not acknowledged.
class HttpStream {
 public:
  virtual ~HttpStream() = default;  // cancels what is left
  virtual const HttpResponseHead& head() const = 0;
  // The next piece, as it came; nullopt at the proper end. A connection that breaks in the middle is kUnavailable.
  virtual Task<Result<std::optional<std::string>>> read(base::Duration limit) = 0;
};

// What speaks HTTP semantics: the client below over the network, an in-process server in embedded mode and tests.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  // The whole answer within `limit`.
  virtual Task<Result<HttpResponse>> fetch(HttpRequest request, base::Duration limit) = 0;
  // Done once the head is there.
  virtual Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request, base::Duration limit) = 0;
};

struct HttpClientConfig {
  Url url;
  TlsClientConfig tls;
  HttpLimits limits;
  base::Duration connect_timeout = std::chrono::seconds(10);
  // HTTP/2: a PING after this long without a byte; no answer within connect_timeout closes the connection, so that a
  // vanished peer does not hold watches for a quarter of an hour.
  base::Duration ping_interval = std::chrono::seconds(15);
  // For servers without HTTP/2, where a watch holds a whole connection. One is never for streams: see below.
  std::size_t http1_connections_max = 16;
  // A server allows so and so many streams a connection (100 to 250 are usual), and a watch holds one for ever.
  // The last connection is for fetch() alone, so that watches cannot keep everything else out.
  std::size_t http2_connections_max = 8;
  // A further HTTP/2 connection that had no request for this long is closed, at the latest after twice as long.
  base::Duration spare_idle_timeout = std::chrono::seconds(60);
  std::string user_agent = "tidemark";
};

class HttpClient final : public HttpTransport {
 public:
  // `workers` resolves names; addresses need none (may be null then).
  HttpClient(EventLoop& loop, WorkerPool* workers, HttpClientConfig config);
  ~HttpClient() override;

  Task<Result<HttpResponse>> fetch(HttpRequest request, base::Duration limit) override;
  Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request, base::Duration limit) override;

  std::size_t connections() const;  // open ones, for tests and metrics
  void close_idle_connections();    // the next request makes a new one

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tidemark::net
