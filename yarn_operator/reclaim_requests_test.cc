// Annotations whose times come from other clocks than the operator's.
#include "yarn_operator/reclaim_requests.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/testing/clock.h"
#include "yarn_operator/agent_reclaims.h"
#include "yarn_operator/objects.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;

class ReclaimRequestsTest : public ::testing::Test {
 protected:
  kube::Node node(std::string_view key, const std::string& text) {
    const Json object = Json::object(
        {{"metadata", Json::object({{"name", "n"}, {"annotations", Json::object({{std::string(key), Json(text)}})}})}});
    return *kube::decode_node(object.dump(), node_fields(), interner);
  }
  kube::Node answered(base::Duration hold) {
    model::ReclaimAnswer answer;
    answer.generation = 1;
    answer.keep_mib = 1024;
    answer.until = clock.wall() + hold;
    return node(model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer(answer));
  }

  base::testing::Clock clock;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
  ReclaimRequests book{log};
};

TEST_F(ReclaimRequestsTest, KeepsCapacityBackForItsTime) {
  const kube::Node said = answered(1min);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), 1024);
  EXPECT_EQ(book.keep_mib(said, clock.wall() + 59s), 1024);
  EXPECT_EQ(book.keep_mib(said, clock.wall() + 1min), std::nullopt);
}

// An operator that stopped within the grace left its request open.
TEST_F(ReclaimRequestsTest, ARequestIsOpenUntilItsLastAnswer) {
  const model::ReclaimRequest request{3, {"c"}, "TM-EVICT-001", clock.wall(), 60, 30};
  const auto with = [&](const model::ReclaimAnswer& answer) {
    const Json texts =
        Json::object({{std::string(model::kYarnReclaimAnnotation), Json(format_reclaim_request(request))},
                      {std::string(model::kYarnReclaimAnswerAnnotation), Json(format_reclaim_answer(answer))}});
    const Json object = Json::object({{"metadata", Json::object({{"name", "n"}, {"annotations", texts}})}});
    return *kube::decode_node(object.dump(), node_fields(), interner);
  };
  const model::ReclaimAnswer first{3, {}, {}, "", 1024, clock.wall() + 90s, {"c"}};
  const model::ReclaimAnswer last{3, {"c"}, {}, "", 1024, clock.wall() + 90s};
  EXPECT_TRUE(book.open_request(with(first), clock));
  EXPECT_FALSE(book.open_request(with(last), clock));
  book.answered("n", last);
  EXPECT_FALSE(book.open_request(with(first), clock)) << "our own last answer is newer than the first one";
}

// Another replica wrote it with its own clock: the time is off by the clock difference, but never longer than the
// limit.
TEST_F(ReclaimRequestsTest, LimitsTheTimeIfClocksOfReplicasDiffer) {
  const kube::Node said = answered(1min);
  clock.jump_wall(-3min);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), 1024);
  clock.jump_wall(-2min);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), std::nullopt) << "6 minutes from now exceed the limit";
  clock.jump_wall(24h);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), std::nullopt);
}

// A clock that is set during that time: our own answers are checked like written ones.
TEST_F(ReclaimRequestsTest, EndsEvenIfAClockIsSetBack) {
  model::ReclaimAnswer answer;
  answer.generation = 2;
  answer.keep_mib = 512;
  answer.until = clock.wall() + kKeepMax;
  book.answered("n", answer);
  const kube::Node said = answered(1min);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), 512);
  clock.jump_wall(-1h);
  EXPECT_EQ(book.keep_mib(said, clock.wall()), std::nullopt);
}

TEST_F(ReclaimRequestsTest, KeepsALostAnswerUntilTheNodeHasIt) {
  model::ReclaimAnswer answer;
  answer.generation = 2;
  const kube::Node before = answered(1min);  // to request 1
  const kube::Node after = node(model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer(answer));
  book.answered("n", answer);
  EXPECT_FALSE(book.lost_answer(before)) << "the write is in progress";
  book.lost("n", 1);
  EXPECT_FALSE(book.lost_answer(before)) << "another answer was lost";
  book.lost("n", 2);
  EXPECT_EQ(book.lost_answer(before), answer);
  EXPECT_EQ(book.lost_answer(node(model::kYarnReclaimAnswerAnnotation, "{")), answer);
  EXPECT_FALSE(book.lost_answer(after));
  answer.generation = 3;
  book.answered("n", answer);
  EXPECT_FALSE(book.lost_answer(after)) << "the next write is in progress";
}

}  // namespace
}  // namespace tidemark::yarn_operator
