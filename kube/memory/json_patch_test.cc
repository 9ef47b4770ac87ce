#include "kube/memory/json_patch.h"

#include <gtest/gtest.h>

namespace tidemark::kube::memory {
namespace {

Answer<Json> patched(std::string_view target, std::string_view patch) {
  Json value = *Json::parse(target);
  TM_TRY_VOID(apply_json_patch(value, *Json::parse(patch)));
  return value;
}

TEST(JsonPatch, AppliesEachOperation) {
  const struct {
    const char* target;
    const char* patch;
    const char* result;
  } rows[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-1","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":{"b":1}})", R"([{"op":"remove","path":"/a/b"}])", R"({"a":{}})"},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/-1"}])", R"({"a":[1,2]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":{"z":1}}])", R"({"z":1})"},
      {R"({"a":{"x":1}})", R"([{"op":"move","from":"/a/x","path":"/y"}])", R"({"a":{},"y":1})"},
      {R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":{"x":1},"b":{"x":1}})"},
      {R"({"m/n":1,"o~p":2})",
       R"([{"op":"replace","path":"/m~1n","value":3},{"op":"replace","path":"/o~0p","value":4}])",
       R"({"m/n":3,"o~p":4})"},
  };
  for (const auto& row : rows) {
    const auto result = patched(row.target, row.patch);
    ASSERT_TRUE(result) << row.patch << ": " << result.error().message;
    EXPECT_EQ(*result, *Json::parse(row.result)) << row.patch;
  }
}

TEST(JsonPatch, BehavesLikeTheLibraryOfTheServer) {
  EXPECT_EQ(*patched(R"({})", R"([{"op":"replace","path":"/a","value":1}])"), *Json::parse(R"({"a":1})"));
  EXPECT_TRUE(patched(R"({})", R"([{"op":"test","path":"/a","value":null}])"));
  EXPECT_TRUE(patched(R"({"a":null})", R"([{"op":"test","path":"/a","value":null}])"));
  EXPECT_EQ(*patched(R"({})", R"([{"op":"copy","from":"/a","path":"/b"}])"), *Json::parse(R"({"b":null})"));
  EXPECT_EQ(patched(R"({})", R"([{"op":"add","path":"","value":{}}])").error().code, 422);
}

TEST(JsonPatch, TestComparesByValueAndNamesThePath) {
  EXPECT_TRUE(patched(R"({"a":{"x":1,"y":[true]}})", R"([{"op":"test","path":"/a","value":{"y":[true],"x":1}}])"));
  const auto failed = patched(R"({"a":1})", R"([{"op":"test","path":"/a","value":2},{"op":"remove","path":"/a"}])");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 422);
  EXPECT_EQ(failed.error().message, "testing value /a failed: test failed");
}

TEST(JsonPatch, RefusesOperationsThatDoNotApply) {
  for (const char* patch :
       {R"([{"op":"remove","path":"/x"}])", R"([{"op":"add","path":"/x/y","value":1}])",
        R"([{"op":"add","path":"/l/5","value":1}])", R"([{"op":"replace","path":"/l/9","value":1}])",
        R"([{"op":"remove","path":"/l/-3"}])", R"([{"op":"move","from":"/x","path":"/y"}])",
        R"([{"op":"frob","path":"/x"}])", R"([{"op":"add","value":1}])"}) {
    const auto result = patched(R"({"a":1,"l":[1,2]})", patch);
    ASSERT_FALSE(result) << patch;
    EXPECT_EQ(result.error().code, 422) << patch;
  }
  EXPECT_EQ(patched("{}", R"({"op":"add"})").error().code, 400);
  EXPECT_EQ(patched("{}", R"([1])").error().code, 400);
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a"}])").error().code, 400);
}

TEST(JsonPatch, TooManyOperationsAre413) {
  std::string patch = "[";
  for (std::size_t i = 0; i <= kJsonPatchOperationsMax; ++i) patch += R"({"op":"add","path":"/a","value":1},)";
  patch.back() = ']';
  EXPECT_EQ(patched("{}", patch).error().code, 413);
}

TEST(JsonPatch, CopiesCannotExplode) {
  std::string patch = R"([{"op":"add","path":"/a","value":")" + std::string(1000, 'x') + R"("})";
  for (int i = 0; i < 40; ++i) patch += R"(,{"op":"copy","from":"","path":"/a"},{"op":"copy","from":"/a","path":"/b"})";
  for (int i = 0; i < 40; ++i)
    patch +=
        R"(,{"op":"add","path":"/l","value":[]},{"op":"copy","from":"/b","path":"/l/-"},{"op":"copy","from":"/l","path":"/b"})";
  patch += "]";
  EXPECT_EQ(patched("{}", patch).error().code, 422);
}

}  // namespace
}  // namespace tidemark::kube::memory
