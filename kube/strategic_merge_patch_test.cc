#include "kube/strategic_merge_patch.h"

#include <gtest/gtest.h>

namespace tidemark::kube {
namespace {

Result<Json> patched(std::string_view type, std::string_view target, std::string_view patch) {
  Json value = *Json::parse(target);
  TM_TRY_VOID(apply_strategic_merge_patch(value, *Json::parse(patch), builtin_types().find(type)));
  return value;
}

void expect(std::string_view type, std::string_view target, std::string_view patch, std::string_view result) {
  const auto got = patched(type, target, patch);
  ASSERT_TRUE(got) << patch << ": " << got.error().message;
  EXPECT_EQ(got->dump(), Json::parse(result)->dump()) << patch;
}

TEST(StrategicMergePatch, MergesListsByTheirKey) {
  expect("PodSpec", R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]})",
         R"({"containers":[{"name":"b","image":"2"},{"name":"c","image":"3"}]})",
         R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c","image":"3"}]})");
  expect("NodeStatus", R"({"conditions":[{"type":"Ready","status":"False","reason":"x"}]})",
         R"({"conditions":[{"type":"Ready","status":"True"}]})",
         R"({"conditions":[{"type":"Ready","status":"True","reason":"x"}]})");
  expect("Container", R"({"ports":[{"containerPort":80,"name":"w"}]})",
         R"({"ports":[{"containerPort":80,"hostPort":8}]})",
         R"({"ports":[{"containerPort":80,"name":"w","hostPort":8}]})");
  expect("ServiceSpec", R"({"ports":[{"port":80}]})", R"({"ports":[{"port":81}]})",
         R"({"ports":[{"port":81},{"port":80}]})");  // what the patch names comes first where nothing says otherwise
}

TEST(StrategicMergePatch, ReplacesAtomicLists) {
  expect("NodeSpec", R"({"taints":[{"key":"a","effect":"NoSchedule"}]})",
         R"({"taints":[{"key":"b","effect":"NoExecute"}]})", R"({"taints":[{"key":"b","effect":"NoExecute"}]})");
  expect("Container", R"({"args":["a"]})", R"({"args":["b"]})", R"({"args":["b"]})");
}

TEST(StrategicMergePatch, MergesPlainListsAndDeletesFromThem) {
  expect("ObjectMeta", R"({"finalizers":["a","b"]})", R"({"finalizers":["b","c"]})", R"({"finalizers":["a","b","c"]})");
  expect("ObjectMeta", R"({"finalizers":["a","b"]})", R"({"$deleteFromPrimitiveList/finalizers":["a"]})",
         R"({"finalizers":["b"]})");
}

TEST(StrategicMergePatch, NullRemovesAndMapsMerge) {
  expect("ObjectMeta", R"({"labels":{"a":"1","b":"2"}})", R"({"labels":{"a":null,"c":"3"}})",
         R"({"labels":{"b":"2","c":"3"}})");
  expect("NodeStatus", R"({"allocatable":{"cpu":"4","memory":"1Gi"}})",
         R"({"allocatable":{"batch-cpu":"1","memory":null}})", R"({"allocatable":{"cpu":"4","batch-cpu":"1"}})");
  expect("NodeSpec", R"({"taints":[{"key":"a"}]})", R"({"taints":null})", R"({})");
}

TEST(StrategicMergePatch, Directives) {
  expect("PodSpec", R"({"containers":[{"name":"a"},{"name":"b"}]})",
         R"({"containers":[{"$patch":"delete","name":"a"}]})", R"({"containers":[{"name":"b"}]})");
  expect("PodSpec", R"({"containers":[{"name":"a"},{"name":"b"}]})",
         R"({"containers":[{"$patch":"replace"},{"name":"c"}]})", R"({"containers":[{"name":"c"}]})");
  expect("ObjectMeta", R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"replace","b":"2"}})",
         R"({"labels":{"b":"2"}})");
  expect("ObjectMeta", R"({"labels":{"a":"1"}})", R"({"labels":{"$patch":"delete"}})", R"({"labels":{}})");
  expect("DeploymentSpec", R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}})",
         R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})", R"({"strategy":{"type":"Recreate"}})");
  expect("PodSpec", R"({})", R"({"containers":[{"name":"a"},{"$patch":"delete","name":"b"}]})",
         R"({"containers":[{"name":"a"}]})");
}

TEST(StrategicMergePatch, SetElementOrder) {
  expect("PodSpec", R"({"containers":[{"name":"a"},{"name":"b"}]})",
         R"({"$setElementOrder/containers":[{"name":"b"},{"name":"c"},{"name":"a"}],"containers":[{"name":"c"}]})",
         R"({"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]})");
  // What the patch does not name keeps its place before or after its old neighbours.
  expect("PodSpec", R"({"containers":[{"name":"x"},{"name":"a"},{"name":"b"}]})",
         R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})",
         R"({"containers":[{"name":"x"},{"name":"b"},{"name":"a"}]})");
  expect("ObjectMeta", R"({"finalizers":["a","b"]})", R"({"$setElementOrder/finalizers":["b","a"]})",
         R"({"finalizers":["b","a"]})");
}

TEST(StrategicMergePatch, RefusesUnknownDirectives) {
  EXPECT_EQ(patched("PodSpec", R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"x"}]})").error().message,
            R"(map: map[image:x] does not contain declared merge key: name)");
  EXPECT_EQ(patched("PodSpec", "{}", R"({"$patch":"frob"})").error().code, 500);
  EXPECT_EQ(patched("PodSpec", "{}", "[]").error().code, 400);
  EXPECT_EQ(patched("PodSpec", R"({"a":1})", R"({"$setElementOrder/containers":1})").error().code, 400);
}

// Where both sides are maps and plain values only, it is a merge patch.
TEST(StrategicMergePatch, EveryTypeOfTheTableHasItsMergeKeys) {
  for (const BuiltinType& type : builtin_types().all()) {
    for (const BuiltinField& field : type.fields) {
      if (field.merge_key.empty()) continue;
      ASSERT_EQ(field.type.shape, "[") << type.name << "." << field.name;
      ASSERT_NE(field.type.type, nullptr) << type.name << "." << field.name;
      EXPECT_NE(field.type.type->find(field.merge_key), nullptr) << type.name << "." << field.name;
    }
  }
  EXPECT_EQ(builtin_types().find("PodSpec")->find("hostAliases")->merge_key, "ip");
  EXPECT_EQ(builtin_types().find("PodSpec")->find("tolerations")->merge, false);
  EXPECT_EQ(builtin_types().find("ObjectMeta")->find("ownerReferences")->merge_key, "uid");
}

}  // namespace
}  // namespace tidemark::kube
