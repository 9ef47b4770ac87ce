// HTTP without sockets: straight into a handler on the same loop. Tests, the simulator and the embedded mode speak to
// the API server through it, so that they use the same code as over the network.
#pragma once

#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::kube::memory {

class LocalTransport final : public net::HttpTransport {
 public:
  // Requests come from a peer with this common name, as if by a client certificate; "" is a stranger. The handler's
  // owner outlives the transport and its streams.
  LocalTransport(net::EventLoop& loop, net::HttpHandler handler, std::string user);
  ~LocalTransport() override;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override;

 private:
  net::EventLoop& loop_;
  net::HttpHandler handler_;
  std::string user_;
};

}  // namespace tidemark::kube::memory
