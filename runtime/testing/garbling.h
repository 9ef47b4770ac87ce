// A server in front of which some objects come out as its clients cannot read them; of lists, not of watches.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/http_client.h"

namespace tidemark::runtime::testing {

class Garbling final : public net::HttpTransport {
 public:
  Garbling(net::HttpTransport& behind, std::string from, std::string to)
      : behind_(behind), from_(std::move(from)), to_(std::move(to)) {}
  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    auto answer = co_await behind_.fetch(std::move(request), limit);
    if (!answer) co_return answer;
    for (std::size_t at = 0; (at = answer->body.find(from_, at)) != std::string::npos; at += to_.size()) {
      answer->body.replace(at, from_.size(), to_);
    }
    co_return answer;
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    return behind_.open(std::move(request), limit);
  }

 private:
  net::HttpTransport& behind_;
  std::string from_, to_;
};

}  // namespace tidemark::runtime::testing
