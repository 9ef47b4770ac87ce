#include "console/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;

constexpr base::WallTime kNow{1'700'000'000s};

std::string value_of(const std::string& set_cookie) {
  return set_cookie.substr(0, set_cookie.find(';'));
}

TEST(Session, IsReadByEveryHolderOfTheSecret) {
  const Session session{"ann", "token", "refresh", kNow, kNow};
  const auto cookie = session_cookie(net::Sealer("secret"), session);
  ASSERT_TRUE(cookie);
  EXPECT_TRUE(cookie->starts_with("__Host-tidemark="));
  for (const char* attribute : {"; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/"}) {
    EXPECT_NE(cookie->find(attribute), std::string::npos) << attribute;
  }
  EXPECT_EQ(cookie->find("token"), std::string::npos) << "the token cannot be read from the cookie";
  EXPECT_EQ(read_session(net::Sealer("secret"), base::cat("a=b; ", value_of(*cookie)), kNow), session);
  EXPECT_FALSE(read_session(net::Sealer("other"), value_of(*cookie), kNow));
}

TEST(Session, EndsWithoutRenewalAndAfterTheWholeTime) {
  const net::Sealer sealer("secret");
  const auto cookie = value_of(*session_cookie(sealer, {"ann", "token", "", kNow, kNow}));
  EXPECT_TRUE(read_session(sealer, cookie, kNow + kIdleMax));
  EXPECT_FALSE(read_session(sealer, cookie, kNow + kIdleMax + 1s));
  const auto renewed = value_of(*session_cookie(sealer, {"ann", "token", "", kNow, kNow + kWholeMax}));
  EXPECT_TRUE(read_session(sealer, renewed, kNow + kWholeMax));
  EXPECT_FALSE(read_session(sealer, renewed, kNow + kWholeMax + 1s));
}

TEST(Session, RefusesForeignAndDoubledCookies) {
  const net::Sealer sealer("secret");
  const auto cookie = value_of(*session_cookie(sealer, {"ann", "token", "", kNow, kNow}));
  for (const std::string& cookies :
       {std::string(), std::string("__Host-tidemark="), std::string("__Host-tidemark=abc"),
        "tidemark=" + cookie.substr(cookie.find('=') + 1), cookie + "; __Host-tidemark=abc"}) {
    EXPECT_FALSE(read_session(sealer, cookies, kNow)) << cookies;
  }
  EXPECT_FALSE(read_session(sealer, value_of(ended_session_cookie()), kNow));
}

TEST(Session, RefusesATokenThatNoCookieHolds) {
  const net::Sealer sealer("secret");
  const auto longest = session_cookie(sealer, {"ann", std::string(kSessionTokenBytesMax, 'x'), "", kNow, kNow});
  ASSERT_TRUE(longest);
  EXPECT_LE(longest->size(), 4096u);
  EXPECT_FALSE(session_cookie(sealer, {"ann", std::string(kSessionTokenBytesMax + 1, 'x'), "", kNow, kNow}));
}

TEST(Session, LeavesOutARefreshTokenThatDoesNotFit) {
  const net::Sealer sealer("secret");
  const std::string token(kSessionTokenBytesMax - 100, 'x');
  const auto refresh_token_of = [&](std::size_t bytes) {
    const auto cookie = session_cookie(sealer, {"ann", token, std::string(bytes, 'r'), kNow, kNow});
    EXPECT_LE(cookie->size(), 4096u);
    return read_session(sealer, value_of(*cookie), kNow)->refresh_token.size();
  };
  EXPECT_EQ(refresh_token_of(100), 100u);
  EXPECT_EQ(refresh_token_of(101), 0u) << "the session then ends with its token";
}

TEST(ConsoleSession, CookiesInSeveralFieldsAreOneHeader) {
  net::Headers headers;
  headers.add("cookie", "other=1");
  headers.add("cookie", "__Host-tidemark=2");
  EXPECT_EQ(cookie_in(cookies_of(headers), kSessionCookie), "2");
  EXPECT_EQ(cookies_of({}), "");
}

}  // namespace
}  // namespace tidemark::console
