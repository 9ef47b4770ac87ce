#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/http_fields.h"
#include "net/http_server_connection.h"

namespace tidemark::net {

void HttpExchange::respond(int status, std::string_view content_type, std::string body) {
  Headers headers;
  headers.add("content-type", content_type);
  respond(status, std::move(headers), make_buffer(std::move(body)));
}

ServerExchange::ServerExchange(ServerContext& context, const Peer& peer, Outlet& outlet, HttpRequest head)
    : context_(context),
      peer_(peer),
      outlet_(outlet),
      head_(std::move(head)),
      arrived_(context.loop),
      room_(context.loop) {}

Task<void> ServerExchange::run() {
  co_await context_.handler(*this);
  if (state_ == State::kPieces) {
    state_ = State::kAnswered;
    aborted_ ? outlet_.send_abort() : outlet_.send_end();
  } else if (state_ == State::kSilent) {
    context_.log.error("a handler returned without an answer", {{"method", head_.method}, {"target", head_.target}});
    HttpExchange::respond(500, "text/plain", "no answer\n");
  }
}

void ServerExchange::end_at_drain() {
  TM_CHECK(state_ == State::kPieces, "end_at_drain() comes after start()");
  ends_at_drain_ = true;
  outlet_.may_end_now();
}

void ServerExchange::abort() {
  TM_CHECK(state_ == State::kPieces, "abort() comes after start()");
  aborted_ = true;
}

void ServerExchange::end_stream() {
  state_ = State::kAnswered;
  outlet_.send_end();
}

void ServerExchange::on_body(std::string_view bytes) {
  received_ += bytes.size();
  unconsumed_ += bytes.size();
  arrived_.set();
  // What is over the limit is dropped and not acknowledged: the sender stands still until it hears the answer.
  if (reading_ && body_.size() > body_bytes_max_) return;
  body_.append(bytes);
  if (reading_ && body_.size() <= body_bytes_max_) outlet_.body_consumed(std::exchange(unconsumed_, 0));
}

void ServerExchange::on_body_end() {
  body_complete_ = true;
  arrived_.set();
}

//   due = begin + grace + received / rate
base::MonotonicTime ServerExchange::body_due(base::MonotonicTime begin) const {
  const double earned_s = static_cast<double>(received_) / static_cast<double>(context_.config.body_rate_min);
  return begin + context_.config.body_grace +
         std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(earned_s));
}

Task<Result<std::string>> ServerExchange::body(std::size_t bytes_max) {
  const auto too_long = [&] {
    auto error = fail(ErrorKind::kExhausted, "the request's body is longer than ", bytes_max, " bytes");
    error.error().code = 413;
    return error;
  };
  const auto declared = parse_content_length(head_.headers.get("content-length"));
  if (declared && *declared > bytes_max) co_return too_long();

  const auto too_slow = [&](std::string why) {
    auto error = fail(ErrorKind::kDeadline, "the request's body ", why);
    error.error().code = 408;
    return error;
  };
  reading_ = true;
  body_bytes_max_ = bytes_max;
  if (!body_complete_) outlet_.body_wanted();
  if (body_.size() <= bytes_max && unconsumed_ > 0) outlet_.body_consumed(std::exchange(unconsumed_, 0));
  const base::MonotonicTime begin = context_.loop.clock().monotonic();
  while (!body_complete_ && body_.size() <= bytes_max) {
    const base::Duration left = body_due(begin) - context_.loop.clock().monotonic();
    if (left <= base::Duration(0)) {
      co_return too_slow(base::cat("comes too slowly: ", received_, " bytes so far, and less than ",
                                   context_.config.body_rate_min, " a second"));
    }
    const std::uint64_t before = received_;
    arrived_.clear();
    const base::Duration idle = context_.config.idle_timeout;
    if (!co_await arrived_.wait_for(std::min(idle, left)) && received_ == before && idle <= left)
      co_return too_slow("did not come");
  }
  if (body_.size() > bytes_max) co_return too_long();
  co_return std::exchange(body_, {});
}

bool ServerExchange::bodyless(int status) const {
  return head_.method == "HEAD" || status == 204 || status == 304 || status < 200;
}

void ServerExchange::respond(int status, Headers headers, Buffer body) {
  TM_CHECK(state_ == State::kSilent, "a request has one answer");
  state_ = State::kAnswered;
  if (!body) body = make_buffer("");
  if (const auto fine = check_fields(headers); !fine) {
    context_.log.error("an answer cannot be sent", {{"error", fine.error()}, {"target", head_.target}});
    status = 500;
    headers = {};
    body = make_buffer("");
  }
  if (bodyless(status)) {
    // A HEAD gets the length that a GET would have.
    outlet_.send_head(status, headers, Outlet::Body::kNone, body->size());
  } else {
    outlet_.send_head(status, headers, Outlet::Body::kWhole, body->size());
    if (!body->empty()) outlet_.send_body(std::move(body));
  }
  outlet_.send_end();
}

void ServerExchange::start(int status, Headers headers) {
  TM_CHECK(state_ == State::kSilent, "a request has one answer");
  if (const auto fine = check_fields(headers); !fine) {
    context_.log.error("an answer cannot be sent", {{"error", fine.error()}, {"target", head_.target}});
    status = 500;
    headers = {};
    drop_pieces_ = true;
  }
  state_ = State::kPieces;
  if (bodyless(status)) drop_pieces_ = true;
  outlet_.send_head(status, headers, drop_pieces_ ? Outlet::Body::kNone : Outlet::Body::kPieces, 0);
}

Task<Result<void>> ServerExchange::write(Buffer piece, base::Duration limit) {
  TM_CHECK(state_ == State::kPieces, "write() comes after start()");
  if (drop_pieces_) co_return Result<void>();
  if (piece && !piece->empty()) outlet_.send_body(std::move(piece));
  while (outlet_.queued() > kQueuedMax) {
    const std::uint64_t before = progress_;
    room_.clear();
    if (!co_await room_.wait_for(limit) && progress_ == before) {
      co_return fail(ErrorKind::kDeadline, "the reader took nothing for ", base::format_go_duration(limit));
    }
  }
  co_return Result<void>();
}

}  // namespace tidemark::net
