// One connection as a stream of bytes: TCP or unix socket, in the clear or under TLS, client or server side. Below
// HTTP, above the loop. Callback-driven; the HTTP layer turns it into coroutines.
//
// Callbacks come from the loop, never from inside a call of the owner, and the owner may destroy the connection inside
// any of them. Destroying it cuts what is queued, except after close_after_write(): that is still sent, then closed, in
// the background (bounded in time). After an orderly end of the peer's stream our direction stays open.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "net/http.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/tls.h"
#include "net/worker.h"

namespace tidemark::net {

class TlsClientContext;  // keeps the OpenSSL context and re-reads changed files
class TlsServerContext;
// Material that cannot be read or does not fit (a key of another certificate) is refused here, with the file named.
Result<std::shared_ptr<TlsClientContext>> make_tls_client_context(const TlsClientConfig&, const base::Clock&);
Result<std::shared_ptr<TlsServerContext>> make_tls_server_context(const TlsServerConfig&, const base::Clock&);

class Connection {
 public:
  struct Callbacks {
    // Some bytes came. Answers how it wants to go on: false stops reading until resume_reading().
    std::function<bool(std::string_view bytes)> on_data;
    // Everything given to write() has left for the kernel (the output queue fell to empty).
    std::function<void()> on_drained;
    // The end, once: nullopt is an orderly end of the peer's stream, an error anything else. No callback comes after.
    std::function<void(std::optional<Error>)> on_end;
  };

  virtual ~Connection() = default;
  virtual void set_callbacks(Callbacks callbacks) = 0;  // reading starts here
  virtual void write(std::string_view bytes) = 0;       // queued without bound: callers watch queued()
  virtual void write(Buffer bytes) = 0;                 // shared, not copied
  virtual std::size_t queued() const = 0;
  virtual void resume_reading() = 0;
  // Sends what is queued, then closes (TLS: with close_notify). Drops further received bytes; calls on_end when done.
  virtual void close_after_write() = 0;
  virtual std::string_view alpn() const = 0;  // "h2", "http/1.1" or ""
  virtual const Peer& peer() const = 0;
};

// Resolves (on `workers` where the host is a name), connects and shakes hands; done when bytes may flow.
// `tls` null: in the clear. ALPN offers h2 and http/1.1.
Task<Result<std::unique_ptr<Connection>>> connect(EventLoop& loop, WorkerPool* workers, const Url& url,
                                                  std::shared_ptr<TlsClientContext> tls, base::Duration limit);

// A stream socket that is connected already, such as one end of a socket pair. `name` is how messages call the other
// side.
std::unique_ptr<Connection> adopt(EventLoop& loop, Fd stream, std::string name);

class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::string address() const = 0;
  virtual std::uint16_t port() const = 0;
};

struct AcceptOptions {
  std::shared_ptr<TlsServerContext> tls;                      // null: in the clear
  base::Duration handshake_limit = std::chrono::seconds(10);  // a longer handshake is cut off
  std::size_t connections_max = 100;                          // at this many, accepting pauses
};

// `on_connection` gets connections with a finished handshake. A unix socket left behind by a dead process is replaced;
// one that answers is not. Out of descriptors (EMFILE) pauses accepting too and is logged, not spun on.
Result<std::unique_ptr<Listener>> listen_on(EventLoop& loop, base::Log log, std::string_view address,
                                            std::function<void(std::unique_ptr<Connection>)> on_connection,
                                            AcceptOptions options = {}, unsigned unix_mode = 0600);

}  // namespace tidemark::net
