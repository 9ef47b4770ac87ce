#include "net/http_server.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/http_server_connection.h"
#include "net/listening.h"
#include "net/tls_context.h"

namespace tidemark::net {
namespace {

class Server final : public HttpServer {
 public:
  Server(EventLoop& loop, base::Log log, HttpServerConfig config, HttpHandler handler)
      : context_{loop, std::move(log), std::move(config), std::move(handler)}, all_gone_(loop) {}

  // Without a socket it listens where the configuration says.
  Result<void> open(Fd socket) {
    const HttpServerConfig& config = context_.config;
    if (config.tls) {
      TM_TRY(tls_, make_tls_server_context(*config.tls, context_.loop.clock()));
    }
    if (!socket) {
      TM_TRY(socket, listen_socket(config.listen, config.unix_mode));
    }
    listener_ =
        accept_on(std::move(socket), context_.loop, context_.log,
                  [this](std::unique_ptr<Connection> connection) { welcome(std::move(connection)); },
                  {.tls = tls_, .handshake_limit = config.head_timeout, .connections_max = config.connections_max});
    address_ = listener_->address();
    port_ = listener_->port();
    return {};
  }

  std::string address() const override { return address_; }
  std::uint16_t port() const override { return port_; }
  std::size_t connections() const override { return connections_.size(); }

  Result<void> use_certificate(std::string certificate_pem, std::string key_pem) override {
    TM_CHECK(tls_ != nullptr, "a certificate is for a server under TLS");
    return tls_->use(std::move(certificate_pem), std::move(key_pem));
  }

  Task<void> drain(base::Duration limit) override {
    draining_ = true;
    listener_.reset();
    for (const auto& [number, connection] : connections_) connection->drain();
    if (!connections_.empty()) {
      all_gone_.clear();
      co_await all_gone_.wait_for(limit);
    }
  }

 private:
  void welcome(std::unique_ptr<Connection> connection) {
    const std::uint64_t number = ++numbers_;
    const auto make = connection->alpn() == "h2" ? make_server_http2 : make_server_http1;
    connections_[number] = make(context_, std::move(connection), [this, number] { on_ended(number); });
    if (draining_) connections_[number]->drain();
  }

  // Called from inside the connection: destroy it in the next round.
  void on_ended(std::uint64_t number) {
    ended_.push_back(number);
    if (!reaper_.armed()) reaper_ = context_.loop.after(base::Duration(0), [this] { reap(); });
  }

  void reap() {
    for (const std::uint64_t number : std::exchange(ended_, {})) connections_.erase(number);
    if (connections_.empty()) all_gone_.set();
  }

  ServerContext context_;
  std::shared_ptr<TlsServerContext> tls_;  // null: in the clear
  std::string address_;
  std::uint16_t port_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<ServerConnection>> connections_;
  std::vector<std::uint64_t> ended_;
  std::uint64_t numbers_ = 0;
  bool draining_ = false;
  Event all_gone_;
  Timer reaper_;
  std::unique_ptr<Listener> listener_;  // goes first: it calls us
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(EventLoop& loop, base::Log log, HttpServerConfig config,
                                                       HttpHandler handler) {
  return serve_on({}, loop, std::move(log), std::move(config), std::move(handler));
}

Result<std::unique_ptr<HttpServer>> serve_on(Fd socket, EventLoop& loop, base::Log log, HttpServerConfig config,
                                             HttpHandler handler) {
  TM_CHECK(handler != nullptr, "a server answers");
  auto server = std::make_unique<Server>(loop, std::move(log), std::move(config), std::move(handler));
  TM_TRY_VOID(server->open(std::move(socket)));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tidemark::net
