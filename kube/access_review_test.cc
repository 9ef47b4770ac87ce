// Who may use an interface of a process: what the API server is asked, and what follows from its answers.
#include "kube/access_review.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::kube {
namespace {

using testing::Answer;
using testing::ClientTest;

const Answer kNotValid{.status = 201, .body = R"({"status":{"authenticated":false,"error":"token has expired"}})"};
const Answer kKnown{
    .status = 201,
    .body =
        R"({"status":{"authenticated":true,"audiences":["a","past"],"user":{"username":"ann","groups":["sre"],"uid":"7"}}})"};
const Answer kAllowed{.status = 201, .body = R"({"status":{"allowed":true}})"};
const Answer kForbidden{.status = 201, .body = R"({"status":{"allowed":false,"reason":"no rule"}})"};

class AccessReviews : public ClientTest {
 protected:
  Result<void> check(std::string with) { return run(reviews.check(std::move(with))); }
  void expect_denied(std::string with, int code, std::string_view text) {
    const auto verdict = check(std::move(with));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().kind, ErrorKind::kDenied);
    EXPECT_EQ(verdict.error().code, code);
    EXPECT_EQ(verdict.error().message, text);
  }
  AccessReview reviews{loop, *client, "past", "/tidemark/past"};
};

TEST_F(AccessReviews, AsksWhoseTokenItIsAndWhetherThatUserMay) {
  transport.answers = {kKnown, kAllowed};
  ASSERT_TRUE(check("secret"));
  ASSERT_EQ(transport.sent.size(), 2U);
  EXPECT_TRUE(request(0).target.starts_with("/apis/authentication.k8s.io/v1/tokenreviews"));
  EXPECT_EQ(Json::parse(request(0).body)->member("spec")->dump(), R"({"token":"secret","audiences":["past"]})");
  EXPECT_TRUE(request(1).target.starts_with("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
  EXPECT_EQ(Json::parse(request(1).body)->member("spec")->dump(),
            R"({"user":"ann","nonResourceAttributes":{"path":"/tidemark/past","verb":"get"},"groups":["sre"]})");
}

TEST_F(AccessReviews, RefusesWithoutATokenAndAsksNothing) {
  expect_denied("", 401, "a token of audience past is needed");
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(AccessReviews, RefusesATokenThatIsExpiredOrOfAnotherAudience) {
  transport.answers = {kNotValid};
  expect_denied("expired", 401, "the API server does not accept this token for audience past");
  Answer other = kKnown;
  other.body = R"({"status":{"authenticated":true,"audiences":["a"],"user":{"username":"ann"}}})";
  transport.answers = {other};
  expect_denied("of-the-api-server", 401, "the API server does not accept this token for audience past");
}

TEST_F(AccessReviews, RefusesAUserWithoutTheRight) {
  transport.answers = {kKnown, kForbidden};
  expect_denied("secret", 403, "ann may not get /tidemark/past");
}

TEST_F(AccessReviews, AsksAgainAfterAMinuteAndSoonerAfterARefusal) {
  transport.answers = {kKnown, kAllowed, kNotValid};
  ASSERT_TRUE(check("secret"));
  ASSERT_TRUE(check("secret"));
  EXPECT_EQ(transport.sent.size(), 2U);
  clock.advance(AccessReview::kLife);
  EXPECT_FALSE(check("secret")) << "it was revoked";
  EXPECT_FALSE(check("secret"));
  EXPECT_EQ(transport.sent.size(), 3U);
  clock.advance(AccessReview::kRefusalLife);
  EXPECT_FALSE(check("secret"));
  EXPECT_EQ(transport.sent.size(), 4U);
}

TEST_F(AccessReviews, BoundsTheReviewsOfAMinute) {
  transport.answers = {kNotValid};
  for (std::size_t i = 0; i < AccessReview::kNewAMinute; ++i) EXPECT_EQ(check(base::cat(i)).error().code, 401);
  EXPECT_EQ(check("one more").error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(transport.sent.size(), AccessReview::kNewAMinute);
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(check("one more").error().code, 401);
}

TEST_F(AccessReviews, WrongTokensDoNotKeepAGoodOneOut) {
  transport.answers = {kKnown, kAllowed, kNotValid};
  ASSERT_TRUE(check("good"));
  clock.advance(AccessReview::kLife);
  for (std::size_t i = 0; i < AccessReview::kNewAMinute; ++i) EXPECT_EQ(check(base::cat(i)).error().code, 401);
  EXPECT_EQ(check("one more").error().kind, ErrorKind::kExhausted);
  transport.answers = {kKnown, kAllowed};
  EXPECT_TRUE(check("good"));
}

TEST_F(AccessReviews, AFailedReviewIsNoVerdictAboutTheToken) {
  transport.answers = {
      {.status = 403, .body = R"({"kind":"Status","code":403,"message":"cannot create"})"}, kKnown, kAllowed};
  const auto verdict = check("secret");
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(verdict.error().message.contains("cannot create")) << verdict.error().message;
  EXPECT_TRUE(check("secret"));
}

}  // namespace
}  // namespace tidemark::kube
