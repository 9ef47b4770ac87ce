#include "kube/recorder.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/testing/scripted_api.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;

const ObjectReference kNode{"v1", "Node", "", "n1", "uid-1"};

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { scope.spawn(recorder.run()); }
  void record(std::string_view message, const ObjectReference& about = kNode, std::string_view reason = "Sold") {
    recorder.record(about, EventSeverity::kNormal, reason, message);
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }
  std::vector<Json> events() const {
    std::vector<Json> events;
    for (const auto& [name, text] : api.objects()) events.push_back(*Json::parse(text));
    return events;
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  testing::ScriptedApi api{loop};
  EventRecorder recorder{loop, api, log, metrics, "tidemark-test"};
  net::Scope scope{loop};
};

TEST_F(RecorderTest, EventNamesObjectReasonAndReporter) {
  record("7 cores");
  run_for(1s);
  ASSERT_EQ(events().size(), 1u);
  const Json event = events()[0];
  EXPECT_EQ(event.text_at("involvedObject", "kind"), "Node");
  EXPECT_EQ(event.text_at("involvedObject", "uid"), "uid-1");
  EXPECT_EQ(event.text_at("metadata", "namespace"), "default") << "events of cluster-scoped objects live there";
  EXPECT_EQ(event.text_at("reason"), "Sold");
  EXPECT_EQ(event.text_at("message"), "7 cores");
  EXPECT_EQ(event.text_at("type"), "Normal");
  EXPECT_EQ(event.text_at("source", "component"), "tidemark-test");
  EXPECT_EQ(*event.at("count"), Json(1));
}

TEST_F(RecorderTest, RepeatedEventRaisesTheCount) {
  for (int i = 0; i < 5; ++i) {
    record("7 cores");
    run_for(1min);
  }
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(*events()[0].at("count"), Json(5));
  EXPECT_NE(events()[0].text_at("firstTimestamp"), events()[0].text_at("lastTimestamp"));
}

TEST_F(RecorderTest, MessagesThatDifferOnlyAfterTheCutAreTheSame) {
  const std::string long_text(5'000'000, 'x');
  record(long_text + "1", kNode, "Reason" + long_text);
  record(long_text + "2", kNode, "Reason" + long_text + "more");
  run_for(1s);
  record(long_text + "3", kNode, "Reason" + long_text);
  run_for(1s);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(*events()[0].at("count"), Json(3));
  EXPECT_EQ(events()[0].text_at("message").size(), 1024u);
  EXPECT_EQ(events()[0].text_at("reason").size(), 128u);
}

TEST_F(RecorderTest, CreatesANewEventAfterTheWindow) {
  record("7 cores");
  run_for(11min);
  record("7 cores");
  run_for(1s);
  EXPECT_EQ(events().size(), 2u);
}

TEST_F(RecorderTest, CombinesManyMessagesOfOneReason) {
  for (int i = 0; i < 20; ++i) {
    record(base::cat("value ", i));
    run_for(1s);
  }
  EXPECT_EQ(events().size(), 11u) << "ten of their own, one for the rest";
  int combined = 0;
  for (const auto& event : events()) {
    if (event.text_at("message").starts_with("(combined from similar events) ")) {
      ++combined;
      EXPECT_EQ(*event.at("count"), Json(10));
    }
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(RecorderTest, LimitsEventsPerObject) {
  for (int i = 0; i < 100; ++i) record("flap");
  record("fine", {"v1", "Node", "", "n2", "uid-2"});
  run_for(1s);
  std::int64_t flaps = 0;
  for (const auto& event : events()) {
    if (event.text_at("message") == "flap") flaps += event.at("count")->as_int();
  }
  EXPECT_EQ(flaps, EventRecorder::kBurstAnObject);
  EXPECT_EQ(events().size(), 2u);
  run_for(EventRecorder::kRefill);
  record("flap");
  run_for(1s);
  EXPECT_EQ(metrics.counter("tidemark_events_dropped_total", "").value(), 75u);
}

TEST_F(RecorderTest, RecreatesAnExpiredEvent) {
  record("7 cores");
  run_for(1s);
  api.remove_object(api.objects().begin()->first);
  record("7 cores");
  run_for(1s);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(*events()[0].at("count"), Json(1));
}

TEST_F(RecorderTest, CountsFailedWritesWithoutWaiting) {
  api.down = true;
  record("lost");
  run_for(1min);
  api.down = false;
  record("kept");
  run_for(1s);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].text_at("message"), "kept");
  EXPECT_EQ(metrics.counter("tidemark_events_dropped_total", "").value(), 1u);
}

TEST_F(RecorderTest, CutsALongMessageBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "ä";
  record(text);
  run_for(1s);
  const std::string kept(events().at(0).text_at("message"));
  EXPECT_LE(kept.size(), 1024u);
  EXPECT_TRUE(base::valid_utf8(kept));
}

}  // namespace
}  // namespace tidemark::kube
