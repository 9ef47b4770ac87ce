#include "gateway/authentication.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::size_t kFileBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kNegotiateBytesMax = 64 * 1024;
constexpr int kUnauthorized = 401;
constexpr int kUnknownPrincipal = 403;

std::unexpected<Error> unauthorized(std::string message) {
  return std::unexpected(Error{ErrorKind::kDenied, std::move(message), kUnauthorized, 0});
}

// The rest after the name of a scheme, which has no case.
std::optional<std::string_view> after_scheme(std::string_view authorization, std::string_view scheme) {
  if (authorization.size() <= scheme.size() || authorization[scheme.size()] != ' ' ||
      base::lower(authorization.substr(0, scheme.size())) != scheme) {
    return std::nullopt;
  }
  return base::trim(authorization.substr(scheme.size()));
}

}  // namespace

Authentication::Authentication(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, kube::Files files,
                               std::string file, std::shared_ptr<hadoop::GssAcceptor> acceptor,
                               base::Duration read_interval)
    : loop_(loop),
      log_(log.named("authentication")),
      files_(std::move(files)),
      file_(std::move(file)),
      acceptor_(std::move(acceptor)),
      read_interval_(read_interval),
      refused_(metrics.counter("tidemark_gateway_unauthenticated_requests_total",
                               "Requests without a valid token or ticket.")) {}

Result<std::unique_ptr<Authentication>> Authentication::open(net::EventLoop& loop, const base::Log& log,
                                                             base::Registry& metrics, kube::Files files,
                                                             std::string file,
                                                             std::shared_ptr<hadoop::GssAcceptor> acceptor,
                                                             base::Duration read_interval) {
  auto made = std::unique_ptr<Authentication>(
      new Authentication(loop, log, metrics, std::move(files), std::move(file), std::move(acceptor), read_interval));
  TM_TRY_VOID(made->read());
  made->read_later();
  return made;
}

Result<void> Authentication::read() {
  TM_TRY(std::string text, files_.read(file_, kFileBytesMax));
  if (rules_ != nullptr && text == text_) return {};
  text_ = std::move(text);  // a wrong text is reported once
  auto rules = AccessRules::parse(text_);
  if (!rules) return fail(std::move(rules).error().within(file_));
  if (rules_ != nullptr) log_.info("access file read again", {{"file", file_}});
  rules_ = std::make_shared<const AccessRules>(*std::move(rules));
  return {};
}

void Authentication::read_later() {
  timer_ = loop_.after(read_interval_, [this] {
    if (const auto done = read(); !done) {
      log_.error("cannot use access file; the last good one stays in force", {{"error", done.error()}});
    }
    read_later();
  });
}

std::vector<std::string> Authentication::challenges() const {
  std::vector<std::string> out = {R"(Bearer realm="tidemark")", R"(Basic realm="tidemark")"};
  if (acceptor_) out.insert(out.begin(), "Negotiate");
  return out;
}

net::Task<Result<Authentication::Authenticated>> Authentication::check(std::string_view authorization) {
  if (authorization.empty()) co_return unauthorized("authentication is required: send a token");
  if (const auto token = after_scheme(authorization, "bearer")) {
    auto caller = rules_->by_token(*token);
    if (!caller) co_return unauthorized("unknown token");
    co_return Authenticated{*std::move(caller), ""};
  }
  if (const auto pair = after_scheme(authorization, "basic")) {
    const std::string text = base::base64_decode(*pair).value_or("");
    const auto colon = text.find(':');
    auto caller =
        colon == std::string::npos ? std::nullopt : rules_->by_token(std::string_view(text).substr(colon + 1));
    if (!caller || caller->user != text.substr(0, colon)) co_return unauthorized("unknown user or token");
    co_return Authenticated{*std::move(caller), ""};
  }
  const auto negotiate = after_scheme(authorization, "negotiate");
  if (!negotiate || !acceptor_) co_return unauthorized("this scheme of authentication is not supported here");
  auto token = base::base64_decode(*negotiate);
  if (!token || token->size() > kNegotiateBytesMax) co_return unauthorized("invalid Negotiate token");
  auto accepted = co_await acceptor_->accept(*std::move(token));
  if (!accepted) {
    if (accepted.error().kind != ErrorKind::kDenied) co_return fail(std::move(accepted).error());
    co_return unauthorized(std::move(accepted).error().message);
  }
  auto caller = rules_->by_principal(accepted->principal);
  if (!caller) {
    co_return fail(Error{ErrorKind::kDenied,
                         cat("principal ", accepted->principal, " belongs to no user of the gateway"),
                         kUnknownPrincipal, 0});
  }
  co_return Authenticated{*std::move(caller),
                          accepted->token.empty() ? "" : cat("Negotiate ", base::base64_encode(accepted->token))};
}

net::Task<Result<Authentication::Authenticated>> Authentication::authenticate(const net::HttpRequest& request) {
  auto answer = co_await check(request.headers.get("authorization"));
  if (!answer && answer.error().kind == ErrorKind::kDenied) refused_.add(1);
  co_return answer;
}

}  // namespace tidemark::gateway
