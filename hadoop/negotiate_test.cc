#include "hadoop/negotiate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hadoop/testing/gss.h"
#include "net/testing/http.h"

namespace tidemark::hadoop {
namespace {

// A door as Hadoop's AuthenticationFilter is one.
struct Negotiate : ::testing::Test {
  Negotiate() {
    pair.begin([this](net::HttpExchange& exchange) -> net::Task<void> {
      answer(exchange);
      co_return;
    });
    const MakeGss make = [this](net::EventLoop&) { return gss; };
    door = std::make_unique<NegotiatingTransport>(pair.loop, *pair.client, make, "HTTP/host");
  }
  void answer(net::HttpExchange& exchange) {
    const std::string authorization(exchange.head().headers.get("authorization"));
    const std::string cookie(exchange.head().headers.get("cookie"));
    asked.push_back(authorization.empty() ? cookie : authorization);
    net::Headers headers;
    headers.add("content-type", "text/plain");
    if (!cookie.empty() && cookie == knows)
      return exchange.respond(200, std::move(headers), net::make_buffer("content"));
    if (authorization != base::cat("Negotiate ", base::base64_encode("ap-req")) || refuses) {
      headers.add("www-authenticate", scheme);
      return exchange.respond(401, std::move(headers), net::make_buffer("Authentication required"));
    }
    if (!proof.empty()) headers.add("www-authenticate", base::cat("Negotiate ", base::base64_encode(proof)));
    headers.add("set-cookie", R"(hadoop.auth="u=ada&t=kerberos"; Path=/; HttpOnly)");
    exchange.respond(200, std::move(headers), net::make_buffer("content"));
  }
  Result<net::HttpResponse> fetch() {
    return net::testing::run_task(pair.loop, door->fetch(net::testing::get_request("/x"), std::chrono::seconds(30)));
  }
  std::string refused() {
    const auto answer = fetch();
    return answer ? base::cat("answered ", answer->status) : answer.error().message;
  }

  net::testing::HttpPair pair{net::testing::Wire::kClear};
  std::shared_ptr<testing::FakeGss> gss = std::make_shared<testing::FakeGss>();
  std::unique_ptr<NegotiatingTransport> door;
  std::string scheme = "Negotiate", proof = "ap-rep", knows = R"(hadoop.auth="u=ada&t=kerberos")";
  bool refuses = false;
  std::vector<std::string> asked;
};

TEST_F(Negotiate, AuthenticatesOnceAndThenUsesTheCookie) {
  EXPECT_EQ(fetch()->body, "content");
  EXPECT_EQ(gss->servers, std::vector<std::string>{"HTTP/host"});
  EXPECT_EQ(fetch()->status, 200);
  EXPECT_EQ(asked, (std::vector<std::string>{"", "Negotiate YXAtcmVx", knows}));
  knows = "of another key, since it began anew";
  EXPECT_EQ(fetch()->status, 200);
  EXPECT_EQ(gss->servers.size(), 2U);
}

TEST_F(Negotiate, RejectsAServerThatIsNotAuthenticated) {
  proof = "";
  EXPECT_EQ(refused(), "the server did not authenticate as HTTP/host");
  proof = "something";
  EXPECT_EQ(refused(), "the server did not authenticate as HTTP/host: unexpected server");
  EXPECT_EQ(asked.back(), "Negotiate YXAtcmVx") << "its cookie is not taken";
}

TEST_F(Negotiate, ReportsADeniedLoginWithBothNames) {
  refuses = true;
  EXPECT_EQ(refused(),
            "it does not take the ticket of tidemark@EXAMPLE for HTTP/host: is that the principal of its web address?");
  EXPECT_EQ(asked.size(), 2U);
}

TEST_F(Negotiate, SendsNothingWithoutATicket) {
  gss->refusal = Error{ErrorKind::kUnavailable, "no KDC", 0, 0};
  EXPECT_EQ(refused(), "no KDC");
  EXPECT_EQ(asked, std::vector<std::string>{""});
}

TEST_F(Negotiate, PassesThroughOtherSchemes) {
  for (const std::string other : {"Basic realm=x", "Negotiated", ""}) {
    scheme = other;
    EXPECT_EQ(refused(), "answered 401") << other;
  }
  EXPECT_TRUE(gss->servers.empty());
}

}  // namespace
}  // namespace tidemark::hadoop
