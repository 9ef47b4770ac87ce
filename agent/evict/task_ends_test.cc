#include "agent/evict/task_ends.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "kube/intern.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

struct TaskEndsTest : kube::testing::ClientTest {
  TaskEndsTest() { transport.answers = {{}}; }

  static std::shared_ptr<model::Task> task(const std::string& name, const std::string& work_class = "spark",
                                           model::TaskKind kind = model::TaskKind::kCopilotTask) {
    auto made = std::make_shared<model::Task>();
    made->kind = kind;
    made->name = made->identity.task = name;
    made->identity.source = kind == model::TaskKind::kPod ? "kubernetes" : "yarn";
    made->identity.job = "application_1_0001";
    made->identity.work_class = work_class;
    return made;
  }
  void runs(const std::string& name, const std::string& work_class = "spark") { here[name] = task(name, work_class); }
  void ends(const std::string& name) { here.erase(name); }

  void seconds(int count) {
    for (int i = 0; i < count; ++i) {
      auto snapshot = std::make_shared<TaskSnapshot>();
      snapshot->change = ++change;
      for (const auto& [name, each] : here) snapshot->tasks.push_back({{}, each, std::nullopt, false});
      snapshot->sources.push_back({"/run/yarn.sock", state, std::nullopt, here.size()});
      ends_->observe(snapshot, heard);
      net::testing::run_for(loop, clock, 1s);
    }
  }
  // The agent ends, and another one begins with the Node as it is.
  void restart() {
    ends_.emplace(loop, *client, log, "n1");
    kube::NodeFields fields;
    fields.meta.annotations = {model::kEndedTasksAnnotation};
    const std::string bytes =
        Json::object(
            {{"metadata",
              Json::object({{"name", "n1"},
                            {"annotations", Json::object({{model::kEndedTasksAnnotation, Json(annotation())}})}})}})
            .dump();
    ends_->use_node(*kube::decode_node(bytes, fields, interner));
  }
  std::string annotation() const {
    if (transport.sent.empty()) return "";
    const auto body = Json::parse(transport.sent.back().request.body);
    return std::string(body->at("metadata", "annotations", model::kEndedTasksAnnotation)->as_string());
  }
  std::vector<model::EndedTasks> told() const {
    return transport.sent.empty() ? std::vector<model::EndedTasks>() : *model::parse_ended_tasks(annotation());
  }
  // Of all that the node carries.
  std::pair<std::int64_t, std::int64_t> sums() const {
    std::pair<std::int64_t, std::int64_t> sums;
    for (const auto& each : told()) {
      sums.first += each.evicted;
      sums.second += each.finished;
    }
    return sums;
  }
  using Sums = std::pair<std::int64_t, std::int64_t>;

  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
  std::map<std::string, std::shared_ptr<model::Task>> here;
  std::uint64_t change = 0;
  ProviderState state = ProviderState::kCurrent;
  bool heard = true;
  std::optional<TaskEnds> ends_{std::in_place, loop, *client, log, "n1"};
};

TEST_F(TaskEndsTest, WritesEachEvictionOnceAndSoon) {
  runs("a");
  runs("b");
  seconds(1);
  ends_->asked(*here["a"]);
  ends_->evicted(*here["a"]);
  ends_->evicted(*here["a"]);  // its group is killed at its deadline
  seconds(1);
  ASSERT_EQ(transport.sent.size(), 1u);
  EXPECT_EQ(transport.sent[0].request.target.substr(0, 24), "/api/v1/nodes/n1/status?")
      << "an agent has no other right";
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].work_class, "spark");
  EXPECT_EQ(told()[0].job, "yarn/application_1_0001");
  EXPECT_EQ(sums(), Sums(1, 0));
  ends("a");
  seconds(700);
  EXPECT_EQ(transport.sent.size(), 1u) << "its end is no other end";
}

TEST_F(TaskEndsTest, GathersFinishedTasks) {
  for (const char* name : {"a", "b", "c"}) runs(name);
  runs("t", "transcode");
  seconds(1);
  ends("a");
  seconds(1);
  EXPECT_EQ(sums(), Sums(0, 1));
  ends("b");
  ends("t");
  seconds(200);
  EXPECT_EQ(transport.sent.size(), 1u) << "five minutes between two writes";
  seconds(110);
  EXPECT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(sums(), Sums(0, 3));
  EXPECT_LT(told()[0].at, told()[1].at) << "no two writes have one time";
  EXPECT_EQ(told()[1].at, told()[2].at);
  // An eviction writes all ends.
  ends("c");
  runs("d");
  ends_->asked(*here["d"]);
  ends_->evicted(*here["d"]);
  seconds(1);
  EXPECT_EQ(sums(), Sums(1, 4));
  seconds(1200);
  runs("e");
  seconds(1);
  ends("e");
  seconds(1);
  EXPECT_EQ(sums(), Sums(0, 1)) << "what is long over is told no more";
}

TEST_F(TaskEndsTest, CountsReplacedTaskOnce) {
  runs("a");
  runs("b");
  seconds(1);
  ends_->asked(*here["a"]);
  ends_->replaced(*here["a"]);
  ends("b");
  seconds(400);
  EXPECT_EQ(sums(), Sums(1, 0));
  ends("a");  // by itself, later
  seconds(400);
  EXPECT_EQ(sums(), Sums(1, 1));
}

TEST_F(TaskEndsTest, UnreachedTaskFinishesOrIsKilledOnce) {
  runs("a");
  runs("b");
  seconds(1);
  for (const char* name : {"a", "b"}) {
    ends_->asked(*here[name]);
    ends_->stays(*here[name]);
  }
  for (int i = 0; i < 3; ++i) ends_->evicted(*here["b"]);  // killed until it is gone
  ends("a");
  ends("b");
  seconds(400);
  EXPECT_EQ(sums(), Sums(1, 1));
}

TEST_F(TaskEndsTest, CountsNothingWhileCopilotIsSilent) {
  runs("a");
  seconds(1);
  state = ProviderState::kMissing;
  ends("a");
  seconds(400);
  state = ProviderState::kCurrent;
  seconds(400);
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(TaskEndsTest, DoesNotCountPods) {
  const auto pod = task("pod", "spark", model::TaskKind::kPod);
  here["pod"] = pod;
  seconds(1);
  ends_->asked(*pod);
  ends_->evicted(*pod);
  ends("pod");
  seconds(400);
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(TaskEndsTest, WritesNothingWithoutManager) {
  heard = false;
  runs("a");
  seconds(1);
  ends("a");
  seconds(400);
  heard = true;
  seconds(400);
  EXPECT_TRUE(transport.sent.empty()) << "nor later, what was before";
}

TEST_F(TaskEndsTest, RetriesFailedWriteWithSameTime) {
  kube::testing::Answer failed;
  failed.status = 403;
  transport.answers = {failed, {}};
  runs("a");
  seconds(1);
  ends_->evicted(*here["a"]);
  seconds(1);
  ASSERT_EQ(transport.sent.size(), 1u);
  const auto first = told();
  seconds(40);
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(told(), first) << "a manager that read it the first time counts it once";
}

TEST_F(TaskEndsTest, RestartContinuesFromNode) {
  runs("a");
  runs("b");
  seconds(1);
  ends_->asked(*here["a"]);
  ends_->evicted(*here["a"]);
  seconds(1);
  restart();
  ends_->asked(*here["a"], true);
  seconds(1);
  ends_->evicted(*here["a"]);  // killed at the deadline that was reported before
  ends("a");
  ends("b");
  seconds(2);
  EXPECT_EQ(sums(), Sums(1, 1));
  EXPECT_LT(told()[0].at, told()[1].at);
}

TEST_F(TaskEndsTest, StopWritesPendingEnds) {
  runs("a");
  runs("b");
  seconds(1);
  ends("a");
  seconds(10);
  ends("b");
  seconds(10);
  ASSERT_EQ(sums(), Sums(0, 1)) << "five minutes between two writes";
  net::testing::run_task(loop, clock, ends_->drain(2s));
  EXPECT_EQ(sums(), Sums(0, 2));
}

TEST_F(TaskEndsTest, OmitsNamesOfVeryManyJobs) {
  for (int i = 0; i < 50; ++i) {
    auto each = std::make_shared<model::Task>(*task("c" + std::to_string(i)));
    each->identity.job = "application_1_" + std::to_string(i);
    ends_->evicted(*each);
  }
  seconds(1);
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].job, "");
  EXPECT_EQ(sums(), Sums(50, 0));
}

}  // namespace
}  // namespace tidemark::agent
