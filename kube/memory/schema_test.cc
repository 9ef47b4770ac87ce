#include "kube/memory/schema.h"

#include <gtest/gtest.h>

namespace tidemark::kube::memory {
namespace {

std::shared_ptr<const Schema> compile(std::string_view text) {
  std::vector<Cause> causes;
  auto schema = Schema::compile(*Json::parse(text), "schema", causes);
  for (const Cause& cause : causes) ADD_FAILURE() << cause.field << ": " << cause.message;
  return schema;
}

std::vector<std::string> findings(const Schema& schema, std::string_view text) {
  std::vector<Cause> causes;
  schema.validate(*Json::parse(text), causes);
  std::vector<std::string> out;
  for (const Cause& cause : causes) out.push_back(cause.field + ": " + cause.message);
  return out;
}

TEST(Schema, ReportsWrongTypesLikeTheServer) {
  const auto schema = compile(
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{"minMember":{"type":"integer"}}}}})");
  EXPECT_EQ(
      findings(*schema, R"({"spec":{"minMember":"x"}})"),
      std::vector<std::string>{
          R"(spec.minMember: Invalid value: "string": spec.minMember in body must be of type integer: "string")"});
  EXPECT_TRUE(findings(*schema, R"({"spec":{"minMember":3}})").empty());
  EXPECT_EQ(findings(*schema, R"({"spec":{"minMember":3.5}})").size(), 1u);
}

TEST(Schema, CostOfPatternsIsBounded) {
  const auto refused = [](const std::string& pattern) {
    std::vector<Cause> causes;
    Schema::compile(
        Json::object({{"type", "object"},
                      {"properties", Json::object({{"s", Json::object({{"type", "string"}, {"pattern", pattern}})}})}}),
        "schema", causes);
    return !causes.empty();
  };
  EXPECT_TRUE(refused(std::string(2000, '(') + "a" + std::string(2000, ')')));
  EXPECT_TRUE(refused("((((a{100}){100}){100}){100})"));
  EXPECT_TRUE(refused("a{99999999999}"));
  EXPECT_TRUE(refused(std::string(5000, 'a')));
  EXPECT_FALSE(refused("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"));
  EXPECT_FALSE(
      refused("^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|"
              "([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|"
              "([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3})$"));
  const auto schema = compile(R"({"type":"object","properties":{"s":{"type":"string","pattern":"^[a-z]+$"}}})");
  EXPECT_EQ(findings(*schema, "{\"s\":\"a\\u0000B\"}").size(), 1u) << "text after a NUL counts";
}

TEST(Schema, Bounds) {
  const auto schema = compile(R"({"type":"object","required":["n"],"properties":{
    "n":{"type":"integer","minimum":1,"maximum":9,"multipleOf":2},
    "s":{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-z]+$"},
    "e":{"type":"string","enum":["a","b"]},
    "l":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}},
    "t":{"type":"string","format":"date-time"},
    "x":{"x-kubernetes-int-or-string":true},
    "m":{"type":"object","maxProperties":1,"additionalProperties":{"type":"integer"}},
    "z":{"type":"string","nullable":true}}})");
  EXPECT_TRUE(
      findings(*schema,
               R"({"n":4,"s":"abc","e":"a","l":["x"],"t":"2026-01-01T00:00:00Z","x":"5%","m":{"a":1},"z":null})")
          .empty());
  for (const char* bad :
       {R"({})", R"({"n":0})", R"({"n":10})", R"({"n":3})", R"({"n":2,"s":"a"})", R"({"n":2,"s":"abcd"})",
        R"({"n":2,"s":"A1"})", R"({"n":2,"e":"c"})", R"({"n":2,"l":[]})", R"({"n":2,"l":["a","b","c"]})",
        R"({"n":2,"l":[1]})", R"({"n":2,"t":"today"})", R"({"n":2,"x":true})", R"({"n":2,"m":{"a":"b"}})",
        R"({"n":2,"m":{"a":1,"b":2}})", R"({"n":null})"})
    EXPECT_FALSE(findings(*schema, bad).empty()) << bad;
  EXPECT_EQ(findings(*schema, R"({"n":2,"e":"c"})").front(),
            R"(e: Unsupported value: "c": supported values: "a", "b")");
}

TEST(Schema, ListsAsMapsAndSets) {
  const auto schema = compile(R"({"type":"object","properties":{
    "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}},
    "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}})");
  EXPECT_TRUE(findings(*schema, R"({"m":[{"k":"a"},{"k":"b"}],"s":["a","b"]})").empty());
  EXPECT_EQ(findings(*schema, R"({"m":[{"k":"a"},{"k":"a"}]})").front(), R"(m[1]: Duplicate value: {"k":"a"})");
  EXPECT_EQ(findings(*schema, R"({"s":["a","a"]})").size(), 1u);
}

TEST(Schema, PrunesAndNamesDroppedFields) {
  const auto schema = compile(R"({"type":"object","properties":{
    "spec":{"type":"object","properties":{"a":{"type":"string"},"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "l":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}},
      "pod":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{}}}}}})");
  Json value = *Json::parse(R"({"apiVersion":"v","kind":"k","metadata":{"x":1},"top":1,
    "spec":{"a":"1","b":2,"free":{"c":3},"l":[{"b":"x","d":1}],"pod":{"apiVersion":"v1","kind":"Pod","metadata":{},"junk":1}}})");
  std::vector<std::string> unknown;
  schema->prune(value, unknown);
  EXPECT_EQ(unknown, (std::vector<std::string>{"top", "spec.b", "spec.l[0].d", "spec.pod.junk"}));
  EXPECT_EQ(value, *Json::parse(R"({"apiVersion":"v","kind":"k","metadata":{"x":1},
    "spec":{"a":"1","free":{"c":3},"l":[{"b":"x"}],"pod":{"apiVersion":"v1","kind":"Pod","metadata":{}}}})"));
}

TEST(Schema, Defaults) {
  const auto schema = compile(R"({"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{
    "n":{"type":"integer","default":3},"keep":{"type":"string","nullable":true,"default":"x"}}}}})");
  Json value = *Json::parse(R"({})");
  schema->apply_defaults(value);
  EXPECT_EQ(value, *Json::parse(R"({"spec":{"n":3,"keep":"x"}})"));
  value = *Json::parse(R"({"spec":{"n":null,"keep":null}})");
  schema->apply_defaults(value);
  EXPECT_EQ(value, *Json::parse(R"({"spec":{"n":3,"keep":null}})"));
}

TEST(Schema, Logic) {
  const auto schema = compile(R"({"type":"object","properties":{"v":{"x-kubernetes-int-or-string":true,
    "anyOf":[{"type":"integer"},{"type":"string"}],"not":{"enum":["bad"]}},"w":{"type":"integer","oneOf":[{"minimum":5},{"maximum":7}]}}})");
  EXPECT_TRUE(findings(*schema, R"({"v":1,"w":9})").empty());
  EXPECT_EQ(findings(*schema, R"({"v":"bad"})").size(), 1u);
  EXPECT_EQ(findings(*schema, R"({"w":6})").size(), 1u);
}

TEST(Schema, RefusesNonStructuralAndUnsupportedSchemas) {
  const struct {
    const char* schema;
    const char* field;
  } rows[] = {
      {R"({"properties":{}})", "schema.type"},
      {R"({"type":"string"})", "schema.type"},
      {R"({"type":"object","properties":{"a":{}}})", "schema.properties[a].type"},
      {R"({"type":"object","properties":{"a":{"type":"list"}}})", "schema.properties[a].type"},
      {R"({"type":"object","properties":{"a":{"type":"array"}}})", "schema.properties[a].items"},
      {R"({"type":"object","x-kubernetes-validations":[{"rule":"true"}]})", "schema.x-kubernetes-validations"},
      {R"({"type":"object","$ref":"x"})", "schema.$ref"},
      {R"x({"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}})x", "schema.properties[a].pattern"},
      {R"({"type":"object","properties":{"a":{"type":"integer","default":"x"}}})", "schema.properties[a].default"},
      {R"({"type":"object","additionalProperties":{"type":"string"},"properties":{"a":{"type":"string"}}})",
       "schema.additionalProperties"},
  };
  for (const auto& row : rows) {
    std::vector<Cause> causes;
    EXPECT_EQ(Schema::compile(*Json::parse(row.schema), "schema", causes), nullptr) << row.schema;
    ASSERT_FALSE(causes.empty()) << row.schema;
    EXPECT_EQ(causes.front().field, row.field);
  }
}

}  // namespace
}  // namespace tidemark::kube::memory
