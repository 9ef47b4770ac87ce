#include "console/guard.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tidemark::console {
namespace {

net::HttpRequest request(std::string_view host) {
  net::HttpRequest out;
  out.headers.set("host", host);
  return out;
}

TEST(Guard, AcceptsNamesOfThisMachine) {
  for (const auto* host : {"127.0.0.1:8090", "localhost:8090", "LOCALHOST", "[::1]:8090", "127.0.1.1", "localhost"}) {
    EXPECT_FALSE(refuse(request(host))) << host;
  }
}

TEST(Guard, RefusesNamesThatPointToThisMachine) {
  for (const auto* host : {"", "evil.example", "evil.example:8090", "localhost.evil.example", "127.0.0.1.evil.example",
                           "127.evil", "127.0.0.256", "10.0.0.1", "[::2]", "0.0.0.0", "127.0.0.1@evil.example"}) {
    const auto refused = refuse(request(host));
    ASSERT_TRUE(refused) << host;
    EXPECT_EQ(refused->status, 421);
  }
}

TEST(Guard, RefusesOtherMethods) {
  for (const auto* method : {"PATCH", "DELETE", "OPTIONS", "TRACE"}) {
    auto asked = request("localhost");
    asked.method = method;
    const auto refused = refuse(asked);
    ASSERT_TRUE(refused) << method;
    EXPECT_EQ(refused->status, 405);
  }
}

net::HttpRequest write_request() {
  net::HttpRequest out = request("localhost:8090");
  out.method = "POST";
  out.headers.set("content-type", "application/json");
  out.headers.set(kWriteHeader, "1");
  return out;
}

TEST(Guard, AcceptsAWriteOfItsOwnPage) {
  auto asked = write_request();
  EXPECT_FALSE(refuse(asked));
  asked.headers.set("origin", "http://localhost:8090");
  asked.headers.set("sec-fetch-site", "same-origin");
  asked.headers.set("content-type", "application/json; charset=utf-8");
  EXPECT_FALSE(refuse(asked));
}

TEST(Guard, RefusesAWriteThatAnotherSiteCanSend) {
  std::string_view method;
  const auto status = [&](std::string_view header, std::string_view value) {
    auto asked = write_request();
    asked.method = method;
    asked.headers.set(header, value);
    const auto refused = refuse(asked);
    return refused ? refused->status : 0;
  };
  for (const auto* each : {"POST", "PUT"}) {
    method = each;
    EXPECT_EQ(status("origin", "http://evil.example"), 403);
    EXPECT_EQ(status("origin", "null"), 403);
    EXPECT_EQ(status("sec-fetch-site", "cross-site"), 403);
    EXPECT_EQ(status("sec-fetch-site", "same-site"), 403);
    EXPECT_EQ(status("sec-fetch-site", "none"), 403);
    EXPECT_EQ(status("host", "evil.example"), 421);
    for (const auto* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""}) {
      EXPECT_EQ(status("content-type", type), 415) << type;
    }
    EXPECT_EQ(status(kWriteHeader, ""), 403) << "a form of another site cannot set it";
  }
}

TEST(Guard, RefusesReadsByPagesOfOtherSites) {
  auto fetched = request("localhost:8090");
  fetched.headers.set("sec-fetch-site", "cross-site");
  fetched.headers.set("sec-fetch-mode", "cors");
  ASSERT_TRUE(refuse(fetched));
  EXPECT_EQ(refuse(fetched)->status, 403);

  auto from_page = request("localhost:8090");
  from_page.headers.set("origin", "http://evil.example");
  ASSERT_TRUE(refuse(from_page));
  EXPECT_EQ(refuse(from_page)->status, 403);
  auto from_other_port = request("localhost:8090");
  from_other_port.headers.set("origin", "http://localhost:9999");
  EXPECT_TRUE(refuse(from_other_port));
}

TEST(Guard, AcceptsItsOwnPageAndLinksToIt) {
  auto own = request("localhost:8090");
  own.headers.set("origin", "http://localhost:8090");
  own.headers.set("sec-fetch-site", "same-origin");
  EXPECT_FALSE(refuse(own));
  auto link = request("localhost:8090");
  link.headers.set("sec-fetch-site", "cross-site");
  link.headers.set("sec-fetch-mode", "navigate");
  EXPECT_FALSE(refuse(link));
}

TEST(Guard, AllowsNoInlineScriptAndNoFrame) {
  const auto headers = answer_headers("text/html", "no-cache");
  const std::string policy(headers.get("content-security-policy"));
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'self';"), std::string::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(headers.get("x-frame-options"), "DENY") << "for a browser without that policy";
  EXPECT_EQ(headers.get("x-content-type-options"), "nosniff");
}

}  // namespace
}  // namespace tidemark::console
