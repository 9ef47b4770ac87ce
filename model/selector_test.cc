#include "model/selector.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tidemark::model {
namespace {

LabelSelector read(std::string_view text) {
  const auto json = Json::parse(text);
  EXPECT_TRUE(json.has_value()) << text;
  auto selector = LabelSelector::from_json(*json);
  EXPECT_TRUE(selector.has_value()) << text;
  return selector ? *selector : LabelSelector::nothing();
}

const std::vector<Label> kLabels{{"pool", "batch"}, {"zone", "a"}, {"example.com/empty", ""}};

TEST(Selector, NoneMatchesNothingAndEmptyMatchesEverything) {
  EXPECT_FALSE(read("null").matches(kLabels));
  EXPECT_TRUE(read("{}").matches(kLabels));
  EXPECT_TRUE(read("{}").matches({}));
  EXPECT_TRUE(read(R"({"matchLabels":{},"matchExpressions":[]})").matches(kLabels));
  EXPECT_TRUE(read(R"({"matchLabels":null,"matchExpressions":null})").matches(kLabels));
}

TEST(Selector, EveryRequirementMustHold) {
  EXPECT_TRUE(read(R"({"matchLabels":{"pool":"batch"}})").matches(kLabels));
  EXPECT_FALSE(read(R"({"matchLabels":{"pool":"online"}})").matches(kLabels));
  EXPECT_FALSE(read(R"({"matchLabels":{"pool":"batch","zone":"b"}})").matches(kLabels));
  EXPECT_TRUE(read(R"({"matchLabels":{"example.com/empty":""}})").matches(kLabels));
  EXPECT_FALSE(read(R"({"matchLabels":{"absent":""}})").matches(kLabels));
}

TEST(Selector, Operators) {
  const auto matches = [](std::string_view expression) {
    return read(std::string(R"({"matchExpressions":[)").append(expression).append("]}")).matches(kLabels);
  };
  EXPECT_TRUE(matches(R"({"key":"pool","operator":"In","values":["a","batch"]})"));
  EXPECT_FALSE(matches(R"({"key":"absent","operator":"In","values":["a"]})"));
  EXPECT_FALSE(matches(R"({"key":"pool","operator":"NotIn","values":["batch"]})"));
  EXPECT_TRUE(matches(R"({"key":"absent","operator":"NotIn","values":["batch"]})"));  // Kubernetes: absent is not in
  EXPECT_TRUE(matches(R"({"key":"pool","operator":"Exists"})"));
  EXPECT_FALSE(matches(R"({"key":"absent","operator":"Exists"})"));
  EXPECT_TRUE(matches(R"({"key":"absent","operator":"DoesNotExist"})"));
  EXPECT_FALSE(matches(R"({"key":"pool","operator":"DoesNotExist","values":[]})"));
}

TEST(Selector, ReportsABrokenRuleAndMatchesNothing) {
  for (const auto* text : {R"({"matchExpressions":[{"key":"pool","operator":"Like","values":["b"]}]})",
                           R"({"matchExpressions":[{"key":"pool","operator":"In"}]})",
                           R"({"matchExpressions":[{"key":"pool","operator":"Exists","values":["b"]}]})",
                           R"({"matchExpressions":[{"operator":"Exists"}]})",
                           R"({"matchExpressions":[{"key":"pool","operator":"in","values":["batch"]}]})",
                           R"({"matchLabels":{"-pool":"batch"}})", R"({"matchLabels":{"pool":"not a value"}})",
                           R"({"matchLabels":{"Example.com/pool":"batch"}})", R"({"matchLabels":{"a/b/c":"batch"}})"}) {
    const auto selector = read(text);
    EXPECT_TRUE(selector.problem().has_value()) << text;
    EXPECT_FALSE(selector.matches(kLabels)) << text;
  }
}

TEST(Selector, WrongTypesAreAnError) {
  for (const auto* text : {"[]", "1", R"({"matchLabels":[]})", R"({"matchLabels":{"pool":1}})",
                           R"({"matchExpressions":{}})", R"({"matchExpressions":["pool"]})",
                           R"({"matchExpressions":[{"key":1}]})", R"({"matchExpressions":[{"key":"a","values":"b"}]})",
                           R"({"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})"}) {
    EXPECT_FALSE(LabelSelector::from_json(*Json::parse(text)).has_value()) << text;
  }
}

TEST(LabelText, LengthsAndCharacters) {
  EXPECT_TRUE(check_label_key("a").has_value());
  EXPECT_TRUE(check_label_key("node.koordinator.sh/cpu-reclaim-ratio").has_value());
  EXPECT_TRUE(check_label_key(std::string(63, 'a')).has_value());
  EXPECT_FALSE(check_label_key(std::string(64, 'a')).has_value());
  EXPECT_FALSE(check_label_key("").has_value());
  EXPECT_FALSE(check_label_key("/a").has_value());
  EXPECT_FALSE(check_label_key("a/").has_value());
  EXPECT_FALSE(check_label_key(std::string(254, 'a') + "/a").has_value());
  EXPECT_TRUE(check_label_value("").has_value());
  EXPECT_TRUE(check_label_value("0.29").has_value());
  EXPECT_FALSE(check_label_value("a-").has_value());
  EXPECT_FALSE(check_label_value(std::string(64, 'a')).has_value());
}

}  // namespace
}  // namespace tidemark::model
