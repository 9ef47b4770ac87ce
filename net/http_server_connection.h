// What the two protocols of the server share. Internal to net/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/connection.h"
#include "net/http_server.h"

namespace tidemark::net {

// Of one server; outlives its connections.
struct ServerContext {
  EventLoop& loop;
  base::Log log;
  HttpServerConfig config;
  HttpHandler handler;
};

// One client. It ends by telling `on_ended` once, and is destroyed by its owner later, from the loop.
class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  virtual void drain() = 0;  // finish what runs, take nothing new, then end
};

std::unique_ptr<ServerConnection> make_server_http1(ServerContext& context, std::unique_ptr<Connection> connection,
                                                    std::function<void()> on_ended);
std::unique_ptr<ServerConnection> make_server_http2(ServerContext& context, std::unique_ptr<Connection> connection,
                                                    std::function<void()> on_ended);

// One request and its answer, the same for both protocols.
class ServerExchange final : public HttpExchange {
 public:
  // Where the answer goes and where the body comes from. Calls come from the handler's task or from inside on_body().
  class Outlet {
   public:
    virtual ~Outlet() = default;
    enum class Body { kNone, kWhole, kPieces };
    // kWhole: `length` bytes follow in one send_body(); kPieces: as many as there are.
    virtual void send_head(int status, const Headers& headers, Body body, std::size_t length) = 0;
    virtual void send_body(Buffer piece) = 0;
    virtual void send_end() = 0;
    virtual void send_abort() = 0;                      // instead of the end
    virtual std::size_t queued() const = 0;             // of what was sent, not yet gone
    virtual void may_end_now() = 0;                     // exchange.may_end() has become true
    virtual void body_wanted() = 0;                     // "100 Continue" where the client waits for it
    virtual void body_consumed(std::size_t bytes) = 0;  // the reader has them
  };

  ServerExchange(ServerContext& context, const Peer& peer, Outlet& outlet, HttpRequest head);

  // Runs the handler and finishes the answer; to be spawned once.
  Task<void> run();
  // The server is draining, or was when the request came. Whether the answer may end here: then the protocol destroys
  // the handler, from outside of it, and calls end_stream().
  bool may_end() const { return ends_at_drain_ && state_ == State::kPieces; }
  void end_stream();

  // Called by the protocol.
  void on_body(std::string_view bytes);
  void on_body_end();
  void on_progress() {  // the reader took something
    ++progress_;
    room_.set();
  }

  bool answered() const { return state_ == State::kAnswered; }
  bool started() const { return state_ != State::kSilent; }
  std::size_t unconsumed() const { return unconsumed_; }

  // HttpExchange.
  const HttpRequest& head() const override { return head_; }
  const Peer& peer() const override { return peer_; }
  Task<Result<std::string>> body(std::size_t bytes_max) override;
  using HttpExchange::respond;
  void respond(int status, Headers headers, Buffer body) override;
  void start(int status, Headers headers) override;
  Task<Result<void>> write(Buffer piece, base::Duration limit) override;
  void end_at_drain() override;
  void abort() override;

 private:
  enum class State { kSilent, kPieces, kAnswered };
  bool bodyless(int status) const;
  // Of a body that its handler has waited for since `begin`, with what has come of it.
  base::MonotonicTime body_due(base::MonotonicTime begin) const;

  ServerContext& context_;
  const Peer& peer_;
  Outlet& outlet_;
  HttpRequest head_;
  State state_ = State::kSilent;
  bool ends_at_drain_ = false;
  bool aborted_ = false;
  bool drop_pieces_ = false;  // the answer has no body, whatever the handler writes
  std::string body_;
  std::size_t body_bytes_max_ = 0;  // once reading_
  std::size_t unconsumed_ = 0;      // received by on_body() and not yet returned
  std::uint64_t received_ = 0;
  bool reading_ = false;
  bool body_complete_ = false;
  std::uint64_t progress_ = 0;
  Event arrived_;
  Event room_;
};

}  // namespace tidemark::net
