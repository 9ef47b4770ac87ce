#include "gateway/access.h"

#include <gtest/gtest.h>

#include "net/seal.h"

namespace tidemark::gateway {
namespace {

// The first hash is of another token.
constexpr std::string_view kRules = R"(schema: 1
users:
- name: ann
  business: ads
  tokenSha256: [fb0c4a1a2ffb1e9c6f29dd0f3cf8a3c9fa8f0a9d1e52f0d4a3ad3f7b1d8c9e10, TOKEN_OF_ANN]
  principals: [ann@EXAMPLE.COM]
- name: root-of-all
  business: ops
  admin: true
  tokenSha256: [TOKEN_OF_ADMIN]
businesses:
- name: ads
  quota: {running: 2, queued: 3, cores: 40}
  defaults: {spark.executor.memory: 4g, spark.executor.cores: 2}
  fixed: {spark.yarn.queue: ads}
- name: ops
classes:
- name: spark
  defaults: {spark.executor.memory: 2g, spark.task.maxFailures: "8"}
  fixed: {spark.yarn.queue: shared, spark.eventLog.enabled: true}
)";

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

std::string rules_text() {
  std::string text(kRules);
  text.replace(text.find("TOKEN_OF_ANN"), 12, hex(net::sha256("ann's token")));
  text.replace(text.find("TOKEN_OF_ADMIN"), 14, hex(net::sha256("admin's token")));
  return text;
}

TEST(Access, FindsUsersByTokenAndPrincipal) {
  const auto rules = AccessRules::parse(rules_text());
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->by_token("ann's token"), (Caller{"ann", "ads", false}));
  EXPECT_EQ(rules->by_token("admin's token"), (Caller{"root-of-all", "ops", true}));
  EXPECT_EQ(rules->by_token("ann's token "), std::nullopt);
  EXPECT_EQ(rules->by_token(""), std::nullopt);
  EXPECT_EQ(rules->by_principal("ann@EXAMPLE.COM"), (Caller{"ann", "ads", false}));
  EXPECT_EQ(rules->by_principal("ann@OTHER.COM"), std::nullopt);
  EXPECT_EQ(rules->quota_of("ads"), (policy::route::Quota{2, 3, 40}));
  EXPECT_EQ(rules->quota_of("ops"), policy::route::Quota{});
}

TEST(Access, FixedPropertiesWinOverTheJobAndDefaultsDoNot) {
  const auto rules = AccessRules::parse(rules_text());
  ASSERT_TRUE(rules) << rules.error().message;
  SparkJob job;
  job.conf = {{std::string(kBusinessConf), "ads"}, {"spark.executor.cores", "1"}, {"spark.yarn.queue", "mine"}};
  rules->apply(job);
  EXPECT_EQ(job.conf, (std::map<std::string, std::string>{{std::string(kBusinessConf), "ads"},
                                                          {"spark.executor.cores", "1"},
                                                          {"spark.executor.memory", "4g"},
                                                          {"spark.eventLog.enabled", "true"},
                                                          {"spark.task.maxFailures", "8"},
                                                          {"spark.yarn.queue", "ads"}}));
  SparkJob other;
  other.conf = {{std::string(kBusinessConf), "ops"}, {std::string(kClassConf), "training"}};
  rules->apply(other);
  EXPECT_EQ(other.conf.size(), 2U);
}

TEST(Access, AWrongFileIsRefusedWithItsPlace) {
  const auto message = [](std::string_view text) {
    const auto rules = AccessRules::parse(text);
    return rules ? std::string() : rules.error().message;
  };
  EXPECT_EQ(message("schema: 2"), "schema: 1 is expected, found 2");
  EXPECT_EQ(message("schema: 1\nuser: []"), "top level: unknown key \"user\"");
  EXPECT_EQ(message("schema: 1\nusers: [{name: ann}]"), "users[0].business is required");
  EXPECT_EQ(message("schema: 1\nusers: [{name: ann, business: ads}]"), "user ann: business ads is not in businesses");
  EXPECT_TRUE(
      message("schema: 1\nusers: [{name: a b, business: ads}]").starts_with("users[0].name: a name of at most"));
  EXPECT_EQ(message("schema: 1\nusers: [{name: a, business: b}, {name: a, business: b}]\nbusinesses: [{name: b}]"),
            "users[1]: user a is given twice");
  EXPECT_TRUE(message("schema: 1\nbusinesses: [{name: b, quota: {running: -1}}]")
                  .starts_with("businesses[0].quota.running: a number from 0"));
  EXPECT_EQ(message("schema: 1\nclasses: [{name: spark, quota: {}}]"), "classes[0]: unknown key \"quota\"");
  EXPECT_TRUE(message("schema: 1\nclasses: [{name: spark, fixed: {spark.tidemark.business: x}}]")
                  .ends_with("spark.tidemark.business cannot be set here"));
  const std::string token = message("schema: 1\nusers: [{name: a, business: b, tokenSha256: [a-secret-token]}]");
  EXPECT_TRUE(token.starts_with("users[0].tokenSha256: the SHA-256 of a token")) << token;
  EXPECT_FALSE(token.contains("a-secret-token")) << "a token that was put there by mistake is not shown";
}

}  // namespace
}  // namespace tidemark::gateway
