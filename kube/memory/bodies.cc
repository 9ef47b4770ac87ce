#include "kube/memory/bodies.h"

#include <algorithm>

#include "base/text.h"
#include "kube/memory/answer.h"
#include "kube/memory/server.h"

namespace tidemark::kube::memory {

Bodies::Bodies(net::EventLoop& loop, const ServerConfig& config)
    : config_(config), budget_(loop, config.bodies_bytes_max, config.bodies_waiting_max) {}

net::Task<Answer<Body>> Bodies::read(net::HttpExchange& exchange) {
  // One that does not say how long it is may be as long as any.
  const auto declared = base::parse_uint(exchange.head().headers.get("content-length"));
  const std::size_t bytes = std::min<std::uint64_t>(declared.value_or(config_.body_bytes_max), config_.body_bytes_max);
  Body body;
  if (bytes > kSmall) {
    auto share = co_await budget_.take(bytes, config_.bodies_wait);
    if (!share) {
      ApiError error = plain_error(429, "TooManyRequests",
                                   base::cat("the requests that are being read would hold more than ",
                                             config_.bodies_bytes_max, " bytes, please try again later"));
      error.retry_after_s = 1;
      co_return refuse(std::move(error));
    }
    body.share = std::move(*share);
  }
  auto text = co_await exchange.body(config_.body_bytes_max);
  if (!text) co_return refuse(body_refusal(text.error(), config_.body_bytes_max));
  body.text = std::move(*text);
  body.share.resize(body.text.size());
  co_return body;
}

}  // namespace tidemark::kube::memory
