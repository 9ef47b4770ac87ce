#include "console/login.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/guard.h"

namespace tidemark::console {
namespace {

constexpr kube::Resource kSelfSubjectAccessReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                                   "SelfSubjectAccessReview", false};
constexpr base::Duration kReviewLimit = std::chrono::seconds(10);
constexpr base::Duration kMinute = std::chrono::minutes(1);
constexpr std::size_t kLoginBytesMax = 16 * 1024;

constexpr const char* kNotValid = "the API server does not accept this token, or does not accept it any more";

std::unexpected<Error> no_session(std::string message) {
  return std::unexpected(Error{ErrorKind::kDenied, std::move(message), 401, 0});
}

// Without the port.
std::string_view ip_of(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

net::Task<Result<bool>> may_read(kube::Client& client, ReadAccess access) {
  Json attributes = Json::object({{"verb", Json(access.verb)}, {"resource", Json(access.resource)}});
  if (!access.group.empty()) attributes["group"] = Json(access.group);
  if (!access.ns.empty()) attributes["namespace"] = Json(access.ns);
  if (!access.name.empty()) attributes["name"] = Json(access.name);
  const Json body = Json::object({{"apiVersion", "authorization.k8s.io/v1"},
                                  {"kind", "SelfSubjectAccessReview"},
                                  {"spec", Json::object({{"resourceAttributes", std::move(attributes)}})}});
  TM_CO_TRY(const std::string bytes,
            co_await client.create(kSelfSubjectAccessReviews, body.dump(), {}, "", kReviewLimit));
  TM_CO_TRY(const Json answer, Json::parse(bytes));
  const Json* allowed = answer.at("status", "allowed");
  co_return allowed != nullptr && allowed->get_bool().value_or(false);
}

std::unexpected<Error> may_not(std::string_view user, const ReadAccess& access) {
  return std::unexpected(
      Error{ErrorKind::kDenied,
            base::cat(user, " may not ", access.verb, " ", access.resource, access.name.empty() ? "" : " ", access.name,
                      "; the console shows its data only to those who may read it themselves"),
            403, 0});
}

std::int64_t seconds_in(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// `user`: null: not logged in.
Json session_json(Json user, const OidcLogin* oidc) {
  const auto issuer = oidc == nullptr ? Result<net::Url>(net::Url()) : net::parse_url(oidc->issuer());
  return Json::object({{"schema", 1},
                       {"login", true},
                       {"user", std::move(user)},
                       {"issuer", issuer && !issuer->host.empty() ? Json(issuer->host) : Json(nullptr)},
                       {"askSeconds", seconds_in(Login::kAskMax)}});
}

// When the page asks for its session again: half of the life that is left to a token which can be refreshed.
std::int64_t ask_seconds(const Session& session, base::WallTime now) {
  const auto facts = session.refresh_token.empty() ? std::nullopt : facts_of(session.token);
  if (!facts) return seconds_in(Login::kAskMax);
  return seconds_in(std::clamp((facts->expires - now) / 2, Login::kAskMin, Login::kAskMax));
}

// The page says what the word means; a text from outside is never in an address.
void send_to_page(net::HttpExchange& exchange, std::string_view refused, std::initializer_list<std::string> cookies) {
  net::Headers headers = answer_headers("text/plain; charset=utf-8", "no-store");
  headers.set("location", refused.empty() ? std::string("/") : base::cat("/?login=", refused));
  for (const auto& cookie : cookies) headers.add("set-cookie", cookie);
  exchange.respond(303, std::move(headers), net::make_buffer(""));
}

}  // namespace

Login::Login(net::EventLoop& loop, const base::Log& log, kube::Client& reviewer, base::Registry& metrics,
             net::Sealer sealer, ClientsOf clients_of, std::optional<OidcOptions> oidc)
    : loop_(loop),
      log_(log.named("login")),
      reviewer_(reviewer),
      sealer_(sealer),
      clients_of_(std::move(clients_of)),
      oidc_(oidc ? std::make_unique<OidcLogin>(loop, sealer_, *std::move(oidc)) : nullptr),
      logins_(metrics.counter("tidemark_console_logins_total", "Logins that succeeded.")),
      refused_(metrics.counter("tidemark_console_logins_refused_total", "Logins that were refused.")) {}

net::Task<void> Login::log_in(net::HttpExchange& exchange) {
  const std::string address(ip_of(exchange.peer().address));
  if (!may_try(address)) {
    refused_.add(1);
    respond_problem(exchange, 429, "too-many-logins", "too many logins within a minute; wait a minute");
    co_return;
  }
  const auto body = co_await exchange.body(kLoginBytesMax);
  const auto json = body ? Json::parse(*body) : std::unexpected(body.error());
  std::string token(json ? base::trim(json->text_at("token")) : std::string_view());
  if (token.empty() || token.find_first_of(" \t\r\n") != std::string::npos) {
    refused_.add(1);
    respond_problem(exchange, 400, "invalid", "expected {\"token\": …}, a token of the API server", "token");
    co_return;
  }
  const auto entered = co_await enter({std::move(token), ""}, address);
  if (!entered) {
    respond_login_error(exchange, entered.error());
    co_return;
  }
  net::Headers headers = answer_headers("application/json", "no-store");
  headers.set("set-cookie", entered->cookie);
  exchange.respond(200, std::move(headers), net::make_buffer(session_json(entered->user, oidc_.get()).dump()));
}

net::Task<Result<Login::Entered>> Login::enter(IssuerTokens tokens, std::string address) {
  const auto person = co_await review(tokens.id_token);
  if (!person) {
    refuse(address, person.error().message);
    co_return std::unexpected(person.error());
  }
  const base::WallTime now = loop_.clock().wall();
  auto cookie =
      session_cookie(sealer_, {person->name, std::move(tokens.id_token), std::move(tokens.refresh_token), now, now});
  if (!cookie) {
    refuse(address, cookie.error().message);
    co_return std::unexpected(std::move(cookie).error());
  }
  logins_.add(1);
  log_.info("login", {{"address", address}, {"user", person->name}});
  co_return Entered{person->name, *std::move(cookie)};
}

void Login::refuse(std::string_view address, std::string_view why) {
  refused_.add(1);
  log_.warn("login refused", {{"address", address}, {"error", why}});
}

bool Login::is_of_issuer(std::string_view path) const {
  return oidc_ != nullptr && (path == OidcLogin::kBeginPath || path == OidcLogin::kCallbackPath);
}

net::Task<void> Login::log_in_by_issuer(net::HttpExchange& exchange, std::string path) {
  const std::string address(ip_of(exchange.peer().address));
  if (path == OidcLogin::kCallbackPath) {
    if (may_try(address)) {
      co_await finish_by_issuer(exchange);
    } else {
      refused_.add(1);
      send_to_page(exchange, "often", {});
    }
    co_return;
  }
  const auto begun = co_await oidc_->begin(std::string(exchange.head().headers.get("host")));
  if (!begun) {
    refuse(address, begun.error().detail);
    co_return send_to_page(exchange, begun.error().id, {});
  }
  net::Headers headers = answer_headers("text/plain; charset=utf-8", "no-store");
  headers.set("location", begun->location);
  headers.set("set-cookie", begun->cookie);
  exchange.respond(303, std::move(headers), net::make_buffer(""));
}

net::Task<void> Login::finish_by_issuer(net::HttpExchange& exchange) {
  const std::string address(ip_of(exchange.peer().address));
  auto tokens = co_await oidc_->finish(exchange.head());
  if (!tokens) {
    refuse(address, tokens.error().detail);
    co_return send_to_page(exchange, tokens.error().id, {OidcLogin::ended_cookie()});
  }
  const auto entered = co_await enter(*std::move(tokens), address);
  if (!entered) co_return send_to_page(exchange, "account", {OidcLogin::ended_cookie()});
  send_to_page(exchange, "", {OidcLogin::ended_cookie(), entered->cookie});
}

void Login::log_out(net::HttpExchange& exchange) {
  const auto session = read_session(sealer_, cookies_of(exchange.head().headers), loop_.clock().wall());
  if (session && oidc_ != nullptr && !session->refresh_token.empty()) {
    oidc_->revoke(session->refresh_token, [log = log_, user = session->user](const Result<void>& done) {
      if (!done) log.warn("cannot revoke a refresh token", {{"user", user}, {"error", done.error().message}});
    });
  }
  net::Headers headers = answer_headers("application/json", "no-store");
  headers.set("set-cookie", ended_session_cookie());
  exchange.respond(200, std::move(headers), net::make_buffer(session_json(nullptr, oidc_.get()).dump()));
}

net::Task<void> Login::session(net::HttpExchange& exchange) {
  net::Headers headers = answer_headers("application/json", "no-store");
  Json answer = session_json(nullptr, oidc_.get());
  const base::WallTime now = loop_.clock().wall();
  auto session = read_session(sealer_, cookies_of(exchange.head().headers), now);
  if (session && !co_await refresh(*session)) {
    headers.set("set-cookie", ended_session_cookie());
  } else if (session) {
    if (const auto person = co_await review(session->token)) {
      answer["user"] = Json(person->name);
      answer["askSeconds"] = Json(ask_seconds(*session, now));
      session->renewed = now;
      if (const auto cookie = session_cookie(sealer_, *session)) headers.set("set-cookie", *cookie);
    } else if (person.error().code == 401) {
      headers.set("set-cookie", ended_session_cookie());
    } else {
      respond_login_error(exchange, person.error());
      co_return;
    }
  }
  exchange.respond(200, std::move(headers), net::make_buffer(answer.dump()));
}

net::Task<bool> Login::refresh(Session& session) {
  const auto facts = oidc_ == nullptr || session.refresh_token.empty() ? std::nullopt : facts_of(session.token);
  if (!facts || facts->expires - loop_.clock().wall() > kRefreshLead) co_return true;
  auto tokens = co_await oidc_->refresh(session.refresh_token, facts->subject);
  if (tokens) {
    session.token = std::move(tokens->id_token);
    session.refresh_token = std::move(tokens->refresh_token);
    co_return true;
  }
  log_.warn("cannot refresh the token of a session", {{"user", session.user}, {"error", tokens.error().detail}});
  co_return tokens.error().id == "issuer";  // it may answer next time; until then the token decides
}

net::Task<Result<Person>> Login::person(const net::HttpRequest& request) {
  auto session = read_session(sealer_, cookies_of(request.headers), loop_.clock().wall());
  if (!session) co_return no_session("log in first");
  co_return co_await review(std::move(session->token));
}

net::Task<Result<Person>> Login::review(std::string token) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const std::string hash = net::sha256(token);
  const auto known = reviewed_.find(hash);
  if (known != reviewed_.end() && now - known->second.at < kReviewLife) {
    co_return Person{known->second.user, known->second.clients.writes};
  }
  reviewed_.erase(hash);
  std::erase_if(not_valid_, [&](const auto& each) { return now - each.second >= kRefusalLife; });
  if (not_valid_.contains(hash)) co_return no_session(kNotValid);
  auto found = co_await user_of(token);
  if (!found) {
    if (found.error().code == 401 && not_valid_.size() < kReviewsKept) not_valid_.emplace(hash, now);
    co_return std::unexpected(std::move(found).error());
  }
  const std::string user = *std::move(found);
  PersonClients clients = clients_of_(token, user);
  for (const std::string_view resource : {"nodes", "pods"}) {
    const ReadAccess access{"list", "", resource, "", ""};
    TM_CO_TRY(const bool may, co_await may_read(*clients.asks, access));
    if (!may) co_return may_not(user, access);
  }
  while (reviewed_.size() >= kReviewsKept) {
    reviewed_.erase(std::ranges::min_element(reviewed_, {}, [](const auto& each) { return each.second.at; }));
  }
  Person person{user, clients.writes};
  reviewed_.insert_or_assign(hash, Reviewed{user, std::move(clients), now});
  co_return person;
}

net::Task<Result<void>> Login::check_read(const net::HttpRequest& request, ReadAccess access) {
  const auto session = read_session(sealer_, cookies_of(request.headers), loop_.clock().wall());
  const std::string hash = session ? net::sha256(session->token) : std::string();
  const std::string what = base::cat(access.verb, " ", access.resource, " ", access.ns, " ", access.name);
  auto known = reviewed_.find(hash);
  if (known == reviewed_.end()) co_return no_session("log in first");
  if (!known->second.may_read.contains(what)) {
    const auto asks = known->second.clients.asks;
    TM_CO_TRY(const bool may, co_await may_read(*asks, access));
    known = reviewed_.find(hash);  // it may have been dropped meanwhile
    if (known == reviewed_.end()) co_return no_session("log in again");
    known->second.may_read.emplace(what, may);
  }
  if (!known->second.may_read.at(what)) co_return may_not(known->second.user, access);
  co_return Result<void>();
}

net::Task<Result<std::string>> Login::user_of(std::string token) {
  const Json body = Json::object({{"apiVersion", "authentication.k8s.io/v1"},
                                  {"kind", "TokenReview"},
                                  {"spec", Json::object({{"token", Json(std::move(token))}})}});
  auto bytes = co_await reviewer_.create(kube::kTokenReviews, body.dump(), {}, "", kReviewLimit);
  if (!bytes) {
    Error error = std::move(bytes).error().within("asking the API server whose token it is");
    error.code = 0;  // it is about the console's own rights, not about the person
    co_return std::unexpected(std::move(error));
  }
  TM_CO_TRY(const Json answer, Json::parse(*bytes));
  const Json* good = answer.at("status", "authenticated");
  const std::string_view user = answer.text_at("status", "user", "username");
  if (good == nullptr || !good->get_bool().value_or(false) || user.empty()) {
    co_return no_session(kNotValid);
  }
  co_return std::string(user);
}

bool Login::may_try(std::string_view address) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (auto& [from, times] : tries_) {
    while (!times.empty() && now - times.front() >= kMinute) times.pop_front();
  }
  std::erase_if(tries_, [](const auto& each) { return each.second.empty(); });
  if (tries_.size() > kAddressesKept) return false;
  auto& own = tries_[std::string(address)];
  auto& all = tries_[""];
  if (own.size() >= kLoginsAMinute || all.size() >= kAllLoginsAMinute) return false;
  own.push_back(now);
  all.push_back(now);
  return true;
}

void respond_login_error(net::HttpExchange& exchange, const Error& error) {
  if (error.kind == ErrorKind::kDenied && error.code == 401) {
    return respond_problem(exchange, 401, "login", error.message);
  }
  respond_error(exchange, error);
}

}  // namespace tidemark::console
