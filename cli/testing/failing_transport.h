// A transport that goes to another one, late, or fails where a test says so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "net/http_client.h"

namespace tidemark::cli::testing {

class FailingTransport final : public net::HttpTransport {
 public:
  FailingTransport(net::EventLoop& loop, net::HttpTransport& below) : loop_(loop), below_(below) {}

  std::function<std::optional<Error>(const net::HttpRequest&)> refuses;
  base::Duration delay{0};  // of each answer

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    if (auto error = ask(request)) co_return std::unexpected(std::move(*error));
    if (delay >= limit) {
      co_await loop_.sleep(limit);
      co_return fail(ErrorKind::kDeadline, "no answer");
    }
    if (delay > base::Duration(0)) co_await loop_.sleep(delay);
    co_return co_await below_.fetch(std::move(request), limit - delay);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    if (auto error = ask(request)) co_return std::unexpected(std::move(*error));
    co_return co_await below_.open(std::move(request), limit);
  }

 private:
  std::optional<Error> ask(const net::HttpRequest& request) { return refuses ? refuses(request) : std::nullopt; }

  net::EventLoop& loop_;
  net::HttpTransport& below_;
};

}  // namespace tidemark::cli::testing
