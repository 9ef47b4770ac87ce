#include "hadoop/negotiate.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr int kUnauthorized = 401;
constexpr std::string_view kScheme = "Negotiate";
constexpr std::string_view kCookie = "hadoop.auth=";

// The text after the scheme, "" without a text. nullopt: another scheme.
std::optional<std::string_view> negotiate_of(std::string_view value) {
  value = base::trim(value);
  if (!value.starts_with(kScheme)) return std::nullopt;
  const std::string_view rest = value.substr(kScheme.size());
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  return base::trim(rest);
}

std::optional<std::string_view> negotiated(const net::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (name != "www-authenticate") continue;
    if (const auto token = negotiate_of(value)) return token;
  }
  return std::nullopt;
}

// Name and value, without the words on how long a browser is to keep it.
std::string cookie_of(const net::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (name == "set-cookie" && value.starts_with(kCookie)) return value.substr(0, value.find(';'));
  }
  return {};
}

}  // namespace

NegotiatingTransport::NegotiatingTransport(net::EventLoop& loop, net::HttpTransport& transport, MakeGss gss,
                                           std::string server)
    : loop_(loop), transport_(transport), make_gss_(std::move(gss)), server_(std::move(server)) {}

net::Task<Result<net::HttpResponse>> NegotiatingTransport::fetch(net::HttpRequest request, base::Duration limit) {
  const base::MonotonicTime end = loop_.clock().monotonic() + limit;
  net::HttpRequest first = request;
  if (!cookie_.empty()) first.headers.set("cookie", cookie_);
  TM_CO_TRY(net::HttpResponse answer, co_await transport_.fetch(std::move(first), limit));
  if (answer.status != kUnauthorized || !negotiated(answer.headers)) co_return answer;
  cookie_.clear();
  co_return co_await prove_and_fetch(std::move(request), end - loop_.clock().monotonic());
}

net::Task<Result<net::HttpResponse>> NegotiatingTransport::prove_and_fetch(net::HttpRequest request,
                                                                           base::Duration limit) {
  const base::MonotonicTime end = loop_.clock().monotonic() + limit;
  if (!gss_) gss_ = make_gss_(loop_);
  TM_CO_TRY(const std::string us, co_await gss_->own_principal(limit));
  const std::unique_ptr<GssContext> context = gss_->context(server_);
  TM_CO_TRY(const GssStep ours, co_await context->step(""));
  request.headers.set("authorization", base::cat(kScheme, " ", base::base64_encode(ours.token)));
  TM_CO_TRY(net::HttpResponse answer, co_await transport_.fetch(std::move(request), end - loop_.clock().monotonic()));
  if (answer.status == kUnauthorized) {
    co_return fail(ErrorKind::kDenied, "it does not take the ticket of ", us, " for ", server_,
                   ": is that the principal of its web address?");
  }
  const auto token = negotiated(answer.headers);
  const auto theirs = token ? base::base64_decode(*token) : std::nullopt;
  if (!theirs || theirs->empty()) co_return fail(ErrorKind::kDenied, "the server did not authenticate as ", server_);
  if (auto proved = co_await context->step(*theirs); !proved || !proved->complete) {
    co_return fail(ErrorKind::kDenied, "the server did not authenticate as ", server_,
                   proved ? "" : base::cat(": ", proved.error().message));
  }
  cookie_ = cookie_of(answer.headers);
  co_return answer;
}

net::Task<Result<std::unique_ptr<net::HttpStream>>> NegotiatingTransport::open(net::HttpRequest request,
                                                                               base::Duration limit) {
  return transport_.open(std::move(request), limit);
}

}  // namespace tidemark::hadoop
