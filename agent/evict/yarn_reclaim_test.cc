#include "agent/evict/yarn_reclaim.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "kube/intern.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::agent {
namespace {

using model::Reason;
using namespace std::chrono_literals;

const std::string kOne = "container_1_0001_01_000002", kTwo = "container_1_0001_01_000003";

struct YarnReclaimTest : kube::testing::ClientTest {
  YarnReclaimTest() { transport.answers = {{}}; }
  void node(const Json& annotations) {
    const std::string bytes =
        Json::object({{"metadata", Json::object({{"name", "n1"}, {"annotations", annotations}})}}).dump();
    kube::NodeFields fields;
    fields.meta.annotations = {model::kYarnReclaimAnnotation, model::kYarnReclaimAnswerAnnotation};
    yarn_reclaim.use_node(*kube::decode_node(bytes, fields, interner));
  }
  void answer(const model::ReclaimAnswer& said) {
    node(Json::object({{model::kYarnReclaimAnswerAnnotation, Json(model::format_reclaim_answer(said))}}));
  }
  // What was asked last; its generation is 0 where nothing was.
  model::ReclaimRequest asked() const {
    if (transport.sent.empty()) return {};
    const auto body = Json::parse(transport.sent.back().request.body);
    const Json* text = body->at("metadata", "annotations", model::kYarnReclaimAnnotation);
    return text == nullptr ? model::ReclaimRequest() : *model::parse_reclaim_request(text->as_string());
  }
  struct Asking {
    std::optional<YarnReclaimOutcome> outcome;
  };
  std::shared_ptr<Asking> ask(const std::string& container, base::Duration grace = 0s) {
    auto made = std::make_shared<Asking>();
    scope.spawn(
        [](YarnReclaim& from, std::string name, base::Duration time, std::shared_ptr<Asking> to) -> net::Task<void> {
          to->outcome = co_await from.ask(std::move(name), Reason::kEvictMemoryLine, time);
        }(yarn_reclaim, container, grace, made));
    return made;
  }
  void pass(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
  YarnReclaim yarn_reclaim{loop, *client, log, "n1"};
  net::Scope scope{loop};
};

TEST_F(YarnReclaimTest, AsksNothingBeforeOperatorListens) {
  EXPECT_FALSE(yarn_reclaim.heard());
  answer({});
  EXPECT_TRUE(yarn_reclaim.heard());
  node(Json::object());
  EXPECT_FALSE(yarn_reclaim.heard());
  node(Json::object({{model::kYarnReclaimAnswerAnnotation, "{"}}));
  EXPECT_FALSE(yarn_reclaim.heard());
}

TEST_F(YarnReclaimTest, GathersRequestsAndAnswersEach) {
  answer({});
  const auto one = ask(kOne);
  const auto two = ask(kTwo);
  pass(10ms);
  ASSERT_EQ(transport.sent.size(), 1u);
  EXPECT_EQ(transport.sent[0].request.method, "PATCH");
  EXPECT_EQ(transport.sent[0].request.target.substr(0, 27), "/api/v1/nodes/n1/status?fie");
  const model::ReclaimRequest request = asked();
  EXPECT_EQ(request.containers, (std::vector{kOne, kTwo}));
  EXPECT_EQ(request.reason, "TM-EVICT-001");
  EXPECT_EQ(request.asked, clock.wall() + -5ms);
  EXPECT_EQ(request.hold_seconds, 60);
  EXPECT_FALSE(one->outcome);
  answer({request.generation, {kOne}, {kTwo}, "", 1024, clock.wall()});
  pass(0ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kGone);
  EXPECT_EQ(two->outcome, YarnReclaimOutcome::kStayed);
}

TEST_F(YarnReclaimTest, IgnoresAnswerToEarlierRequest) {
  answer({41, {kOne}, {}, "", {}, {}});
  const auto one = ask(kOne);
  pass(10ms);
  EXPECT_GT(asked().generation, 41);
  EXPECT_FALSE(one->outcome);
  answer({asked().generation, {}, {}, "no ResourceManager answers", {}, {}});
  pass(0ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kRefused);
}

TEST_F(YarnReclaimTest, RepeatsUnansweredRequest) {
  answer({});
  const auto one = ask(kOne);
  pass(10ms);
  const auto first = asked().generation;
  const auto two = ask(kTwo);
  pass(10ms);
  EXPECT_GT(asked().generation, first);
  EXPECT_EQ(asked().containers, (std::vector{kOne, kTwo}));
  answer({first, {kOne}, {}, "", {}, {}});
  pass(0ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kGone);
  EXPECT_FALSE(two->outcome);
  answer({asked().generation, {kOne, kTwo}, {}, "", {}, {}});
  pass(0ms);
  EXPECT_EQ(two->outcome, YarnReclaimOutcome::kGone);
}

TEST_F(YarnReclaimTest, SilentOperatorIsNotAwaitedAgainSoon) {
  answer({});
  const auto one = ask(kOne);
  pass(kReclaimLimit - 1ms);
  EXPECT_FALSE(one->outcome);
  pass(1ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kNotHeard);
  EXPECT_FALSE(yarn_reclaim.heard());
  pass(kNotHeardFor);
  EXPECT_TRUE(yarn_reclaim.heard());
  const auto again = ask(kOne);
  pass(kReclaimLimit);
  EXPECT_EQ(again->outcome, YarnReclaimOutcome::kNotHeard);
  EXPECT_FALSE(yarn_reclaim.heard());
  answer({asked().generation, {kOne}, {}, "", {}, {}});  // late
  EXPECT_TRUE(yarn_reclaim.heard());
}

TEST_F(YarnReclaimTest, AwaitsTheEndOfTheGraceOnceTheContainerIsLeaving) {
  answer({});
  const auto one = ask(kOne, 30s);
  const auto two = ask(kTwo, 30s);
  pass(10ms);
  const auto generation = asked().generation;
  EXPECT_EQ(asked().grace_seconds, 30);
  answer({generation, {}, {}, "", 1024, clock.wall(), {kOne, kTwo}});
  pass(30s);
  EXPECT_FALSE(one->outcome);
  EXPECT_TRUE(yarn_reclaim.heard());
  answer({generation, {kOne}, {kTwo}, "", 1024, clock.wall()});
  pass(0ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kGone);
  EXPECT_EQ(two->outcome, YarnReclaimOutcome::kStayed);
}

TEST_F(YarnReclaimTest, OperatorThatStopsWithinTheGraceIsSilent) {
  answer({});
  const auto one = ask(kOne, 30s);
  pass(10ms);
  answer({asked().generation, {}, {}, "", 1024, clock.wall(), {kOne}});
  pass(30s + kReclaimLimit + kReclaimEndLimit);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kNotHeard);
}

TEST_F(YarnReclaimTest, ReturnsAtOnceIfRequestFails) {
  answer({});
  transport.answers = {{.status = 403, .body = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})"}};
  const auto one = ask(kOne);
  pass(10ms);
  EXPECT_EQ(one->outcome, YarnReclaimOutcome::kRefused);
}

}  // namespace
}  // namespace tidemark::agent
