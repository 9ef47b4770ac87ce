#include "tests/faults/fault_transport.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::tests {
namespace {

constexpr std::uint64_t kWhole = 1000;
constexpr std::uint64_t kPiecesBeforeBreak = 20;
constexpr std::int64_t kStartingRetryAfterS = 1;

std::string status_body(int code, std::string_view reason) {
  return base::cat(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a fault of the )",
                   R"(test","reason":")", reason, R"(","code":)", code, "}");
}

// A watch that fails after some of its pieces.
class BrokenStream final : public net::HttpStream {
 public:
  enum class How { kEndInObject, kBreakInObject, kGarbage, kErrorGone, kErrorInternal, kErrorTooMany, kSilence, kEnd };
  static constexpr std::uint64_t kHows = 8;

  BrokenStream(net::EventLoop& loop, std::unique_ptr<net::HttpStream> inner, base::Random random)
      : loop_(loop),
        inner_(std::move(inner)),
        random_(random),
        how_(static_cast<How>(random_.below(kHows))),
        left_(random_.below(kPiecesBeforeBreak)) {}

  const net::HttpResponseHead& head() const override { return inner_->head(); }

  net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
    if (broken_) co_return broken_end();
    if (left_ == 0 && how_ == How::kSilence) {
      co_await loop_.sleep(limit);
      co_return fail(ErrorKind::kDeadline, "nothing came within the time given");
    }
    auto piece = co_await inner_->read(limit);
    if (!piece || !*piece) co_return piece;
    if (left_ > 0) {
      --left_;
      co_return piece;
    }
    broken_ = true;
    const std::string& whole = **piece;
    const std::string part = whole.substr(0, 1 + random_.below(whole.size()));
    switch (how_) {
      case How::kEndInObject:
      case How::kBreakInObject:
        co_return part;
      case How::kGarbage:
        co_return base::cat(part.substr(0, part.size() / 2), std::string_view("\0\xff}]<html>", 10), whole, "\n{]\n");
      case How::kErrorGone:
        co_return error_event(410, "Expired");
      case How::kErrorInternal:
        co_return error_event(500, "InternalError");
      case How::kErrorTooMany:
        co_return error_event(429, "TooManyRequests");
      case How::kSilence:
      case How::kEnd:
        break;
    }
    co_return std::optional<std::string>();
  }

 private:
  static std::string error_event(int code, std::string_view reason) {
    return base::cat(R"({"type":"ERROR","object":)", status_body(code, reason), "}\n");
  }
  Result<std::optional<std::string>> broken_end() const {
    if (how_ == How::kBreakInObject) return fail(ErrorKind::kUnavailable, "the connection broke");
    return std::optional<std::string>();
  }

  net::EventLoop& loop_;
  std::unique_ptr<net::HttpStream> inner_;
  base::Random random_;
  How how_;
  std::uint64_t left_;
  bool broken_ = false;
};

// A complete answer as a stream.
class AnswerStream final : public net::HttpStream {
 public:
  explicit AnswerStream(net::HttpResponse answer)
      : head_{answer.status, std::move(answer.headers)}, body_(std::move(answer.body)) {}
  const net::HttpResponseHead& head() const override { return head_; }
  net::Task<Result<std::optional<std::string>>> read(base::Duration) override {
    co_return std::exchange(body_, std::nullopt);
  }

 private:
  net::HttpResponseHead head_;
  std::optional<std::string> body_;
};

}  // namespace

std::size_t FaultTransport::note(const net::HttpRequest& request) {
  asked.push_back({loop_.clock().monotonic(), request.method, request.target, 0, 0});
  return asked.size() - 1;
}

FaultTransport::Drawn FaultTransport::answer(int status, std::string_view reason, std::int64_t retry_after_s) {
  Drawn drawn{Fault::kStatus, {}};
  drawn.answer.status = status;
  if (retry_after_s > 0) drawn.answer.headers.set("retry-after", base::cat(retry_after_s));
  drawn.answer.body = status_body(status, reason);
  asked.back().status = status;
  asked.back().retry_after_s = retry_after_s;
  return drawn;
}

FaultTransport::Drawn FaultTransport::draw(bool watch) {
  auto at = static_cast<int>(random_.below(kWhole));
  const auto hit = [&at](int share) { return (at -= share) < 0; };
  if (hit(rates.too_many)) {
    const auto seconds = static_cast<std::uint64_t>(rates.retry_after_max_s);
    return answer(429, "TooManyRequests", 1 + static_cast<std::int64_t>(random_.below(seconds)));
  }
  if (hit(rates.failed)) return answer(500, "InternalError", 0);
  if (hit(rates.unavailable)) return answer(503, "ServiceUnavailable", 0);
  if (hit(rates.starting)) return answer(503, "ServiceUnavailable", kStartingRetryAfterS);
  if (hit(rates.refused)) return {Fault::kRefused, {}};
  if (watch) {
    if (hit(rates.expired)) return answer(410, "Expired", 0);
    if (hit(rates.broken_watch)) return {Fault::kBrokenWatch, {}};
    return {};
  }
  if (hit(rates.lost)) return {Fault::kLost, {}};
  if (hit(rates.slow)) return {Fault::kSlow, {}};
  if (hit(rates.cut_body)) return {Fault::kCutBody, {}};
  return {};
}

net::Task<Result<net::HttpResponse>> FaultTransport::fetch(net::HttpRequest request, base::Duration limit) {
  const std::size_t place = note(request);
  Drawn drawn = draw(false);
  if (drawn.fault == Fault::kStatus) co_return std::move(drawn.answer);
  if (drawn.fault == Fault::kRefused) co_return fail(ErrorKind::kUnavailable, "connection refused");
  auto response = co_await inner_.fetch(std::move(request), limit);
  if (!response) co_return response;
  if (drawn.fault == Fault::kLost) co_return fail(ErrorKind::kUnavailable, "the connection broke before the answer");
  if (drawn.fault == Fault::kSlow) {
    co_await loop_.sleep(limit);
    co_return fail(ErrorKind::kDeadline, "no answer in time");
  }
  asked[place].status = response->status;
  if (drawn.fault == Fault::kCutBody && !response->body.empty()) {
    response->body.resize(random_.below(response->body.size()));
  }
  co_return response;
}

net::Task<Result<std::unique_ptr<net::HttpStream>>> FaultTransport::open(net::HttpRequest request,
                                                                         base::Duration limit) {
  const std::size_t place = note(request);
  Drawn drawn = draw(true);
  if (drawn.fault == Fault::kStatus) co_return std::make_unique<AnswerStream>(std::move(drawn.answer));
  if (drawn.fault == Fault::kRefused) co_return fail(ErrorKind::kUnavailable, "connection refused");
  auto stream = co_await inner_.open(std::move(request), limit);
  if (!stream) co_return stream;
  asked[place].status = (*stream)->head().status;
  if (drawn.fault != Fault::kBrokenWatch || asked[place].status != 200) co_return stream;
  co_return std::make_unique<BrokenStream>(loop_, std::move(*stream), random_.fork());
}

}  // namespace tidemark::tests
