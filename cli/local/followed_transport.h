// A server that may come back at another address, as `tidemark up` does where it picks its port.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "net/http_client.h"

namespace tidemark::cli {

// If a server does not answer, the next request goes to the server that `connect` finds then. No request is sent twice,
// because the first one may have arrived.
class FollowedTransport final : public net::HttpTransport {
 public:
  using Connect = std::function<Result<std::unique_ptr<net::HttpTransport>>()>;
  FollowedTransport(std::unique_ptr<net::HttpTransport> first, Connect connect)
      : current_(std::move(first)), connect_(std::move(connect)) {}

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override;

 private:
  void look_again(const std::shared_ptr<net::HttpTransport>& used, const Error& why);

  std::shared_ptr<net::HttpTransport> current_;  // a call that is under way keeps its own
  Connect connect_;
};

}  // namespace tidemark::cli
