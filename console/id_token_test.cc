// ID tokens that must be accepted, and those of an attacker.
#include "console/id_token.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "net/issuer_key.h"
#include "net/seal.h"

namespace tidemark::console {
namespace {

using base::cat;
using net::IssuerKey;
using Algorithm = net::PublicKey::Algorithm;

constexpr std::string_view kIssuer = "https://issuer.example";
constexpr std::int64_t kNow_s = 1'795'000'000;

struct Claims {
  std::string iss = std::string(kIssuer), aud = R"("console")", sub = "ann", nonce = "n-1", more;
  std::int64_t iat = kNow_s, exp = kNow_s + 600;
  std::string text() const {
    return cat(R"({"iss":")", iss, R"(","aud":)", aud, R"(,"sub":")", sub, R"(","nonce":")", nonce, R"(","iat":)", iat,
               R"(,"exp":)", exp, more, "}");
  }
};

class IdTokens : public ::testing::Test {
 protected:
  IdTokens() : keys(*parse_keys(cat(R"({"keys":[)", rsa().jwk("r"), ",", p256().jwk("e"), "]}"))) {}

  // Made once: an RSA key takes a while.
  static const IssuerKey& rsa() {
    static const IssuerKey kKey(Algorithm::kRs256);
    return kKey;
  }
  static const IssuerKey& p256() {
    static const IssuerKey kKey(Algorithm::kEs256);
    return kKey;
  }
  IdTokenFault check(std::string_view token) const {
    return check_id_token(token, keys, {kIssuer, "console", "n-1", base::WallTime{std::chrono::seconds(kNow_s)}});
  }
  IdTokenFault check(const Claims& claims) const { return check(p256().token(claims.text(), "e", "ES256")); }

  std::vector<SigningKey> keys;
};

TEST_F(IdTokens, AcceptsBothAlgorithms) {
  EXPECT_EQ(keys.size(), 2u);
  EXPECT_EQ(check(rsa().token(Claims().text(), "r", "RS256")), IdTokenFault::kNone);
  EXPECT_EQ(check(p256().token(Claims().text(), "e", "ES256")), IdTokenFault::kNone);
  EXPECT_EQ(check(p256().token(R"({"alg":"ES256"})", Claims().text())), IdTokenFault::kNone) << "without kid";
}

TEST_F(IdTokens, RefusesTokenWithoutSignature) {
  const std::string claims = net::base64url(Claims().text());
  for (const std::string_view algorithm : {"none", "None", "NONE", ""}) {
    const std::string head = net::base64url(cat(R"({"alg":")", algorithm, R"("})"));
    EXPECT_EQ(check(cat(head, ".", claims, ".")), IdTokenFault::kAlgorithm) << algorithm;
    EXPECT_EQ(check(cat(head, ".", claims, ".AAAA")), IdTokenFault::kAlgorithm) << algorithm;
  }
  EXPECT_EQ(check(cat(net::base64url(R"({"typ":"JWT"})"), ".", claims, ".")), IdTokenFault::kAlgorithm);
  EXPECT_EQ(check(cat(net::base64url(R"({"alg":"ES256","kid":"e"})"), ".", claims, ".")), IdTokenFault::kSignature);
}

// An attacker knows the public keys, and signs with one of them as the secret of HS256.
TEST_F(IdTokens, RefusesPublicKeyAsSecret) {
  const std::string claims = net::base64url(Claims().text());
  for (const std::string_view algorithm : {"HS256", "HS384", "HS512", "RS384", "PS256", "ES384", "EdDSA"}) {
    const std::string head = net::base64url(cat(R"({"alg":")", algorithm, R"(","kid":"r"})"));
    EXPECT_EQ(check(cat(head, ".", claims, ".", net::base64url(net::sha256("any")))), IdTokenFault::kAlgorithm);
  }
}

TEST_F(IdTokens, KeyIsUsedForItsOwnAlgorithmOnly) {
  EXPECT_EQ(check(p256().token(Claims().text(), "r", "ES256")), IdTokenFault::kUnknownKey);
  EXPECT_EQ(check(p256().token(Claims().text(), "e", "RS256")), IdTokenFault::kUnknownKey);
  EXPECT_EQ(check(p256().token(Claims().text(), "r", "RS256")), IdTokenFault::kSignature);
}

TEST_F(IdTokens, RefusesChangedTextAndOtherKeys) {
  const std::string token = p256().token(Claims().text(), "e", "ES256");
  Claims other;
  other.sub = "admin";
  const auto first = token.find('.'), second = token.rfind('.');
  EXPECT_EQ(check(cat(token.substr(0, first + 1), net::base64url(other.text()), token.substr(second))),
            IdTokenFault::kSignature);
  EXPECT_EQ(check(IssuerKey(Algorithm::kEs256).token(Claims().text(), "e", "ES256")), IdTokenFault::kSignature);
  EXPECT_EQ(check(p256().token(Claims().text(), "new", "ES256")), IdTokenFault::kUnknownKey);
  EXPECT_EQ(check(token.substr(0, token.size() - 4)), IdTokenFault::kSignature);
  EXPECT_EQ(check(cat(token.substr(0, second + 1), net::base64url(std::string(64, '\0')))), IdTokenFault::kSignature);
}

TEST_F(IdTokens, RefusesWrongClaims) {
  Claims claims;
  claims.iss = "https://issuer.example/";
  EXPECT_EQ(check(claims), IdTokenFault::kIssuer);
  claims = {};
  claims.aud = R"("other")";
  EXPECT_EQ(check(claims), IdTokenFault::kAudience);
  claims.aud = R"(["other"])";
  EXPECT_EQ(check(claims), IdTokenFault::kAudience);
  claims.aud = R"(["console","other"])";
  EXPECT_EQ(check(claims), IdTokenFault::kAudience) << "for which of them was it made?";
  claims.more = R"(,"azp":"other")";
  EXPECT_EQ(check(claims), IdTokenFault::kAudience);
  claims.more = R"(,"azp":"console")";
  EXPECT_EQ(check(claims), IdTokenFault::kNone);
  claims = {};
  claims.aud = R"({"console":1})";
  EXPECT_EQ(check(claims), IdTokenFault::kAudience);
  claims = {};
  claims.nonce = "n-2";
  EXPECT_EQ(check(claims), IdTokenFault::kNonce);
  claims.nonce = "";
  EXPECT_EQ(check(claims), IdTokenFault::kNonce);
  claims = {};
  claims.sub = "";
  EXPECT_EQ(check(claims), IdTokenFault::kMalformed);
}

TEST_F(IdTokens, RefusesWrongTimesWithAMinuteOfSkew) {
  Claims claims;
  claims.exp = kNow_s - 59;
  EXPECT_EQ(check(claims), IdTokenFault::kNone);
  claims.exp = kNow_s - 60;
  EXPECT_EQ(check(claims), IdTokenFault::kExpired);
  claims = {};
  claims.iat = kNow_s + 60;
  EXPECT_EQ(check(claims), IdTokenFault::kNone);
  claims.iat = kNow_s + 61;
  EXPECT_EQ(check(claims), IdTokenFault::kNotYetValid);
  claims = {};
  claims.more = cat(R"(,"nbf":)", kNow_s + 61);
  EXPECT_EQ(check(claims), IdTokenFault::kNotYetValid);
  claims.more = R"(,"nbf":"soon")";
  EXPECT_EQ(check(claims), IdTokenFault::kMalformed);
  claims.more = R"(,"iat":9530000000)";
  EXPECT_EQ(check(claims), IdTokenFault::kNotYetValid) << "more nanoseconds than 64 bits count";
  claims.more = R"(,"exp":9999999999)";
  EXPECT_EQ(check(claims), IdTokenFault::kNone);
  claims.more = R"(,"exp":1e300)";
  EXPECT_EQ(check(claims), IdTokenFault::kMalformed);
  claims.more = R"(,"exp":-1)";
  EXPECT_EQ(check(claims), IdTokenFault::kMalformed);
}

TEST_F(IdTokens, RefusesMalformedTokens) {
  const std::string token = p256().token(Claims().text(), "e", "ES256");
  for (const std::string& each :
       {std::string(), std::string("."), std::string(".."), token + ".", token + "=", " " + token,
        std::string(kIdTokenBytesMax + 1, 'a'), token.substr(0, token.rfind('.'))}) {
    EXPECT_EQ(check(each), IdTokenFault::kMalformed) << each.substr(0, 50);
  }
  EXPECT_EQ(check(p256().token(R"({"alg":"ES256","crit":["exp"]})", Claims().text())), IdTokenFault::kMalformed);
  EXPECT_EQ(check(p256().token(R"({"alg":"ES256"})", "[]")), IdTokenFault::kMalformed);
}

TEST(SigningKeys, LeavesOutKeysThatDoNotSign) {
  const IssuerKey key(Algorithm::kEs256), weak(Algorithm::kRs256, 1024);
  const std::string good = key.jwk("e");
  std::string encrypts = good, other = good;
  encrypts.replace(encrypts.find("\"sig\""), 5, "\"enc\"");
  other.replace(other.find("ES256"), 5, "ES384");
  const auto keys = parse_keys(cat(R"({"keys":[)", encrypts, ",", other, ",", weak.jwk("w"), R"(,1,{"kty":"oct"},)",
                                   R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"},)", good, "]}"));
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ(keys->front().id, "e");
  EXPECT_FALSE(parse_keys(cat(R"({"keys":[)", weak.jwk("w"), "]}")));
  EXPECT_FALSE(parse_keys(R"({"keys":{}})"));
  EXPECT_FALSE(parse_keys("[]"));
}

TEST(DiscoveryDocument, IsOfTheIssuerAndHasHttpsAddresses) {
  const auto document = [](std::string_view issuer, std::string_view token) {
    return cat(R"({"issuer":")", issuer,
               R"(","authorization_endpoint":"https://a.example/auth?p=1","token_endpoint":")", token,
               R"(","jwks_uri":"https://a.example/keys","token_endpoint_auth_methods_supported":[)",
               R"("client_secret_post"]})");
  };
  const auto good = parse_discovery(document(kIssuer, "https://a.example/token"), kIssuer);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->authorization_endpoint, "https://a.example/auth?p=1");
  EXPECT_TRUE(good->secret_in_body);
  EXPECT_FALSE(parse_discovery(document("https://other.example", "https://a.example/token"), kIssuer));
  for (const std::string_view wrong : {"", "http://a.example/token", "/token", "https://", "https://a.example/#x",
                                       "javascript:alert(1)", "https://user@a.example/token"}) {
    EXPECT_FALSE(parse_discovery(document(kIssuer, wrong), kIssuer)) << wrong;
  }
  EXPECT_FALSE(parse_discovery("{}", kIssuer));
  EXPECT_FALSE(parse_discovery("", kIssuer));
}

TEST_F(IdTokens, OfARefreshNeedNoNonceButTheSamePerson) {
  Claims claims;
  claims.nonce = "another";
  const std::string token = p256().token(claims.text(), "e", "ES256");
  const auto refreshed = [&](std::string_view subject) {
    const base::WallTime now{std::chrono::seconds(kNow_s)};
    return check_id_token(token, keys, {kIssuer, "console", std::nullopt, now, subject});
  };
  EXPECT_EQ(refreshed("ann"), IdTokenFault::kNone);
  EXPECT_EQ(refreshed("eve"), IdTokenFault::kSubject);
  EXPECT_EQ(facts_of(token)->subject, "ann");
  EXPECT_EQ(facts_of(token)->expires, base::WallTime{std::chrono::seconds(kNow_s + 600)});
  for (const auto* other : {"", "a.b", "a.b.c", "e30.e30."}) EXPECT_FALSE(facts_of(other)) << other;
}

}  // namespace
}  // namespace tidemark::console
