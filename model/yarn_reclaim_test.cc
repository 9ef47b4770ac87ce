#include "model/yarn_reclaim.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::model {
namespace {

base::WallTime at(std::string_view text) {
  return *base::parse_rfc3339(text);
}

TEST(YarnReclaimTest, ReadsTheRequestThatItWrote) {
  const ReclaimRequest request{7, {"container_1_0001_01_000002"}, "TM-EVICT-001", at("2026-03-01T02:00:00Z"), 60, 30};
  const std::string text = format_reclaim_request(request);
  EXPECT_EQ(text, R"({"schema":1,"generation":7,"containers":["container_1_0001_01_000002"],"reason":"TM-EVICT-001",)"
                  R"("asked":"2026-03-01T02:00:00.000000Z","graceSeconds":30,"holdSeconds":60})");
  EXPECT_EQ(*parse_reclaim_request(text), request);
  const auto without = parse_reclaim_request(
      R"({"schema":1,"generation":7,"containers":[],"reason":"","asked":"2026-03-01T02:00:00Z","holdSeconds":60})");
  EXPECT_EQ(without->grace_seconds, 0) << "of the version before this one";
}

TEST(YarnReclaimTest, ReadsTheAnswerThatItWrote) {
  const ReclaimAnswer done{7, {"a"}, {"b"}, "", 2048, at("2026-03-01T02:01:00Z")};
  EXPECT_EQ(
      format_reclaim_answer(done),
      R"({"schema":1,"generation":7,"gone":["a"],"stayed":["b"],"keepMiB":2048,"until":"2026-03-01T02:01:00.000000Z"})");
  const ReclaimAnswer refused{7, {}, {}, "no ResourceManager answers", {}, {}};
  EXPECT_EQ(format_reclaim_answer(refused), R"({"schema":1,"generation":7,"refused":"no ResourceManager answers"})");
  const ReclaimAnswer first{7, {}, {}, "", 2048, at("2026-03-01T02:01:00Z"), {"a", "b"}};
  EXPECT_EQ(format_reclaim_answer(first), R"({"schema":1,"generation":7,"gone":[],"stayed":[],"leaving":["a","b"],)"
                                          R"("keepMiB":2048,"until":"2026-03-01T02:01:00.000000Z"})");
  for (const ReclaimAnswer& each : {done, refused, first, ReclaimAnswer()})
    EXPECT_EQ(*parse_reclaim_answer(format_reclaim_answer(each)), each);
}

TEST(YarnReclaimTest, RejectsInvalidInputAndNamesThePlace) {
  const auto why = [](const auto& read) { return read ? std::string("taken") : read.error().message; };
  EXPECT_EQ(why(parse_reclaim_request(R"({"schema":2,"generation":1})")), "schema: wanted 1, found 2");
  EXPECT_EQ(why(parse_reclaim_request(R"({"schema":1,"generation":1,"containers":[],"kill":true})")),
            R"("kill": not known)");
  EXPECT_EQ(why(parse_reclaim_request(R"({"schema":1,"generation":-1})")),
            R"(generation: wanted a whole number, found "-1")");
  EXPECT_EQ(why(parse_reclaim_request(R"({"schema":1,"generation":1,"containers":[3]})")),
            "containers: wanted a string of at most 128 bytes");
  EXPECT_EQ(why(parse_reclaim_request(R"({"schema":1,"generation":1,"containers":[],"reason":"","asked":"soon"})")),
            "asked: wanted a time like 2026-03-01T02:00:00Z");
  EXPECT_EQ(why(parse_reclaim_answer(R"({"schema":1,"generation":1,"gone":[]})")),
            "stayed: wanted an array of at most 64 names");
  EXPECT_EQ(why(parse_reclaim_answer(R"({"schema":1,"generation":1,"gone":[],"stayed":[],"keepMiB":1})")),
            "until: wanted a time like 2026-03-01T02:00:00Z");
}

}  // namespace
}  // namespace tidemark::model
