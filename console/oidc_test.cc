// Login by an issuer: what the browser is sent, what the issuer is asked, and answers of an attacker.
#include "console/oidc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "net/issuer_key.h"
#include "net/testing/loop.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;
using Algorithm = net::PublicKey::Algorithm;

constexpr std::string_view kRealm = "https://issuer.example/realm";

class ConsoleOidc : public ::testing::Test {
 protected:
  // What the test says the issuer answers.
  class Issuer final : public net::HttpTransport {
   public:
    explicit Issuer(ConsoleOidc& test) : test_(test) {}
    net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration) override {
      co_return test_.answer(request);
    }
    net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest, base::Duration) override {
      co_return fail(ErrorKind::kUnsupported, "no streams");
    }

   private:
    ConsoleOidc& test_;
  };

  ConsoleOidc() { make(""); }
  void make(std::string secret) {
    OidcOptions options;
    options.issuer = kRealm;
    options.client_id = "console";
    options.client_secret = std::move(secret);
    if (!scopes.empty()) options.scopes = scopes;
    options.transport_of = [this](const net::Url& origin) {
      EXPECT_EQ(origin.host, "issuer.example");
      EXPECT_EQ(origin.scheme, "https");
      return std::make_unique<Issuer>(*this);
    };
    oidc = std::make_unique<OidcLogin>(loop, net::Sealer("secret"), std::move(options));
  }

  net::HttpResponse answer(const net::HttpRequest& request) {
    asked.push_back(request);
    net::HttpResponse out;
    out.status = 200;
    if (request.target == "/realm/.well-known/openid-configuration") {
      out.body =
          cat(R"({"issuer":")", kRealm, R"(","authorization_endpoint":"https://issuer.example/auth",)", revocation,
              R"("token_endpoint":"https://issuer.example/token","jwks_uri":"https://issuer.example/keys"})");
    } else if (request.target == "/revoke") {
      out.status = revoke_status;
    } else if (request.target == "/keys") {
      ++keys_read;
      out.body = cat(R"({"keys":[)", key.jwk(key_id), "]}");
    } else if (request.target == "/token") {
      out.status = token_status;
      out.body = token_status == 200 ? cat(R"({"access_token":"a","id_token":")", token, R"(")", more, "}")
                                     : std::string(R"({"error":"invalid_grant"})");
    } else {
      out.status = 404;
    }
    return out;
  }
  std::string id_token(std::string_view nonce, std::string_view audience = "console") const {
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(clock.wall().since_epoch).count();
    return key.token(cat(R"({"iss":")", kRealm, R"(","aud":")", audience, R"(","sub":"ann","nonce":")", nonce,
                         R"(","iat":)", now, R"(,"exp":)", now + 600, "}"),
                     key_id, "ES256");
  }

  struct Begun {
    std::string cookie, state, nonce, location;
    net::Target target;
  };
  Begun begin() {
    const auto begun = net::testing::run_task(loop, clock, oidc->begin("console.example:8443"));
    EXPECT_TRUE(begun);
    Begun out;
    out.location = begun->location;
    out.target = *net::parse_target(begun->location.substr(begun->location.find("/auth")));
    out.cookie = begun->cookie.substr(0, begun->cookie.find(';'));
    out.state = out.target.get("state");
    out.nonce = out.target.get("nonce");
    return out;
  }
  // The id of the failure, or the token.
  std::string finish(std::string_view cookie, std::string_view query) {
    net::HttpRequest request;
    request.target = cat("/login/callback?", query);
    request.headers.set("host", "console.example:8443");
    request.headers.set("cookie", cookie);
    const auto done = net::testing::run_task(loop, clock, oidc->finish(request));
    return done ? done->id_token : std::string(done.error().id);
  }
  // The id of the failure, or the refresh token.
  std::string refresh(std::string_view with, std::string_view subject = "ann") {
    const auto done = net::testing::run_task(loop, clock, oidc->refresh(std::string(with), std::string(subject)));
    return done ? done->refresh_token : std::string(done.error().id);
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  net::IssuerKey key{Algorithm::kEs256};
  std::string key_id = "k1", token, more;
  int token_status = 200, revoke_status = 200, keys_read = 0;
  std::string revocation = R"("revocation_endpoint":"https://issuer.example/revoke",)";
  std::vector<std::string> scopes;  // empty: the default
  std::vector<net::HttpRequest> asked;
  std::unique_ptr<OidcLogin> oidc;
};

TEST_F(ConsoleOidc, AsksWithStateNonceAndChallenge) {
  const Begun begun = begin();
  EXPECT_TRUE(begun.location.starts_with("https://issuer.example/auth?")) << begun.location;
  EXPECT_EQ(begun.target.get("response_type"), "code");
  EXPECT_EQ(begun.target.get("client_id"), "console");
  EXPECT_EQ(begun.target.get("redirect_uri"), "https://console.example:8443/login/callback");
  EXPECT_EQ(begun.target.get("scope"), "openid email profile");
  EXPECT_EQ(begun.target.get("code_challenge_method"), "S256");
  EXPECT_EQ(begun.state.size(), 43u);
  EXPECT_EQ(begun.nonce.size(), 43u);
  EXPECT_EQ(begun.cookie.find(begun.state), std::string::npos) << "the cookie is sealed";

  token = id_token(begun.nonce);
  EXPECT_EQ(finish(begun.cookie, cat("code=c-1&state=", begun.state)), token);
  const auto request = *std::ranges::find(asked, "/token", &net::HttpRequest::target);
  const auto form = *net::parse_target("/?" + request.body);
  EXPECT_EQ(form.get("grant_type"), "authorization_code");
  EXPECT_EQ(form.get("code"), "c-1");
  EXPECT_EQ(form.get("redirect_uri"), "https://console.example:8443/login/callback");
  EXPECT_EQ(form.get("client_id"), "console");
  EXPECT_EQ(net::base64url(net::sha256(form.get("code_verifier"))), begun.target.get("code_challenge"));
  EXPECT_EQ(request.headers.get("authorization"), "");
}

TEST_F(ConsoleOidc, SecretOfTheClientIsInTheHeader) {
  make("p&ss");
  const Begun begun = begin();
  token = id_token(begun.nonce);
  EXPECT_EQ(finish(begun.cookie, cat("code=c&state=", begun.state)), token);
  EXPECT_EQ(asked.at(1).headers.get("authorization"), cat("Basic ", base::base64_encode("console:p%26ss")));
  EXPECT_EQ(asked.at(1).body.find("p%26ss"), std::string::npos);
}

TEST_F(ConsoleOidc, RefusesAnswerThatThisBrowserDidNotAskFor) {
  const Begun own = begin(), other = begin();
  token = id_token(own.nonce);
  const std::size_t before = asked.size();
  EXPECT_EQ(finish("", cat("code=c&state=", own.state)), "state") << "no cookie";
  EXPECT_EQ(finish(own.cookie, cat("code=c&state=", other.state)), "state") << "the link of another person";
  EXPECT_EQ(finish(own.cookie, "code=c"), "state");
  EXPECT_EQ(finish(own.cookie, "code=c&state="), "state");
  EXPECT_EQ(finish(cat(own.cookie, "; ", other.cookie), cat("code=c&state=", own.state)), "state") << "two cookies";
  EXPECT_EQ(finish(cat(OidcLogin::kCookie, "=forged"), "code=c&state="), "state");
  EXPECT_EQ(asked.size(), before) << "the issuer is not asked";
  clock.advance(OidcLogin::kLoginMax + 1s);
  EXPECT_EQ(finish(own.cookie, cat("code=c&state=", own.state)), "state") << "too old";
}

TEST_F(ConsoleOidc, RefusesErrorsAndOtherIssuers) {
  const Begun begun = begin();
  token = id_token(begun.nonce);
  EXPECT_EQ(finish(begun.cookie, cat("error=access_denied&state=", begun.state)), "issuer");
  EXPECT_EQ(finish(begun.cookie, cat("state=", begun.state)), "issuer");
  EXPECT_EQ(finish(begun.cookie, cat("code=c&iss=https%3A%2F%2Fevil.example&state=", begun.state)), "issuer");
  token_status = 400;
  EXPECT_EQ(finish(begun.cookie, cat("code=c&state=", begun.state)), "issuer");
}

TEST_F(ConsoleOidc, RefusesTokenOfAnotherLoginOrAudience) {
  const Begun own = begin(), other = begin();
  token = id_token(other.nonce);
  EXPECT_EQ(finish(own.cookie, cat("code=c&state=", own.state)), "token");
  token = id_token(own.nonce, "another-client");
  EXPECT_EQ(finish(own.cookie, cat("code=c&state=", own.state)), "token");
  token = "e30.e30.";
  EXPECT_EQ(finish(own.cookie, cat("code=c&state=", own.state)), "token");
}

TEST_F(ConsoleOidc, RefreshesAndTakesTheNextRefreshToken) {
  make("p&ss");
  token = id_token("of the login");
  more = R"(,"refresh_token":"r-2")";
  EXPECT_EQ(refresh("r-1"), "r-2");
  const auto request = *std::ranges::find(asked, "/token", &net::HttpRequest::target);
  const auto form = *net::parse_target("/?" + request.body);
  EXPECT_EQ(form.get("grant_type"), "refresh_token");
  EXPECT_EQ(form.get("refresh_token"), "r-1");
  EXPECT_NE(request.headers.get("authorization"), "");
  more = "";
  EXPECT_EQ(refresh("r-2"), "r-2") << "an issuer without rotation";
}

TEST_F(ConsoleOidc, UsesARefreshTokenOnceForPagesThatComeTogether) {
  token = id_token("");
  more = R"(,"refresh_token":"r-2")";
  const auto asks = [&] { return std::ranges::count(asked, "/token", &net::HttpRequest::target); };
  EXPECT_EQ(refresh("r-1"), "r-2");
  EXPECT_EQ(refresh("r-1"), "r-2");
  EXPECT_EQ(asks(), 1);
  clock.advance(OidcLogin::kRefreshKept);
  EXPECT_EQ(refresh("r-1"), "r-2");
  EXPECT_EQ(asks(), 2);
}

TEST_F(ConsoleOidc, TellsAnEndedRefreshTokenFromAnIssuerThatIsAway) {
  token = id_token("");
  token_status = 400;
  EXPECT_EQ(refresh("r-1"), "ended");
  token_status = 503;
  EXPECT_EQ(refresh("r-2"), "issuer");
  token_status = 200;
  EXPECT_EQ(refresh("r-3", "eve"), "token") << "the new token is of another person";
  token = id_token("", "another-client");
  EXPECT_EQ(refresh("r-4"), "token");
}

TEST_F(ConsoleOidc, RevokesARefreshTokenAtTheIssuerThatCan) {
  make("p&ss");
  std::vector<bool> done;
  const auto revoke = [&] {
    oidc->revoke("r-1", [&](const Result<void>& outcome) { done.push_back(outcome.has_value()); });
    net::testing::run_for(loop, clock, 1s);
  };
  revoke();
  const auto request = *std::ranges::find(asked, "/revoke", &net::HttpRequest::target);
  const auto form = *net::parse_target("/?" + request.body);
  EXPECT_EQ(form.get("token"), "r-1");
  EXPECT_EQ(form.get("token_type_hint"), "refresh_token");
  EXPECT_NE(request.headers.get("authorization"), "") << "only the client may revoke its tokens";
  revoke_status = 503;
  revoke();
  EXPECT_EQ(done, (std::vector<bool>{true, false}));
  revocation = "";
  make("");
  asked.clear();
  revoke();
  EXPECT_EQ(std::ranges::count(asked, "/revoke", &net::HttpRequest::target), 0);
  EXPECT_TRUE(done.back());
}

TEST_F(ConsoleOidc, AsksForConsentIfItWantsOfflineAccess) {
  EXPECT_EQ(begin().target.get("prompt"), "");
  scopes = {"openid", "offline_access"};
  make("");
  EXPECT_EQ(begin().target.get("prompt"), "consent");
}

TEST_F(ConsoleOidc, ReadsKeysAgainForAnUnknownKeyOnceAMinute) {
  const Begun begun = begin();
  token = id_token(begun.nonce);
  const std::string query = cat("code=c&state=", begun.state);
  EXPECT_EQ(finish(begun.cookie, query), token);
  EXPECT_EQ(finish(begun.cookie, query), token);
  EXPECT_EQ(keys_read, 1);
  key_id = "k2";
  token = id_token(begun.nonce);
  EXPECT_EQ(finish(begun.cookie, query), "token") << "keys were read a moment ago";
  clock.advance(OidcLogin::kKeysAgain);
  EXPECT_EQ(finish(begun.cookie, query), token);
  EXPECT_EQ(keys_read, 2);
}

}  // namespace
}  // namespace tidemark::console
