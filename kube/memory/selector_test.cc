#include "kube/memory/selector.h"

#include <gtest/gtest.h>

namespace tidemark::kube::memory {
namespace {

bool selects(std::string_view text, const LabelList& labels) {
  const auto selector = LabelSelector::parse(text);
  EXPECT_TRUE(selector) << text << ": " << (selector ? "" : selector.error().message);
  return selector && selector->matches(labels);
}

TEST(LabelSelector, EachOperator) {
  const LabelList labels = {{"app", "web"}, {"empty", ""}, {"x.io/tier", "1"}};
  for (const char* text : {"", "app=web", "app==web", "app = web", "app!=db", "none!=x", "app in (db, web)",
                           "app notin (db)", "none notin (x)", "app", "!none", "x.io/tier>0", "x.io/tier<2",
                           "empty=", "empty in ()", "app=web,x.io/tier=1,!none", " app in (web) , x.io/tier "})
    EXPECT_TRUE(selects(text, labels)) << text;
  for (const char* text : {"app=db", "app!=web", "app in (db)", "app notin (web,db)", "none", "!app", "x.io/tier>1",
                           "x.io/tier<1", "app=", "app>0", "none<3", "app=web,none"})
    EXPECT_FALSE(selects(text, labels)) << text;
}

TEST(LabelSelector, RefusesGarbage) {
  for (const char* text : {"=", "a=b=c", "a in", "a in (b", "a in b)", "a b", ",", "a,", "!", "a in (b))", "a=b c",
                           "-a=b", "a=-b", "a/b/c=d", "a>x", "a ~ b", "a=b,,c=d"}) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_EQ(selector.error().code, 400) << text;
  }
}

TEST(LabelSelector, FromObject) {
  const LabelList labels = {{"app", "web"}};
  const auto matches = [&](const char* text) {
    const Json value = *Json::parse(text);
    return LabelSelector::from_json(&value)->matches(labels);
  };
  EXPECT_FALSE(LabelSelector::from_json(nullptr)->matches(labels));
  EXPECT_TRUE(matches("{}"));
  EXPECT_TRUE(matches(R"({"matchLabels":{"app":"web"}})"));
  EXPECT_FALSE(matches(R"({"matchLabels":{"app":"db"}})"));
  EXPECT_TRUE(matches(
      R"({"matchExpressions":[{"key":"app","operator":"In","values":["web"]},{"key":"b","operator":"DoesNotExist"}]})"));
  const Json bad = *Json::parse(R"({"matchExpressions":[{"key":"app","operator":"Like"}]})");
  EXPECT_EQ(LabelSelector::from_json(&bad).error().code, 400);
}

TEST(FieldSelector, TermsAndEscapes) {
  const auto terms = parse_field_selector(R"(metadata.name=a,spec.nodeName!=n1,status.phase==Running,x=a\,b\=c\\)");
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->size(), 4u);
  EXPECT_EQ((*terms)[0].field, "metadata.name");
  EXPECT_TRUE((*terms)[1].negated);
  EXPECT_EQ((*terms)[1].field, "spec.nodeName");
  EXPECT_EQ((*terms)[2].value, "Running");
  EXPECT_EQ((*terms)[3].value, R"(a,b=c\)");
  EXPECT_TRUE(parse_field_selector("")->empty());
  EXPECT_EQ(parse_field_selector("a=")->front().value, "");
  for (const char* text : {"a", "a,b=c", "a=b=c", R"(a=\x)", R"(a=b\)"})
    EXPECT_FALSE(parse_field_selector(text)) << text;
}

}  // namespace
}  // namespace tidemark::kube::memory
