#include "agent/evict/take_back.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "kube/intern.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::agent {
namespace {

using model::Reason;
using namespace std::chrono_literals;

const std::string kOne = "container_1_0001_01_000002", kTwo = "container_1_0001_01_000003";

struct TakeBackTest : kube::testing::ClientTest {
  TakeBackTest() { transport.answers = {{}}; }
  void node(const Json& annotations) {
    const std::string bytes =
        Json::object({{"metadata", Json::object({{"name", "n1"}, {"annotations", annotations}})}}).dump();
    kube::NodeFields fields;
    fields.meta.annotations = {model::kYarnTakeBackAnnotation, model::kYarnTakenBackAnnotation};
    take_back.use_node(*kube::decode_node(bytes, fields, interner));
  }
  void answer(const model::TakenBack& said) {
    node(Json::object({{model::kYarnTakenBackAnnotation, Json(model::format_taken_back(said))}}));
  }
  // What was asked last; its generation is 0 where nothing was.
  model::TakeBack asked() const {
    if (transport.sent.empty()) return {};
    const auto body = Json::parse(transport.sent.back().request.body);
    const Json* text = body->at("metadata", "annotations", model::kYarnTakeBackAnnotation);
    return text == nullptr ? model::TakeBack() : *model::parse_take_back(text->as_string());
  }
  struct Asking {
    std::optional<TakeBackOutcome> outcome;
  };
  std::shared_ptr<Asking> ask(const std::string& container, base::Duration grace = 0s) {
    auto made = std::make_shared<Asking>();
    scope.spawn(
        [](TakeBack& from, std::string name, base::Duration time, std::shared_ptr<Asking> to) -> net::Task<void> {
          to->outcome = co_await from.ask(std::move(name), Reason::kEvictMemoryLine, time);
        }(take_back, container, grace, made));
    return made;
  }
  void pass(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
  TakeBack take_back{loop, *client, log, "n1"};
  net::Scope scope{loop};
};

TEST_F(TakeBackTest, AsksNothingBeforeOperatorListens) {
  EXPECT_FALSE(take_back.heard());
  answer({});
  EXPECT_TRUE(take_back.heard());
  node(Json::object());
  EXPECT_FALSE(take_back.heard());
  node(Json::object({{model::kYarnTakenBackAnnotation, "{"}}));
  EXPECT_FALSE(take_back.heard());
}

TEST_F(TakeBackTest, GathersRequestsAndAnswersEach) {
  answer({});
  const auto one = ask(kOne);
  const auto two = ask(kTwo);
  pass(10ms);
  ASSERT_EQ(transport.sent.size(), 1u);
  EXPECT_EQ(transport.sent[0].request.method, "PATCH");
  EXPECT_EQ(transport.sent[0].request.target.substr(0, 27), "/api/v1/nodes/n1/status?fie");
  const model::TakeBack request = asked();
  EXPECT_EQ(request.containers, (std::vector{kOne, kTwo}));
  EXPECT_EQ(request.reason, "TM-EVICT-001");
  EXPECT_EQ(request.asked, clock.wall() + -5ms);
  EXPECT_EQ(request.hold_seconds, 60);
  EXPECT_FALSE(one->outcome);
  answer({request.generation, {kOne}, {kTwo}, "", 1024, clock.wall()});
  pass(0ms);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kGone);
  EXPECT_EQ(two->outcome, TakeBackOutcome::kStayed);
}

TEST_F(TakeBackTest, IgnoresAnswerToEarlierRequest) {
  answer({41, {kOne}, {}, "", {}, {}});
  const auto one = ask(kOne);
  pass(10ms);
  EXPECT_GT(asked().generation, 41);
  EXPECT_FALSE(one->outcome);
  answer({asked().generation, {}, {}, "no ResourceManager answers", {}, {}});
  pass(0ms);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kRefused);
}

TEST_F(TakeBackTest, RepeatsUnansweredRequest) {
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
  EXPECT_EQ(one->outcome, TakeBackOutcome::kGone);
  EXPECT_FALSE(two->outcome);
  answer({asked().generation, {kOne, kTwo}, {}, "", {}, {}});
  pass(0ms);
  EXPECT_EQ(two->outcome, TakeBackOutcome::kGone);
}

TEST_F(TakeBackTest, SilentOperatorIsNotAwaitedAgainSoon) {
  answer({});
  const auto one = ask(kOne);
  pass(kTakeBackLimit - 1ms);
  EXPECT_FALSE(one->outcome);
  pass(1ms);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kNotHeard);
  EXPECT_FALSE(take_back.heard());
  pass(kNotHeardFor);
  EXPECT_TRUE(take_back.heard());
  const auto again = ask(kOne);
  pass(kTakeBackLimit);
  EXPECT_EQ(again->outcome, TakeBackOutcome::kNotHeard);
  EXPECT_FALSE(take_back.heard());
  answer({asked().generation, {kOne}, {}, "", {}, {}});  // late
  EXPECT_TRUE(take_back.heard());
}

TEST_F(TakeBackTest, AwaitsTheEndOfTheGraceOnceTheContainerIsLeaving) {
  answer({});
  const auto one = ask(kOne, 30s);
  const auto two = ask(kTwo, 30s);
  pass(10ms);
  const auto generation = asked().generation;
  EXPECT_EQ(asked().grace_seconds, 30);
  answer({generation, {}, {}, "", 1024, clock.wall(), {kOne, kTwo}});
  pass(30s);
  EXPECT_FALSE(one->outcome);
  EXPECT_TRUE(take_back.heard());
  answer({generation, {kOne}, {kTwo}, "", 1024, clock.wall()});
  pass(0ms);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kGone);
  EXPECT_EQ(two->outcome, TakeBackOutcome::kStayed);
}

TEST_F(TakeBackTest, OperatorThatStopsWithinTheGraceIsSilent) {
  answer({});
  const auto one = ask(kOne, 30s);
  pass(10ms);
  answer({asked().generation, {}, {}, "", 1024, clock.wall(), {kOne}});
  pass(30s + kTakeBackLimit + kTakenBackLimit);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kNotHeard);
}

TEST_F(TakeBackTest, ReturnsAtOnceIfRequestFails) {
  answer({});
  transport.answers = {{.status = 403, .body = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})"}};
  const auto one = ask(kOne);
  pass(10ms);
  EXPECT_EQ(one->outcome, TakeBackOutcome::kRefused);
}

}  // namespace
}  // namespace tidemark::agent
