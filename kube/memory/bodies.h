// Reads requests' bodies, with a bound on what all of them hold together from the first byte until the write is staged:
// without it, one client's many streams could park as many bodies of the largest size.
#pragma once

#include <string>

#include "kube/memory/answer_budget.h"
#include "kube/memory/api_error.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::kube::memory {

struct ServerConfig;

struct Body {
  std::string text;
  AnswerBudget::Share share;
};

class Bodies {
 public:
  // `config` outlives it.
  Bodies(net::EventLoop& loop, const ServerConfig& config);
  // 413 where it is too long, 408 where it comes too slowly, 429 where there is no room for it within a while.
  net::Task<Answer<Body>> read(net::HttpExchange& exchange);

  // Bodies up to this size need no share: a stream's window receives as much before it is read.
  static constexpr std::size_t kSmall = 64 * 1024;  // bytes

 private:
  const ServerConfig& config_;
  AnswerBudget budget_;
};

}  // namespace tidemark::kube::memory
