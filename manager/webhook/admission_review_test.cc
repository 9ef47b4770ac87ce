#include "manager/webhook/admission_review.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "manager/webhook/review_budget.h"

namespace tidemark::manager {
namespace {

std::string review(std::string_view request) {
  return base::cat(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)", request, "}");
}

TEST(AdmissionReview, ReadsARequest) {
  const auto request = decode_review(review(
      R"({"uid":"u","operation":"UPDATE","namespace":"ns","name":"a","resource":{"group":"","version":"v1",)"
      R"("resource":"pods"},"subResource":"status","object":{"a":1},"oldObject":{"a":2},"userInfo":{"username":"x"}})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->uid, "u");
  EXPECT_EQ(request->operation, AdmissionOperation::kUpdate);
  EXPECT_EQ(request->resource, "pods");
  EXPECT_EQ(request->subresource, "status");
  EXPECT_EQ(request->ns, "ns");
  EXPECT_EQ(request->object.dump(), R"({"a":1})");
  EXPECT_EQ(request->old_object.dump(), R"({"a":2})");
}

// KEP 4193: of a token that is bound to a pod with a node, or to a node, its name is an extra of the user.
TEST(AdmissionReview, ReadsUserAndNodeOfItsToken) {
  const auto node = [](std::string_view extra) {
    const auto request = decode_review(review(base::cat(
        R"({"uid":"u","operation":"CREATE","userInfo":{"username":"system:serviceaccount:a:b")", extra, "}}")));
    EXPECT_TRUE(request);
    EXPECT_EQ(request->user, "system:serviceaccount:a:b");
    return request->user_node;
  };
  constexpr std::string_view kClaim = R"(,"extra":{"authentication.kubernetes.io/node-name":)";
  EXPECT_EQ(node(base::cat(kClaim, R"(["n1"]})")), "n1");
  EXPECT_EQ(node(""), "");
  EXPECT_EQ(node(R"(,"extra":null)"), "");
  EXPECT_EQ(node(R"(,"extra":{"authentication.kubernetes.io/pod-name":["n1"]})"), "");
  for (const auto* value : {R"(["n1","n2"])", "[]", R"("n1")", "[7]", "null", R"([["n1"]])"}) {
    EXPECT_EQ(node(base::cat(kClaim, value, "}")), "") << value;
  }
  EXPECT_EQ(decode_review(review(R"({"uid":"u","operation":"CREATE"})"))->user, "");
}

TEST(AdmissionReview, RefusesInputThatIsNotAReview) {
  const auto why = [](std::string_view body) {
    const auto read = decode_review(body);
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(why("[]"), "wanted an object");
  EXPECT_NE(why("{"), "read");
  EXPECT_EQ(
      why(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})"),
      "wanted an AdmissionReview of admission.k8s.io/v1, found \"AdmissionReview\" of \"admission.k8s.io/v1beta1\"");
  EXPECT_EQ(why(review("null")), "request: wanted an object");
  EXPECT_EQ(why(review("{}")), "request.uid: wanted 1 to 128 bytes");
  EXPECT_EQ(why(review(R"({"uid":"u","operation":"create"})")),
            "request.operation: wanted CREATE, UPDATE, DELETE or CONNECT, found \"create\"");
  EXPECT_EQ(why(review(R"({"uid":"u","operation":"CREATE","object":[]})")), "request.object: wanted an object");
  EXPECT_EQ(why(review(R"({"uid":"u","operation":"DELETE","object":null})")), "read");
}

// `{"a":[0,0,…]}` of 8 MiB would be four million values and hundreds of megabytes.
TEST(AdmissionReview, RefusesAReviewWithTooManyValues) {
  const auto of = [](std::size_t zeros) {
    std::string list = "0";
    for (std::size_t i = 1; i < zeros; ++i) list += ",0";
    return review(base::cat(R"({"uid":"u","operation":"CREATE","object":{"a":[)", list, "]}}"));
  };
  EXPECT_TRUE(decode_review(of(kReviewValuesMax - 10)));
  const auto read = decode_review(of(kReviewValuesMax));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, 413);
  EXPECT_NE(read.error().message.find("at most 100000 are looked at"), std::string::npos) << read.error().message;
  // What stands in texts is no value.
  EXPECT_EQ(review_values(R"({"a":"[,{\",[,","b":[1,2]})"), 5U);
}

TEST(AdmissionReview, RunningReviewsShareABoundedMemory) {
  ReviewBudget budget(100);
  {
    ReviewBudget::Share one(budget);
    EXPECT_TRUE(one.grow(60));
    ReviewBudget::Share other(budget);
    EXPECT_FALSE(other.grow(41));
    EXPECT_TRUE(other.grow(40));
    EXPECT_FALSE(one.grow(1));
    EXPECT_EQ(budget.used(), 100U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(AdmissionReview, AnswerHasTheUidOfTheRequest) {
  EXPECT_EQ(encode_review("u", {}),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}})");
  AdmissionAnswer patched;
  patched.patch = *Json::parse(R"([{"op":"add","path":"/a","value":1}])");
  const Json response = *Json::parse(encode_review("u", patched))->at("response");
  EXPECT_EQ(response.text_at("patchType"), "JSONPatch");
  EXPECT_EQ(base::base64_decode(response.text_at("patch")), patched.patch.dump());
  patched.patch = Json::array();
  EXPECT_EQ(Json::parse(encode_review("u", patched))->at("response", "patch"), nullptr);
}

TEST(AdmissionReview, RefusalIsCompleteAndBounded) {
  AdmissionAnswer answer;
  answer.allowed = false;
  answer.code = 400;
  answer.reason = "ConfigParamInvalid";
  answer.message = std::string(kMessageBytesMax, 'x') + "\xC3\xA4";
  answer.causes.push_back({"TM-SETTINGS-002", "colocation-config", "why"});
  for (int i = 0; i < 30; ++i) answer.warnings.push_back(base::cat("w", i, std::string(300, '\xC3')));
  const Json response = *Json::parse(encode_review("u", answer))->at("response");
  EXPECT_EQ(response.at("status", "code")->as_int(), 400);
  EXPECT_EQ(response.text_at("status", "reason"), "ConfigParamInvalid");
  EXPECT_LE(response.text_at("status", "message").size(), kMessageBytesMax);
  EXPECT_EQ(response.at("status", "details", "causes")->as_array()[0].text_at("field"), "colocation-config");
  EXPECT_EQ(response.at("warnings")->as_array().size(), kWarningsMax);
  EXPECT_EQ(response.at("warnings")->as_array().back().as_string(), "and 21 more warnings");
}

}  // namespace
}  // namespace tidemark::manager
