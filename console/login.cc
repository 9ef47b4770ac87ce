#include "console/login.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/guard.h"

namespace tidemark::console {
namespace {

constexpr kube::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
constexpr kube::Resource kSelfSubjectAccessReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                                   "SelfSubjectAccessReview", false};
constexpr base::Duration kReviewLimit = std::chrono::seconds(10);
constexpr base::Duration kMinute = std::chrono::minutes(1);
constexpr std::size_t kLoginBytesMax = 16 * 1024;

std::unexpected<Error> no_session(std::string message) {
  return std::unexpected(Error{ErrorKind::kDenied, std::move(message), 401, 0});
}

// Without the port.
std::string_view ip_of(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

net::Task<Result<bool>> may_list(kube::Client& client, std::string_view resource) {
  const Json attributes = Json::object({{"verb", "list"}, {"resource", Json(resource)}});
  const Json body = Json::object({{"apiVersion", "authorization.k8s.io/v1"},
                                  {"kind", "SelfSubjectAccessReview"},
                                  {"spec", Json::object({{"resourceAttributes", attributes}})}});
  TM_CO_TRY(const std::string bytes,
            co_await client.create(kSelfSubjectAccessReviews, body.dump(), {}, "", kReviewLimit));
  TM_CO_TRY(const Json answer, Json::parse(bytes));
  const Json* allowed = answer.at("status", "allowed");
  co_return allowed != nullptr && allowed->get_bool().value_or(false);
}

}  // namespace

Login::Login(net::EventLoop& loop, const base::Log& log, kube::Client& reviewer, base::Registry& metrics,
             net::Sealer sealer, ClientsOf clients_of)
    : loop_(loop),
      log_(log.named("login")),
      reviewer_(reviewer),
      sealer_(sealer),
      clients_of_(std::move(clients_of)),
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
  const auto person = co_await review(token);
  if (!person) {
    refused_.add(1);
    log_.warn("login refused", {{"address", address}, {"error", person.error().message}});
    respond_login_error(exchange, person.error());
    co_return;
  }
  const base::WallTime now = loop_.clock().wall();
  const auto cookie = session_cookie(sealer_, {person->name, std::move(token), now, now});
  if (!cookie) {
    refused_.add(1);
    respond_error(exchange, cookie.error(), "token");
    co_return;
  }
  logins_.add(1);
  log_.info("login", {{"address", address}, {"user", person->name}});
  net::Headers headers = answer_headers("application/json", "no-store");
  headers.set("set-cookie", *cookie);
  exchange.respond(200, std::move(headers),
                   net::make_buffer(Json::object({{"schema", 1}, {"login", true}, {"user", person->name}}).dump()));
}

void Login::log_out(net::HttpExchange& exchange) {
  net::Headers headers = answer_headers("application/json", "no-store");
  headers.set("set-cookie", ended_session_cookie());
  exchange.respond(200, std::move(headers),
                   net::make_buffer(Json::object({{"schema", 1}, {"login", true}, {"user", nullptr}}).dump()));
}

net::Task<void> Login::session(net::HttpExchange& exchange) {
  net::Headers headers = answer_headers("application/json", "no-store");
  Json answer = Json::object({{"schema", 1}, {"login", true}, {"user", nullptr}});
  const base::WallTime now = loop_.clock().wall();
  auto session = read_session(sealer_, exchange.head().headers.get("cookie"), now);
  if (session) {
    if (const auto person = co_await review(session->token)) {
      answer["user"] = Json(person->name);
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

net::Task<Result<Person>> Login::person(const net::HttpRequest& request) {
  auto session = read_session(sealer_, request.headers.get("cookie"), loop_.clock().wall());
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
  TM_CO_TRY(const std::string user, co_await user_of(token));
  PersonClients clients = clients_of_(token, user);
  for (const std::string_view resource : {"nodes", "pods"}) {
    TM_CO_TRY(const bool may, co_await may_list(*clients.asks, resource));
    if (!may) {
      co_return std::unexpected(
          Error{ErrorKind::kDenied,
                base::cat(user, " may not list ", resource,
                          "; the console shows its data only to those who may read it themselves"),
                403, 0});
    }
  }
  while (reviewed_.size() >= kReviewsKept) {
    reviewed_.erase(std::ranges::min_element(reviewed_, {}, [](const auto& each) { return each.second.at; }));
  }
  Person person{user, clients.writes};
  reviewed_.insert_or_assign(hash, Reviewed{user, std::move(clients), now});
  co_return person;
}

net::Task<Result<std::string>> Login::user_of(std::string token) {
  const Json body = Json::object({{"apiVersion", "authentication.k8s.io/v1"},
                                  {"kind", "TokenReview"},
                                  {"spec", Json::object({{"token", Json(std::move(token))}})}});
  auto bytes = co_await reviewer_.create(kTokenReviews, body.dump(), {}, "", kReviewLimit);
  if (!bytes) {
    Error error = std::move(bytes).error().within("asking the API server whose token it is");
    error.code = 0;  // it is about the console's own rights, not about the person
    co_return std::unexpected(std::move(error));
  }
  TM_CO_TRY(const Json answer, Json::parse(*bytes));
  const Json* good = answer.at("status", "authenticated");
  const std::string_view user = answer.text_at("status", "user", "username");
  if (good == nullptr || !good->get_bool().value_or(false) || user.empty()) {
    co_return no_session("the API server does not accept this token, or does not accept it any more");
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
