// Login by a token, on an API server in memory whose TokenReviews and access reviews the test answers.
#include "console/login.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "console/api.h"
#include "console/guard.h"
#include "console/stream.h"
#include "kube/memory/local_transport.h"
#include "operate/testing/orders.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;

// The API server in memory knows no token: what goes there comes from its one user, and the token is noted.
class Noting final : public net::HttpTransport {
 public:
  explicit Noting(net::HttpTransport& below) : below_(below) {}
  std::set<std::string> writers;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    const bool review = request.target.find("reviews") != std::string::npos;
    if (request.method != "GET" && !review) writers.insert(std::string(request.headers.get("authorization")));
    if (!review) request.headers = without_token(request.headers);
    co_return co_await below_.fetch(std::move(request), limit);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    request.headers = without_token(request.headers);
    co_return co_await below_.open(std::move(request), limit);
  }

 private:
  static net::Headers without_token(const net::Headers& headers) {
    net::Headers out;
    for (const auto& [name, value] : headers) {
      if (name != "authorization") out.add(name, value);
    }
    return out;
  }
  net::HttpTransport& below_;
};

// The same exchange, from another address.
class FromAddress final : public net::HttpExchange {
 public:
  FromAddress(net::HttpExchange& below, const std::string& address) : below_(below) { peer_.address = address; }
  const net::HttpRequest& head() const override { return below_.head(); }
  const net::Peer& peer() const override { return peer_; }
  net::Task<Result<std::string>> body(std::size_t bytes_max) override { return below_.body(bytes_max); }
  using net::HttpExchange::respond;
  void respond(int status, net::Headers headers, net::Buffer body) override {
    below_.respond(status, std::move(headers), std::move(body));
  }
  void start(int status, net::Headers headers) override { below_.start(status, std::move(headers)); }
  net::Task<Result<void>> write(net::Buffer piece, base::Duration limit) override {
    return below_.write(std::move(piece), limit);
  }
  void abort() override { below_.abort(); }

 private:
  net::HttpExchange& below_;
  net::Peer peer_;
};

class ConsoleLogin : public operate::testing::Orders {
 protected:
  void SetUp() override {
    between.answers = [this](const net::HttpRequest& request) { return answer(request); };
    login = std::make_unique<Login>(
        loop, log, client, metrics, net::Sealer("secret"),
        [this](std::string token, const std::string&) { return clients(token); }, issuer());
    stream = std::make_unique<Stream>(loop, metrics, "run", [] { return std::string("{}"); });
    view = std::make_unique<View>(loop, client, log, metrics, base::Random(3), ViewOptions());
    orders = std::make_unique<console::Orders>(loop, log, *view, metrics, base::Random(4), ViewOptions());
    settings = std::make_unique<SettingsApi>(loop, log, client, base::Random(5), ViewOptions());
    ApiParts parts{loop,    client, *view,    *stream,      *orders,     *settings,
                   metrics, {},     "a test", std::nullopt, login.get(), Site{{"console.example"}, true}};
    api = std::make_unique<Api>(std::move(parts));
    browser = std::make_unique<kube::memory::LocalTransport>(
        loop, [this](net::HttpExchange& exchange) { return handle(exchange); }, "browser");
    view->start();
    net::testing::run_for(loop, clock, 3s);
  }

  net::Task<void> handle(net::HttpExchange& exchange) {
    FromAddress from(exchange, address);
    co_await api->handle(from);
  }

  // An issuer that is away.
  OidcOptions issuer() {
    OidcOptions options;
    options.issuer = "https://issuer.example";
    options.client_id = "console";
    options.transport_of = [this](const net::Url&) {
      auto away = std::make_unique<operate::testing::FailingTransport>(loop, transport);
      away->refuses = [](const net::HttpRequest&) { return Error{ErrorKind::kUnavailable, "no route", 0, 0}; };
      return away;
    };
    return options;
  }

  // The reviews of a real API server: good-USER is a token of USER.
  std::optional<net::HttpResponse> answer(const net::HttpRequest& request) {
    net::HttpResponse out;
    out.status = 201;
    if (request.target.find("/tokenreviews") != std::string::npos) {
      ++reviews;
      const std::string token(Json::parse(request.body)->text_at("spec", "token"));
      const bool good = token.starts_with("good-") && !revoked.contains(token);
      out.body = good ? cat(R"({"status":{"authenticated":true,"user":{"username":")", token.substr(5), R"("}}})")
                      : std::string(R"({"status":{"authenticated":false,"error":"invalid bearer token"}})");
      return out;
    }
    if (request.target.find("/selfsubjectaccessreviews") != std::string::npos) {
      ++access_reviews;
      const auto body = *Json::parse(request.body);
      const std::string resource(body.text_at("spec", "resourceAttributes", "resource"));
      const bool allowed = request.headers.get("authorization") != "Bearer good-stranger" &&
                           !denied.contains(resource) &&
                           !denied.contains(cat(resource, " ", body.text_at("spec", "resourceAttributes", "name")));
      out.body = cat(R"({"status":{"allowed":)", allowed, "}}");
      return out;
    }
    return std::nullopt;
  }
  PersonClients clients(const std::string& token) {
    const auto make = [&] {
      return std::make_shared<kube::Client>(
          loop, noting, [token] { return token; },
          kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(5));
    };
    return {make(), make()};
  }

  net::HttpResponse send(std::string_view method, std::string_view path, std::string body = "") {
    net::HttpRequest request;
    request.method = method;
    request.target = path;
    request.body = std::move(body);
    request.headers.set("host", "console.example");
    request.headers.set("origin", "https://console.example");
    if (method == "POST") {
      request.headers.set("content-type", "application/json");
      request.headers.set(kWriteHeader, "1");
      request.headers.set("idempotency-key", "k");
    }
    if (!cookie.empty()) request.headers.set("cookie", cookie);
    auto answered = net::testing::run_task(loop, clock, browser->fetch(std::move(request), 60s));
    EXPECT_TRUE(answered);
    const std::string set(answered->headers.get("set-cookie"));
    if (!set.empty()) cookie = set.find("Max-Age=0") == std::string::npos ? set.substr(0, set.find(';')) : "";
    return std::move(*answered);
  }
  net::HttpResponse log_in(std::string_view token) {
    return send("POST", "/api/v1/login", Json::object({{"token", Json(token)}}).dump());
  }
  std::string user() { return std::string(Json::parse(send("GET", "/api/v1/session").body)->text_at("user")); }

  base::Registry metrics;
  std::set<std::string> revoked, denied;  // tokens; resources, or one object: "configmaps tidemark-state"
  int access_reviews = 0;
  Noting noting{between};
  int reviews = 0;
  std::string cookie, address = "192.0.2.1:1000";
  std::unique_ptr<Login> login;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<View> view;
  std::unique_ptr<console::Orders> orders;
  std::unique_ptr<SettingsApi> settings;
  std::unique_ptr<Api> api;
  std::unique_ptr<kube::memory::LocalTransport> browser;
};

TEST_F(ConsoleLogin, ShowsNothingWithoutASession) {
  for (const auto* path : {"/api/v1/summary", "/api/v1/nodes", "/api/v1/stream", "/api/v1/orders", "/api/v1/nothing"}) {
    const auto refused = send("GET", path);
    EXPECT_EQ(refused.status, 401) << path;
    EXPECT_NE(refused.body.find("urn:tidemark:problem:login"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(send("GET", "/metrics").status, 404);
  EXPECT_EQ(send("POST", "/api/v1/orders", R"({"verb":"off","scope":"cluster","reason":"r"})").status, 401);
  EXPECT_EQ(user(), "");
  cookie = "__Host-tidemark=forged";
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 401);
}

TEST_F(ConsoleLogin, LogsInByAGoodTokenAndOutAgain) {
  EXPECT_EQ(log_in("bad").status, 401);
  EXPECT_EQ(cookie, "");
  ASSERT_EQ(log_in("good-ann").status, 200);
  EXPECT_EQ(cookie.find("good-ann"), std::string::npos);
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 200);
  EXPECT_EQ(user(), "ann");
  EXPECT_EQ(send("POST", "/api/v1/logout", "{}").status, 200);
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 401);
}

TEST_F(ConsoleLogin, WritesWithTheTokenOfThePerson) {
  node("a");
  net::testing::run_for(loop, clock, 2s);
  ASSERT_EQ(log_in("good-ann").status, 200);
  const auto given = send("POST", "/api/v1/orders", R"({"verb":"off","scope":"cluster","reason":"r"})");
  EXPECT_EQ(given.status, 202) << given.body;
  EXPECT_EQ(Json::parse(given.body)->text_at("order", "by"), "ann");
  EXPECT_EQ(label("a"), "draining");
  EXPECT_EQ(noting.writers, std::set<std::string>{"Bearer good-ann"});
}

TEST_F(ConsoleLogin, RefusesAPersonWhoMayNotRead) {
  const auto refused = log_in("good-stranger");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("stranger may not list nodes"), std::string::npos) << refused.body;
  EXPECT_EQ(cookie, "");
}

TEST_F(ConsoleLogin, AsksTheApiServerOnceAMinuteAndSeesARevokedToken) {
  ASSERT_EQ(log_in("good-ann").status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(send("GET", "/api/v1/summary").status, 200);
  EXPECT_EQ(reviews, 1);
  revoked.insert("good-ann");
  net::testing::run_for(loop, clock, Login::kReviewLife + 1s);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(send("GET", "/api/v1/summary").status, 401);
  EXPECT_EQ(reviews, 2) << "nor is it asked for each request of a session that is over";
  EXPECT_EQ(user(), "");
  EXPECT_EQ(cookie, "") << "the dead session is taken from the browser";
}

TEST_F(ConsoleLogin, RenewsTheSessionAndLetsAnIdleOneEnd) {
  ASSERT_EQ(log_in("good-ann").status, 200);
  const std::string first = cookie;
  for (int i = 0; i < 3; ++i) {
    net::testing::run_for(loop, clock, 50min);
    EXPECT_EQ(user(), "ann");
  }
  EXPECT_NE(cookie, first);
  net::testing::run_for(loop, clock, kIdleMax + 1s);
  EXPECT_EQ(user(), "");
}

TEST_F(ConsoleLogin, LimitsLoginsOfOneAddress) {
  for (std::size_t i = 0; i < Login::kLoginsAMinute; ++i) EXPECT_EQ(log_in("bad").status, 401);
  const int before = reviews;
  EXPECT_EQ(log_in("good-ann").status, 429);
  EXPECT_EQ(reviews, before) << "the API server is not asked";
  net::testing::run_for(loop, clock, 61s);
  EXPECT_EQ(log_in("good-ann").status, 200);
}

TEST_F(ConsoleLogin, LimitsLoginsOfAllAddressesTogether) {
  for (std::size_t i = 0; i < Login::kAllLoginsAMinute; ++i) {
    address = cat("192.0.2.", i / Login::kLoginsAMinute, ":", 1000 + i);
    ASSERT_EQ(log_in("bad").status, 401) << i;
  }
  const int before = reviews;
  address = "198.51.100.1:1000";
  EXPECT_EQ(log_in("good-ann").status, 429);
  EXPECT_EQ(reviews, before) << "the API server is not asked";
  net::testing::run_for(loop, clock, 61s);
  EXPECT_EQ(log_in("good-ann").status, 200);
}

TEST_F(ConsoleLogin, LoginIsNoPartOfTheSessionThatWasThere) {
  ASSERT_EQ(log_in("good-mallory").status, 200);
  const std::string planted = cookie;
  ASSERT_EQ(log_in("good-ann").status, 200) << "in a browser into which mallory brought a session";
  EXPECT_NE(cookie, planted);
  EXPECT_EQ(user(), "ann");
  cookie = planted;
  EXPECT_EQ(user(), "mallory");
}

TEST_F(ConsoleLogin, ShowsAKindOnlyToPersonWhoMayReadIt) {
  denied = {"configmaps", "events", "leases"};
  node("a");
  net::testing::run_for(loop, clock, 2s);
  ASSERT_EQ(log_in("good-ann").status, 200);
  // Every path that console/openapi.json has for a GET, but the stream and the session.
  for (const auto* path :
       {"/api/v1/settings", "/api/v1/settings/texts", "/api/v1/settings/diff?from=now&to=now",
        "/api/v1/calendar?pool=default", "/api/v1/budgets", "/api/v1/orders", "/api/v1/orders/1", "/api/v1/decisions",
        "/api/v1/yarn", "/api/v1/platform", "/api/v1/pools", "/api/v1/pools/default", "/api/v1/nodes/a",
        "/api/v1/past/offer?node=a", "/api/v1/past/record?node=a", "/api/v1/past/incident?namespace=n&name=p"}) {
    const auto refused = send("GET", path);
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_NE(refused.body.find("ann may not"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(send("POST", "/api/v1/calendar", R"({"pool":"default","text":"schema: 1\nmode: enforce\n"})").status, 403);
  for (const auto* path : {"/api/v1/summary", "/api/v1/nodes", "/api/v1/offline", "/api/v1/online", "/api/v1/problems",
                           "/api/v1/history", "/api/v1/spark"}) {
    EXPECT_EQ(send("GET", path).status, 200) << path;
  }
  const int before = access_reviews;
  EXPECT_EQ(send("GET", "/api/v1/settings").status, 403);
  EXPECT_EQ(access_reviews, before) << "the answer is kept";
  denied.clear();
  net::testing::run_for(loop, clock, Login::kReviewLife + 1s);
  EXPECT_EQ(send("GET", "/api/v1/settings").status, 200);
  EXPECT_EQ(send("GET", "/api/v1/decisions").status, 200);
  denied = {"configmaps tidemark-state"};
  net::testing::run_for(loop, clock, Login::kReviewLife + 1s);
  EXPECT_EQ(send("GET", "/api/v1/pools").status, 403) << "an override has its author and reason";
  EXPECT_EQ(send("GET", "/api/v1/settings").status, 200);
}

TEST_F(ConsoleLogin, LoginByIssuerReturnsToThePageOnly) {
  EXPECT_EQ(Json::parse(send("GET", "/api/v1/session").body)->text_at("issuer"), "issuer.example");
  const auto begun = send("GET", "/login/oidc?redirect=https://evil.example");
  EXPECT_EQ(begun.status, 303);
  EXPECT_EQ(begun.headers.get("location"), "/?login=issuer") << "the issuer is away";
  for (const auto* query : {"code=c&state=s", "code=c&state=s&redirect_uri=https://evil.example", "error=x", ""}) {
    cookie = "__Host-tidemark-login=forged";
    const auto answer = send("GET", cat("/login/callback?", query));
    EXPECT_EQ(answer.status, 303) << query;
    EXPECT_EQ(answer.headers.get("location"), "/?login=state") << query;
    EXPECT_TRUE(answer.headers.get("set-cookie").starts_with("__Host-tidemark-login=;")) << "and no session";
  }
  EXPECT_EQ(user(), "");
}

TEST_F(ConsoleLogin, LimitsLoginsByIssuerToo) {
  for (std::size_t i = 0; i < Login::kLoginsAMinute; ++i) send("GET", "/login/callback?code=c&state=s");
  EXPECT_EQ(send("GET", "/login/callback?code=c&state=s").headers.get("location"), "/?login=often");
}

TEST_F(ConsoleLogin, RefusesAnotherHostAndAnotherOrigin) {
  net::HttpRequest request;
  request.target = "/api/v1/session";
  request.headers.set("host", "evil.example");
  EXPECT_EQ(net::testing::run_task(loop, clock, browser->fetch(request, 10s))->status, 421);
  request.headers.set("host", "console.example:8443");
  request.headers.set("origin", "http://console.example:8443");
  EXPECT_EQ(net::testing::run_task(loop, clock, browser->fetch(request, 10s))->status, 403) << "not over TLS";
  request.headers.set("origin", "https://console.example:8443");
  EXPECT_EQ(net::testing::run_task(loop, clock, browser->fetch(request, 10s))->status, 200);
}

}  // namespace
}  // namespace tidemark::console
