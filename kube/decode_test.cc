#include "kube/decode.h"

#include <gtest/gtest.h>

#include "kube/objects.h"
#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using testing::testdata;

std::string pod_error(std::string_view bytes) {
  Interner interner;
  auto pod = decode_pod(bytes, {{KeyFilter::all(), KeyFilter::all()}, true, true}, interner);
  EXPECT_FALSE(pod) << "wanted an error";
  if (pod) return "";
  EXPECT_EQ(pod.error().kind, ErrorKind::kInvalid);
  return pod.error().message;
}

TEST(Decode, ErrorsNameTheObjectAndThePlace) {
  const std::string head = R"({"kind":"Pod","metadata":{"name":"web-1","namespace":"default"},)";
  const std::string quantity =
      pod_error(head + R"("spec":{"containers":[{"name":"a"},{"resources":{"requests":{"cpu":"lots"}}}]}})");
  EXPECT_TRUE(quantity.starts_with("Pod default/web-1: spec.containers[1].resources.requests.cpu: ")) << quantity;
  EXPECT_NE(quantity.find("lots"), std::string::npos) << quantity;
  EXPECT_NE(pod_error(head + R"("spec":{"nodeName":7}})").find("Pod default/web-1: spec.nodeName: "),
            std::string::npos);
  EXPECT_NE(pod_error(head + R"("spec":{"priority":3000000000}})").find("spec.priority: wanted a number of 32 bits"),
            std::string::npos);
  EXPECT_NE(pod_error(head + R"("status":{"startTime":"yesterday"}})")
                .find("status.startTime: wanted an RFC 3339 time, found \"yesterday\""),
            std::string::npos);
  EXPECT_NE(pod_error(head + R"("spec":{"containers":{}}})").find("spec.containers: "), std::string::npos);
  EXPECT_NE(pod_error(head + R"("spec":{"overhead":{"cpu":["1"]}}})").find("spec.overhead.cpu: wanted a quantity"),
            std::string::npos);
}

TEST(Decode, ErrorsNameTheObjectEvenIfItsNameComesLater) {
  EXPECT_NE(
      pod_error(R"({"spec":{"hostNetwork":"yes"},"metadata":{"name":"late"}})").find("Pod late: spec.hostNetwork"),
      std::string::npos);
}

TEST(Decode, QuotesKeysWithDotsInAPath) {
  EXPECT_NE(pod_error(R"({"metadata":{"name":"p","labels":{"a.b/c":1}}})").find("metadata.labels[\"a.b/c\"]"),
            std::string::npos);
  // A key with an escape lies in scratch space; naming it must not read freed memory.
  EXPECT_NE(pod_error(R"({"metadata":{"name":"p","labels":{"\u0061a":1}}})").find("metadata.labels"),
            std::string::npos);
}

TEST(Decode, RefusesInputThatIsNotAPod) {
  EXPECT_NE(pod_error(R"({"kind":"Node","metadata":{"name":"n"}})").find("wanted kind Pod, found \"Node\""),
            std::string::npos);
  EXPECT_NE(pod_error("{}").find("it has no metadata.name"), std::string::npos);
  pod_error("[]");
  pod_error("");
  pod_error(R"({"metadata":{"name":"p"}} x)");
  const std::string whole = testdata("pod_web.json");
  for (std::size_t cut = 0; cut + 2 < whole.size(); cut += 97) pod_error(std::string_view(whole).substr(0, cut));
}

TEST(Decode, NullMeansAbsent) {
  Interner interner;
  auto pod = decode_pod(
      R"({"kind":null,"metadata":{"name":"p","namespace":null,"labels":null,"deletionTimestamp":null,
          "ownerReferences":null},
          "spec":{"nodeName":null,"priority":null,"containers":null,"overhead":null,"hostNetwork":null},
          "status":null})",
      {{KeyFilter::all(), KeyFilter::all()}, true, true}, interner);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->priority, std::nullopt);
  EXPECT_EQ(pod->meta.deleted, std::nullopt);
  EXPECT_TRUE(pod->containers.empty());
}

TEST(Decode, LastDuplicateMemberWins) {
  Interner interner;
  auto pod = decode_pod(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"c",
          "resources":{"requests":{"cpu":"1","cpu":"2"}}}]}})",
      {}, interner);
  ASSERT_TRUE(pod) << pod.error().message;
  ASSERT_EQ(pod->containers.size(), 1u);
  EXPECT_EQ(pod->containers[0].name, "c");
  EXPECT_EQ(pod->containers[0].requests.cpu_milli(), 2000);
}

TEST(DecodeList, PassesTheBytesOfEachItem) {
  const std::string page = testdata("pod_list_page.json");
  std::vector<std::string> names;
  Interner interner;
  auto meta = decode_list(page, [&](std::string_view item) -> Result<void> {
    TM_TRY(const Pod pod, decode_pod(item, {}, interner));
    names.emplace_back(pod.meta.name);
    return {};
  });
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_EQ(names, (std::vector<std::string>{"batch-1", "level"}));
  EXPECT_FALSE(meta->continue_token.empty());
  EXPECT_EQ(meta->remaining_item_count, 1);
  auto cheap = read_list_meta(page);
  ASSERT_TRUE(cheap) << cheap.error().message;
  EXPECT_EQ(cheap->resource_version, meta->resource_version);
  EXPECT_EQ(cheap->continue_token, meta->continue_token);
}

TEST(DecodeList, FirstCallbackErrorEndsTheList) {
  int seen = 0;
  auto meta =
      decode_list(R"({"kind":"PodList","metadata":{},"items":[{},{},{}]})", [&](std::string_view) -> Result<void> {
        if (++seen == 2) return base::fail(ErrorKind::kExhausted, "full");
        return {};
      });
  ASSERT_FALSE(meta);
  EXPECT_EQ(meta.error().message, "full");
  EXPECT_EQ(meta.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(seen, 2);
}

TEST(DecodeList, RefusesInputThatIsNotAList) {
  const auto ignore = [](std::string_view) -> Result<void> { return {}; };
  auto status = decode_list(testdata("status_not_found.json"), ignore);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "wanted a list with items, found kind \"Status\"");
  EXPECT_FALSE(decode_list("", ignore));
  for (const char* broken : {R"({"items":{}})", R"({"items":[)", R"({"items":[{})", R"({"items":[{},)",
                             R"({"items":[{},]})", R"({"items":[{} {}]})", R"({"items":[1]})", R"({"items":[{}])",
                             R"({"items":[{}]]})", R"({"items":[{}],})", R"({"items":[{}] "kind":"x"})",
                             R"({"items":[{}],"items":[]})", R"({"items":[{}]} x)", R"({"items":[{"a":"])"}) {
    auto list = decode_list(broken, ignore);
    ASSERT_FALSE(list) << broken;
    EXPECT_EQ(list.error().kind, ErrorKind::kInvalid);
  }
  int items = 0;
  auto behind = decode_list(R"( {"items" : [ {} , {"a":"]}"} ] , "metadata":{"resourceVersion":"9"},"kind":"L"} )",
                            [&](std::string_view) -> Result<void> {
                              ++items;
                              return {};
                            });
  ASSERT_TRUE(behind) << behind.error().message;
  EXPECT_EQ(behind->resource_version, "9") << "also when it comes after the items";
  EXPECT_EQ(items, 2);
  EXPECT_EQ(decode_list(R"({"items":[],"metadata":{"continue":"c"}})", ignore)->continue_token, "c");
  EXPECT_TRUE(decode_list(R"({"items":null,"metadata":{"resourceVersion":"5"}})", ignore));
  EXPECT_FALSE(read_list_meta("{}"));
}

TEST(Identity, ReadsKindNamespaceAndName) {
  auto identity = read_identity(testdata("node_metric.json"));
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->api_version, "slo.koordinator.sh/v1alpha1");
  EXPECT_EQ(identity->kind, "NodeMetric");
  EXPECT_EQ(identity->name, "node-a");
  EXPECT_FALSE(identity->uid.empty());
  EXPECT_FALSE(identity->resource_version.empty());
  // Written by hand, kind last.
  auto late = read_identity(R"({"spec":{},"metadata":{"name":"a","namespace":"b"},"kind":"K","apiVersion":"v"})");
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->kind, "K");
  EXPECT_EQ(late->ns, "b");
  EXPECT_FALSE(read_identity("{"));
}

}  // namespace
}  // namespace tidemark::kube
