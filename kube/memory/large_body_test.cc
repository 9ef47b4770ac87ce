// Bodies with very many members: what is done with each of them must not depend on how many others there are. A step
// that goes through all of them for each takes ten seconds to minutes at these sizes, and half a second otherwise; the
// bound is on processor time, so that a loaded machine keeps it; with sanitizers each step costs some ten times as
// much, of either kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/text.h"
#include "kube/memory/json_patch.h"
#include "kube/memory/testing/server_fixture.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;

constexpr int kMany = 60'000;
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr double kBoundS = 40;
#else
constexpr double kBoundS = 5;
#endif
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";

// `make` of each number, with commas.
std::string many(int count, const std::function<std::string(int)>& make) {
  std::string out;
  for (int i = 0; i < count; ++i) out += cat(i == 0 ? "" : ",", make(i));
  return out;
}
std::string members(std::string_view prefix, std::string_view value, int count = kMany) {
  return many(count, [&](int i) { return cat("\"", prefix, i, "\":", value); });
}
std::string texts(std::string_view prefix, int count = kMany) {
  return many(count, [&](int i) { return cat("\"", prefix, i, "\""); });
}

class LargeBodyTest : public testing::ServerFixture {
 protected:
  void answered(int status, const Reply& reply, const char* what) {
    EXPECT_EQ(reply.status, status) << what << reply.text.substr(0, 300);
    const std::clock_t now = std::clock();
    EXPECT_LT(static_cast<double>(now - last_) / CLOCKS_PER_SEC, kBoundS) << what;
    last_ = now;
  }
  void define(std::string_view kind, std::string_view spec_schema) {
    const Reply made =
        post(kDefinitions,
             cat(R"({"metadata":{"name":")", kind,
                 R"(s.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":")", kind, R"(s","kind":")",
                 kind, R"("},"versions":[{"name":"v1","served":true,"storage":true,"schema":)",
                 R"({"openAPIV3Schema":{"type":"object","properties":{"spec":)", spec_schema, "}}}}]}}"));
    answered(201, made, "definition ");
  }
  Reply make(std::string_view kind, std::string_view spec) {
    return post(cat("/apis/x.io/v1/namespaces/default/", kind, "s"),
                cat(R"({"apiVersion":"x.io/v1","kind":")", kind, R"(","metadata":{"name":"a"},"spec":)", spec, "}"));
  }

  std::clock_t last_ = std::clock();
};

TEST_F(LargeBodyTest, MapsOfBothPatches) {
  for (const char* type : {kMerge, kStrategic}) {
    const std::string map = cat(kMaps, "/m");
    answered(201, post(kMaps, cat(R"({"metadata":{"name":"m"},"data":{)", members("k", "\"\""), "}}")), "post");
    const auto patch = [&](const std::string& data) {
      return call("PATCH", map, cat(R"({"data":{)", data, "}}"), type);
    };
    answered(200, patch(members("k", "\"1\"")), "the same members");
    answered(200, patch(members("x", "\"\"")), "new members");
    answered(200, patch(members("k", "null")), "members removed");
    answered(200, patch(members("none", "null")), "members that are not there removed");
    const Reply left = get(map);
    EXPECT_EQ(left.body.at("data")->as_object().size(), static_cast<std::size_t>(kMany));
    EXPECT_EQ(left.body.at("data")->as_object().begin()->first, "x0");
    answered(200, call("DELETE", map), "delete");
  }
  answered(422,
           post(kMaps, cat(R"({"metadata":{"name":"t"},"data":{)", members("k", "\"\""), R"(},"binaryData":{)",
                           members("k", "\"\""), "}}")),
           "the same members in both");
}

TEST_F(LargeBodyTest, ListsOfStrategicPatches) {
  const std::string map = cat(kMaps, "/m");
  const auto of_metadata = [&](const std::string& member) {
    return call("PATCH", map, cat(R"({"metadata":{)", member, "}}"), kStrategic);
  };
  answered(201, post(kMaps, cat(R"({"metadata":{"name":"m","finalizers":[)", texts("x.io/"), "]}}")), "post");
  answered(200, of_metadata(cat(R"("finalizers":[)", texts("y.io/"), "]")), "texts added");
  answered(200, of_metadata(cat(R"("$deleteFromPrimitiveList/finalizers":[)", texts("x.io/"), "]")), "texts removed");
  EXPECT_EQ(get(map).body.at("metadata", "finalizers")->as_array().size(), static_cast<std::size_t>(kMany));

  const int half = kMany / 2;
  const auto env = [&](std::string_view prefix, std::string_view more) {
    return many(half, [&](int i) { return cat(R"({"name":")", prefix, i, "\"", more, "}"); });
  };
  const auto of_container = [&](const std::string& member) {
    return call("PATCH", cat(kDeployments, "/d"),
                cat(R"({"spec":{"template":{"spec":{"containers":[{"name":"c",)", member, "}]}}}}"), kStrategic);
  };
  answered(
      201,
      post(kDeployments, cat(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{)",
                             members("k", "\"\"", half), R"(}},"template":{"metadata":{"labels":{)",
                             members("k", "\"\"", half), R"(}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")),
      "a selector as large as the labels");
  answered(200, of_container(cat(R"("env":[)", env("A", R"(,"value":"1")"), "]")), "elements set");
  answered(200, of_container(cat(R"("env":[)", env("A", R"(,"value":"2")"), "]")), "the same elements");
  answered(200, of_container(cat(R"("env":[)", env("B", R"(,"value":"2")"), "]")), "new elements");
  answered(200, of_container(cat(R"("env":[)", env("B", R"(,"$patch":"delete")"), "]")), "elements deleted");
  const auto backwards = many(half, [&](int i) { return cat(R"({"name":"A)", half - 1 - i, "\"}"); });
  answered(200, of_container(cat(R"("$setElementOrder/env":[)", backwards, "]")), "elements in another order");
  const Reply left = get(cat(kDeployments, "/d"));
  const Json& container = left.body.at("spec", "template", "spec", "containers")->as_array()[0];
  ASSERT_EQ(container.at("env")->as_array().size(), static_cast<std::size_t>(half));
  EXPECT_EQ(container.at("env")->as_array()[0].text_at("name"), cat("A", half - 1));
}

TEST_F(LargeBodyTest, PodsAndNodes) {
  const auto tolerations = many(kMany / 4, [](int i) { return cat(R"({"key":"k)", i, R"(","operator":"Exists"})"); });
  const Reply pod = post(kPods, cat(R"({"metadata":{"name":"t"},"spec":{"containers":[{"name":"c","image":"i"}],)",
                                    R"("tolerations":[)", tolerations, "]}}"));
  answered(201, pod, "tolerations");
  Json turned = *pod.body.at("spec", "tolerations");
  std::reverse(turned.as_array().begin(), turned.as_array().end());
  answered(200, merge(cat(kPods, "/t"), cat(R"({"spec":{"tolerations":)", turned.dump(), "}}")), "the same, turned");
  const std::string limits = cat(R"({"name":"r","image":"i","resources":{"limits":{)", members("x.io/r", "1"), "}}}");
  answered(201, post(kPods, cat(R"({"metadata":{"name":"r"},"spec":{"containers":[)", limits, "]}}")), "resources");
  answered(
      201,
      post("/api/v1/nodes", cat(R"({"metadata":{"name":"n"},"status":{"capacity":{)", members("x.io/r", "1"), "}}}")),
      "capacity");
}

TEST_F(LargeBodyTest, Schemas) {
  define("prop", cat(R"({"type":"object","properties":{)", members("p", R"({"type":"string"})", kMany / 2), "}}"));
  answered(201, make("prop", cat("{", members("p", "\"\"", kMany / 2), "}")), "properties");
  define("need", cat(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true,"required":[)", texts("p"), "]}"));
  answered(201, make("need", cat("{", members("p", "\"\""), "}")), "required");
  answered(422, make("need", "{}"), "nothing of what is required");
  define("word", cat(R"({"type":"array","items":{"type":"string","enum":[)", texts("p"), "]}}"));
  answered(201, make("word", cat("[", texts("p"), "]")), "words of an enumeration");
  answered(422, make("word", cat("[", texts("q"), "]")), "other words");
}

TEST_F(LargeBodyTest, RefusesAJsonPatchThatReadsTooMuch) {
  ASSERT_EQ(post(kMaps, cat(R"({"metadata":{"name":"m"},"data":{)", members("k", "\"\""), "}}")).status, 201);
  const auto adds = [&](int count) {
    return call(
        "PATCH", cat(kMaps, "/m"),
        cat("[", many(count, [](int i) { return cat(R"({"op":"add","path":"/data/z)", i, R"(","value":""})"); }), "]"),
        "application/json-patch+json");
  };
  answered(200, adds(static_cast<int>(kJsonPatchStepsMax) / kMany / 2), "some");
  const Reply refused = adds(10'000);
  answered(413, refused, "too many");
  EXPECT_NE(refused.message().find("use fewer operations, or a merge patch"), std::string_view::npos) << refused.text;
  EXPECT_EQ(get(cat(kMaps, "/m")).body.at("data", "z9999"), nullptr) << "nothing of it was applied";
}

}  // namespace
}  // namespace tidemark::kube::memory
