// A transport that goes to another one, late, or fails or answers itself where a test says so.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "net/http_client.h"

namespace tidemark::operate::testing {

class FailingTransport final : public net::HttpTransport {
 public:
  FailingTransport(net::EventLoop& loop, net::HttpTransport& below) : loop_(loop), below_(below) {}

  std::function<std::optional<Error>(const net::HttpRequest&)> refuses;
  std::function<std::optional<net::HttpResponse>(const net::HttpRequest&)> answers;
  std::optional<base::MonotonicTime> streams_break_at;  // those that are open then
  base::Duration delay{0};                              // of each answer

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    if (auto error = ask(request)) co_return std::unexpected(std::move(*error));
    if (auto own = answers ? answers(request) : std::nullopt) co_return std::move(*own);
    if (delay >= limit) {
      co_await loop_.sleep(limit);
      co_return fail(ErrorKind::kDeadline, "no answer");
    }
    if (delay > base::Duration(0)) co_await loop_.sleep(delay);
    co_return co_await below_.fetch(std::move(request), limit - delay);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    if (auto error = ask(request)) co_return std::unexpected(std::move(*error));
    TM_CO_TRY(auto stream, co_await below_.open(std::move(request), limit));
    co_return std::make_unique<BreakingStream>(*this, std::move(stream));
  }

 private:
  class BreakingStream final : public net::HttpStream {
   public:
    BreakingStream(FailingTransport& owner, std::unique_ptr<net::HttpStream> below)
        : owner_(owner), opened_(owner.loop_.clock().monotonic()), below_(std::move(below)) {}
    const net::HttpResponseHead& head() const override { return below_->head(); }
    net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
      const auto breaks = owner_.streams_break_at;
      if (!breaks || *breaks < opened_) co_return co_await below_->read(limit);
      const base::Duration left = *breaks - owner_.loop_.clock().monotonic();
      if (left > base::Duration(0)) {
        auto piece = co_await below_->read(std::min(limit, left));
        if (piece || left > limit) co_return piece;
      }
      co_return fail(ErrorKind::kUnavailable, "the stream broke");
    }

   private:
    FailingTransport& owner_;
    base::MonotonicTime opened_;
    std::unique_ptr<net::HttpStream> below_;
  };

  std::optional<Error> ask(const net::HttpRequest& request) { return refuses ? refuses(request) : std::nullopt; }

  net::EventLoop& loop_;
  net::HttpTransport& below_;
};

}  // namespace tidemark::operate::testing
