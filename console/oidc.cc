#include "console/oidc.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "console/session.h"

namespace tidemark::console {
namespace {

using base::cat;

constexpr std::string_view kPurpose = "console oidc login";
constexpr std::string_view kWellKnown = "/.well-known/openid-configuration";
// Lax: the browser must send it with the redirect from the issuer, which is another site.
constexpr std::string_view kAttributes = "; Path=/; Secure; HttpOnly; SameSite=Lax";
constexpr base::Duration kCallLimit = std::chrono::seconds(10);
constexpr base::Duration kRefreshLimit = 3 * kCallLimit;  // discovery, token and keys
constexpr std::size_t kSecretBytes = 32;                  // of state, nonce and verifier
constexpr std::size_t kCodeBytesMax = 4096;
constexpr std::size_t kSaidBytesMax = 200;  // of an error of the issuer, in a log

std::unexpected<OidcFailure> failed(std::string_view id, std::string detail) {
  return std::unexpected(OidcFailure{id, std::move(detail)});
}

std::string parameters(std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
  std::string out;
  for (const auto& [name, value] : list) {
    out += cat(out.empty() ? "" : "&", name, "=", net::percent_encode(value));
  }
  return out;
}

std::string redirect_uri(std::string_view host) {
  return cat("https://", host, OidcLogin::kCallbackPath);
}

std::string said(std::string_view text) {
  return base::in_quotes(base::utf8_prefix(text, kSaidBytesMax));
}

struct LoginState {
  std::string state, nonce, verifier;
};

// nullopt: there is none, it is not ours, or it is too old.
std::optional<LoginState> read_state(const net::Sealer& sealer, std::string_view cookies, base::WallTime now) {
  const auto sealed = cookie_in(cookies, OidcLogin::kCookie);
  const auto text = sealed ? sealer.open(*sealed, kPurpose) : std::nullopt;
  if (!text) return std::nullopt;
  const auto json = Json::parse(*text);
  const auto began = json ? base::parse_rfc3339(json->text_at("began")) : std::nullopt;
  if (!began || now - *began > OidcLogin::kLoginMax) return std::nullopt;
  return LoginState{std::string(json->text_at("state")), std::string(json->text_at("nonce")),
                    std::string(json->text_at("verifier"))};
}

}  // namespace

OidcLogin::OidcLogin(net::EventLoop& loop, net::Sealer sealer, OidcOptions options)
    : loop_(loop), sealer_(std::move(sealer)), options_(std::move(options)), scope_(loop) {}

std::string OidcLogin::ended_cookie() {
  return cat(kCookie, "=", kAttributes, "; Max-Age=0");
}

net::Task<std::expected<OidcLogin::Beginning, OidcFailure>> OidcLogin::begin(std::string host) {
  const auto document = co_await discovery();
  if (!document) co_return failed("issuer", document.error().message);
  const auto state = net::random_text(kSecretBytes), nonce = net::random_text(kSecretBytes),
             verifier = net::random_text(kSecretBytes);
  if (!state || !nonce || !verifier) co_return failed("state", "no randomness");
  const Json text = Json::object({{"state", Json(*state)},
                                  {"nonce", Json(*nonce)},
                                  {"verifier", Json(*verifier)},
                                  {"began", Json(base::format_rfc3339(loop_.clock().wall()))}});
  const auto sealed = sealer_.seal(text.dump(), kPurpose);
  if (!sealed) co_return failed("state", sealed.error().message);
  const std::string& endpoint = document->authorization_endpoint;
  // An issuer gives no refresh token for offline access unless the person agrees each time.
  const bool offline = std::ranges::find(options_.scopes, "offline_access") != options_.scopes.end();
  Beginning out;
  out.location = cat(endpoint, endpoint.find('?') == std::string::npos ? "?" : "&",
                     parameters({{"response_type", "code"},
                                 {"client_id", options_.client_id},
                                 {"redirect_uri", redirect_uri(host)},
                                 {"scope", base::join(options_.scopes, " ")},
                                 {"state", *state},
                                 {"nonce", *nonce},
                                 {"code_challenge", net::base64url(net::sha256(*verifier))},
                                 {"code_challenge_method", "S256"}}),
                     offline ? "&prompt=consent" : "");
  out.cookie = cat(kCookie, "=", *sealed, kAttributes,
                   "; Max-Age=", std::chrono::duration_cast<std::chrono::seconds>(kLoginMax).count());
  co_return out;
}

net::Task<std::expected<IssuerTokens, OidcFailure>> OidcLogin::finish(const net::HttpRequest& request) {
  const base::WallTime now = loop_.clock().wall();
  const auto target = net::parse_target(request.target);
  const auto login = read_state(sealer_, cookies_of(request.headers), now);
  if (!target || !login || login->state.empty() || target->get("state") != login->state) {
    co_return failed("state", "this browser began no login with this state, or began it too long ago");
  }
  // RFC 9207: an answer of another issuer.
  if (target->has("iss") && target->get("iss") != options_.issuer) {
    co_return failed("issuer", cat("the answer is of issuer ", said(target->get("iss"))));
  }
  if (target->has("error")) {
    co_return failed("issuer", cat(said(target->get("error")), ": ", said(target->get("error_description"))));
  }
  const std::string code(target->get("code"));
  if (code.empty() || code.size() > kCodeBytesMax) co_return failed("issuer", "its answer has no code");
  auto tokens = co_await tokens_for(parameters({{"grant_type", "authorization_code"},
                                                {"code", code},
                                                {"redirect_uri", redirect_uri(request.headers.get("host"))},
                                                {"code_verifier", login->verifier}}));
  if (!tokens) co_return failed("issuer", tokens.error().message);
  if (auto good = co_await check(tokens->id_token, login->nonce, ""); !good) {
    co_return std::unexpected(std::move(good).error());
  }
  co_return *std::move(tokens);
}

net::Task<std::expected<IssuerTokens, OidcFailure>> OidcLogin::refresh(std::string refresh_token, std::string subject) {
  const std::string hash = net::sha256(refresh_token);
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::erase_if(refreshes_,
                [&](const auto& each) { return each.second->outcome && now - each.second->at >= kRefreshKept; });
  if (!refreshes_.contains(hash) && refreshes_.size() >= kRefreshesKept) {
    co_return failed("issuer", "too many sessions ask at once");
  }
  auto& entry = refreshes_[hash];
  if (!entry) {
    entry = std::make_shared<Refresh>(loop_);
    // Not a part of this request: a browser that leaves must not lose the answer.
    scope_.spawn(run_refresh(entry, std::move(refresh_token), std::move(subject)));
  }
  const std::shared_ptr<Refresh> found = refreshes_[hash];
  if (!found->outcome) co_await found->done.wait_for(kRefreshLimit);
  if (!found->outcome) co_return failed("issuer", "it does not answer");
  co_return *found->outcome;
}

net::Task<void> OidcLogin::run_refresh(std::shared_ptr<Refresh> refresh, std::string refresh_token,
                                       std::string subject) {
  refresh->outcome = co_await refresh_once(std::move(refresh_token), std::move(subject));
  refresh->at = loop_.clock().monotonic();
  refresh->done.set();
}

net::Task<std::expected<IssuerTokens, OidcFailure>> OidcLogin::refresh_once(std::string refresh_token,
                                                                            std::string subject) {
  auto tokens = co_await tokens_for(parameters({{"grant_type", "refresh_token"}, {"refresh_token", refresh_token}}));
  if (!tokens) {
    const bool ended = tokens.error().kind == ErrorKind::kDenied;
    co_return failed(ended ? "ended" : "issuer", tokens.error().message);
  }
  if (auto good = co_await check(tokens->id_token, std::nullopt, std::move(subject)); !good) {
    co_return std::unexpected(std::move(good).error());
  }
  // An issuer without rotation does not give it again.
  if (tokens->refresh_token.empty()) tokens->refresh_token = std::move(refresh_token);
  co_return *std::move(tokens);
}

void OidcLogin::revoke(std::string refresh_token, std::function<void(const Result<void>&)> done) {
  scope_.spawn(run_revoke(std::move(refresh_token), std::move(done)));
}

net::Task<void> OidcLogin::run_revoke(std::string refresh_token, std::function<void(const Result<void>&)> done) {
  done(co_await revoke_once(std::move(refresh_token)));
}

net::Task<Result<void>> OidcLogin::revoke_once(std::string refresh_token) {
  TM_CO_TRY(const Discovery document, co_await discovery());
  if (document.revocation_endpoint.empty()) co_return Result<void>();
  std::string body = parameters({{"token", refresh_token}, {"token_type_hint", "refresh_token"}});
  TM_CO_TRY_VOID(co_await fetch(document.revocation_endpoint, of_client(document, std::move(body))));
  co_return Result<void>();
}

net::Task<std::expected<void, OidcFailure>> OidcLogin::check(std::string token, std::optional<std::string> nonce,
                                                             std::string subject) {
  IdTokenFault fault = IdTokenFault::kUnknownKey;
  for (const base::Duration life : {kDocumentLife, kKeysAgain}) {
    if (fault != IdTokenFault::kUnknownKey) break;
    const auto found = co_await keys(life);
    if (!found) co_return failed("issuer", found.error().message);
    fault = check_id_token(token, *found, {options_.issuer, options_.client_id, nonce, loop_.clock().wall(), subject});
  }
  if (fault != IdTokenFault::kNone) co_return failed("token", cat("ID token: ", to_string(fault)));
  co_return std::expected<void, OidcFailure>();
}

net::Task<Result<Discovery>> OidcLogin::discovery() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (discovery_ && now - discovery_->at < kDocumentLife) co_return discovery_->value;
  if (no_discovery_ && now - no_discovery_->at < kDiscoveryAgain) co_return std::unexpected(no_discovery_->value);
  std::string url = options_.issuer;
  while (url.ends_with('/')) url.pop_back();
  const auto text = co_await fetch(url + std::string(kWellKnown), {});
  auto parsed = text ? parse_discovery(*text, options_.issuer) : std::unexpected(text.error());
  if (!parsed) {
    Error error = std::move(parsed).error().within(cat("discovery of ", options_.issuer));
    no_discovery_ = Kept<Error>{error, loop_.clock().monotonic()};
    co_return std::unexpected(std::move(error));
  }
  discovery_ = Kept<Discovery>{*parsed, now};
  co_return *std::move(parsed);
}

net::Task<Result<std::vector<SigningKey>>> OidcLogin::keys(base::Duration life) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (keys_ && now - keys_->at < life) co_return keys_->value;
  TM_CO_TRY(const Discovery document, co_await discovery());
  TM_CO_TRY(const std::string text, co_await fetch(document.jwks_uri, {}));
  auto parsed = parse_keys(text);
  if (!parsed) co_return std::unexpected(std::move(parsed).error().within(cat("keys of ", options_.issuer)));
  keys_ = Kept<std::vector<SigningKey>>{*parsed, now};
  co_return *std::move(parsed);
}

net::HttpRequest OidcLogin::of_client(const Discovery& document, std::string body) const {
  net::HttpRequest request;
  request.method = "POST";
  request.headers.set("content-type", "application/x-www-form-urlencoded");
  request.body = std::move(body);
  const std::string client = parameters({{"client_id", options_.client_id}});
  if (options_.client_secret.empty()) {
    request.body += cat("&", client);
  } else if (document.secret_in_body) {
    request.body += cat("&", client, "&", parameters({{"client_secret", options_.client_secret}}));
  } else {
    request.headers.set("authorization",
                        cat("Basic ", base::base64_encode(cat(net::percent_encode(options_.client_id), ":",
                                                              net::percent_encode(options_.client_secret)))));
  }
  return request;
}

// kDenied: the issuer does not accept the grant. `grant` is the body of the request, without the client.
net::Task<Result<IssuerTokens>> OidcLogin::tokens_for(std::string grant) {
  TM_CO_TRY(const Discovery document, co_await discovery());
  TM_CO_TRY(const std::string text, co_await fetch(document.token_endpoint, of_client(document, std::move(grant))));
  const auto json = Json::parse(text);
  if (!json || json->text_at("id_token").empty()) {
    co_return fail(ErrorKind::kInvalid, "the issuer's token endpoint answered without id_token");
  }
  co_return IssuerTokens{std::string(json->text_at("id_token")), std::string(json->text_at("refresh_token"))};
}

net::Task<Result<std::string>> OidcLogin::fetch(std::string url, net::HttpRequest request) {
  const std::string_view whole = url;
  TM_CO_TRY(net::Url origin, net::parse_url(whole.substr(0, whole.find('?'))));
  const auto path = whole.find('/', whole.find("://") + 3);
  request.target = path == std::string_view::npos ? std::string("/") : std::string(whole.substr(path));
  request.headers.set("accept", "application/json");
  origin.path.clear();
  auto& transport = transports_[cat(origin.host, ":", origin.port)];
  if (!transport) transport = options_.transport_of(origin);
  const auto answer = co_await transport->fetch(std::move(request), kCallLimit);
  if (!answer) co_return std::unexpected(Error(answer.error()).within(cat("asking ", origin.host)));
  if (answer->status != 200) {
    const auto json = Json::parse(answer->body);
    // RFC 6749: 400 and 401 are refusals.
    const bool denied = answer->status == 400 || answer->status == 401;
    co_return fail(denied ? ErrorKind::kDenied : ErrorKind::kUnavailable, origin.host, " answered ", answer->status,
                   json ? cat(": ", said(json->text_at("error")), " ", said(json->text_at("error_description"))) : "");
  }
  co_return answer->body;
}

}  // namespace tidemark::console
