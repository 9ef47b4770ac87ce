#include "kube/status.h"

#include <gtest/gtest.h>

#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using testing::testdata;

const base::WallTime kNow = base::parse_rfc3339("2015-10-21T07:28:00Z").value();

Error of_file(int status, const std::string& file) {
  return status_error(status, {}, testdata(file), kNow, "GET /x");
}

TEST(Status, ReadsAnswersOfARealServer) {
  EXPECT_EQ(of_file(404, "status_not_found.json").kind, ErrorKind::kNotFound);
  EXPECT_EQ(of_file(409, "status_already_exists.json").kind, ErrorKind::kAlreadyExists);
  EXPECT_EQ(of_file(409, "status_conflict.json").kind, ErrorKind::kConflict);
  EXPECT_EQ(of_file(401, "status_unauthorized.json").kind, ErrorKind::kDenied);
  EXPECT_EQ(of_file(400, "status_bad_continue.json").kind, ErrorKind::kInvalid);
}

TEST(Status, KeepsTheMessageOfTheServer) {
  const Error error = of_file(404, "status_not_found.json");
  EXPECT_EQ(error.message, "GET /x: pods \"none\" not found (HTTP 404, NotFound)");
  EXPECT_EQ(error.code, 404);
}

TEST(Status, CutsALongMessageBetweenCharacters) {
  for (std::size_t shift = 0; shift < 3; ++shift) {
    std::string text(shift, 'x');
    while (text.size() < 3000) text += "€";
    const Error error = status_error(422, {}, R"({"kind":"Status","message":")" + text + "\"}", kNow, "d");
    EXPECT_LT(error.message.size(), 1100u);
    EXPECT_TRUE(base::valid_utf8(error.message));
    EXPECT_NE(error.message.find("…"), std::string::npos);
  }
}

TEST(Status, UsesTheCodeIfThereIsNoStatusBody) {
  struct Row {
    int code;
    ErrorKind kind;
  };
  for (const Row row :
       {Row{400, ErrorKind::kInvalid}, Row{403, ErrorKind::kDenied}, Row{404, ErrorKind::kNotFound},
        Row{409, ErrorKind::kConflict}, Row{410, ErrorKind::kGone}, Row{413, ErrorKind::kInvalid},
        Row{415, ErrorKind::kUnsupported}, Row{422, ErrorKind::kInvalid}, Row{429, ErrorKind::kExhausted},
        Row{500, ErrorKind::kInternal}, Row{502, ErrorKind::kUnavailable}, Row{503, ErrorKind::kUnavailable},
        Row{504, ErrorKind::kUnavailable}, Row{302, ErrorKind::kUnsupported}, Row{599, ErrorKind::kInternal}}) {
    EXPECT_EQ(status_error(row.code, {}, "<html>no</html>", kNow, "d").kind, row.kind) << row.code;
  }
  EXPECT_EQ(status_error(503, {}, "<html>\n</html>", kNow, "d").message, "d: \"<html>\\n</html>\" (HTTP 503)");
  EXPECT_EQ(status_error(503, {}, "", kNow, "d").message, "d: no explanation (HTTP 503)");
}

TEST(Status, ErrorEventOfAWatchHasItsOwnCode) {
  EXPECT_EQ(
      status_error(200, {}, R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})", kNow, "w").kind,
      ErrorKind::kGone);
}

// As kube-apiserver 1.34 answers an eviction that a PodDisruptionBudget forbids.
TEST(Status, ReadsTheCauses) {
  const auto status = parse_status(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Cannot evict pod as it would )"
      R"(violate the pod's disruption budget.","reason":"TooManyRequests","details":{"causes":[{"reason":)"
      R"("DisruptionBudget","message":"The disruption budget b needs 1 healthy pods and has 1 currently"},)"
      R"({"message":"a cause without a reason"}]},"code":429})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 429);
  EXPECT_EQ(status->reason, "TooManyRequests");
  EXPECT_TRUE(status->has_cause("DisruptionBudget"));
  EXPECT_FALSE(status->has_cause("Disruption"));
  EXPECT_EQ(status->causes.size(), 1u);
  EXPECT_EQ(status->cause_message, "The disruption budget b needs 1 healthy pods and has 1 currently");
}

TEST(RetryAfter, HeaderThenBody) {
  const std::string body = R"({"kind":"Status","code":429,"details":{"retryAfterSeconds":7}})";
  EXPECT_EQ(status_error(429, "3", body, kNow, "d").retry_after_ms, 3000);
  EXPECT_EQ(status_error(429, "", body, kNow, "d").retry_after_ms, 7000);
  EXPECT_EQ(status_error(429, "", "", kNow, "d").retry_after_ms, 0);
}

TEST(RetryAfter, ReadsSecondsAndIgnoresDatesAndGarbage) {
  EXPECT_EQ(parse_retry_after_ms("1", kNow), 1000);
  EXPECT_EQ(parse_retry_after_ms(" 2 ", kNow), 2000);
  EXPECT_EQ(parse_retry_after_ms("Wed, 21 Oct 2015 07:29:30 GMT", kNow), 90'000);
  EXPECT_EQ(parse_retry_after_ms("Wed, 21 Oct 2015 07:27:00 GMT", kNow), 0) << "passed already";
  EXPECT_EQ(parse_retry_after_ms("99999999999999999999", kNow), 0);
  EXPECT_EQ(parse_retry_after_ms("18446744073709551615", kNow), 600'000) << "bounded";
  EXPECT_EQ(parse_retry_after_ms("Wed, 21 Oct 9999 07:29:30 GMT", kNow), 600'000);
  for (const char* nonsense : {"", "-1", "soon", "Wed, 32 Oct 2015 07:29:30 GMT", "Wed, 21 Okt 2015 07:29:30 GMT"}) {
    EXPECT_EQ(parse_retry_after_ms(nonsense, kNow), 0) << nonsense;
  }
}

TEST(ParseStatus, OnlyStatusObjects) {
  EXPECT_FALSE(parse_status("<html>"));
  EXPECT_FALSE(parse_status(R"({"kind":"Pod"})"));
  EXPECT_FALSE(parse_status(R"({"kind":"Status","code":"x"})"));
  EXPECT_TRUE(parse_status(R"({"kind":"Status"})"));
}

}  // namespace
}  // namespace tidemark::kube
