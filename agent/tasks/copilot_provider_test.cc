// Against copilots on real unix sockets, under simulated time.
#include "agent/tasks/copilot_provider.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/testing/copilot.h"
#include "agent/testing/node.h"
#include "model/names.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kParent = "kubepods/besteffort/hadoop-yarn";

struct CopilotProviderTest : testing::NodeTest {
  CopilotProviderTest() : yarn(loop, log, tree.path("yarn.sock")) {
    CopilotConfig config;
    config.socket = yarn.socket();
    config.parents = {std::string(kParent)};
    config.cluster = "c1";
    client = std::make_unique<net::HttpClient>(loop, nullptr, *copilot::socket_config(config.socket));
    provider = std::make_unique<CopilotProvider>(loop, *client, *hierarchies, log, std::move(config));
  }
  ~CopilotProviderTest() override { scope.clear(); }

  void begin() {
    scope.spawn(provider->run());
    run_for(0s);
  }
  std::string listed() {
    std::vector<std::string> texts;
    for (const TaskPointer& task : provider->provided().tasks) texts.push_back(base::cat(task->name, "@", task->path));
    return base::join(texts, " ");
  }
  Standing standing() { return provider->provided().standing; }

  testing::Copilot yarn;
  std::unique_ptr<net::HttpClient> client;
  std::unique_ptr<CopilotProvider> provider;
};

TEST_F(CopilotProviderTest, ItsContainersAreOfflineWork) {
  yarn.run("container_e01_1700000000000_0001_01_000002", kParent);
  begin();
  ASSERT_EQ(provider->provided().tasks.size(), 1u);
  EXPECT_EQ(standing(), Standing::kCurrent);
  const model::Task& task = *provider->provided().tasks[0];
  EXPECT_EQ(task.kind, model::TaskKind::kCopilotTask);
  EXPECT_EQ(task.path, "kubepods/besteffort/hadoop-yarn/container_e01_1700000000000_0001_01_000002");
  const model::TaskIdentity identity{.source = "yarn",
                                     .cluster = "c1",
                                     .job = "application_1700000000000_0001",
                                     .attempt = "appattempt_1700000000000_0001_000001",
                                     .task = "container_e01_1700000000000_0001_01_000002",
                                     .user = "",
                                     .business = "",
                                     .work_class = ""};
  EXPECT_EQ(task.identity, identity);
  EXPECT_EQ(task.qos_raw, model::Qos::kBe);
  EXPECT_EQ(task.priority, model::PriorityClass::kBatch);
  EXPECT_EQ(task.priority_value, 5500);
  // "resources uses native names although the containers run on batch resources"
  EXPECT_TRUE(task.requests.native.none());
  EXPECT_EQ(task.requests.batch.cpu, model::CpuMilli{2000});
  EXPECT_EQ(task.limits.batch.memory, model::MemoryBytes{2147483648});
}

TEST_F(CopilotProviderTest, LabelsSayWhoseItIs) {
  copilot::Container& container = yarn.run("container_1700000000000_0001_01_000002", kParent);
  container.labels = {{std::string(model::kClassLabel), "spark"},
                      {std::string(model::kUserLabel), "ada"},
                      {std::string(model::kBusinessLabel), "ads"},
                      {std::string(model::kJobLabel), "nightly"}};
  begin();
  ASSERT_EQ(provider->provided().tasks.size(), 1u);
  const model::TaskIdentity& identity = provider->provided().tasks[0]->identity;
  EXPECT_EQ(identity.work_class, "spark");
  EXPECT_EQ(identity.user, "ada");
  EXPECT_EQ(identity.business, "ads");
  EXPECT_EQ(identity.job, "nightly");
}

TEST_F(CopilotProviderTest, ItMayNameGroupsBelowItsParentOnly) {
  yarn.run("fine", kParent);
  for (const char* group : {"kubepods/besteffort/podx/c", "kubepods/besteffort/hadoop-yarn", "", "/",
                            "kubepods/besteffort/hadoop-yarn/../podx", "kubepods/besteffort/hadoop-yarn-other/x"}) {
    yarn.run(base::cat("bad", yarn.containers.size()), kParent).group = group;
  }
  begin();
  EXPECT_EQ(listed(), "fine@kubepods/besteffort/hadoop-yarn/fine");
  EXPECT_NE(lines.find("a copilot's container is not accounted"), std::string::npos) << lines;
}

TEST_F(CopilotProviderTest, TheSameAgainIsNoChange) {
  yarn.run("c1", kParent);
  yarn.run("c2", kParent);
  begin();
  const auto change = provider->provided().change;
  const TaskPointer first = provider->provided().tasks.at(0);
  std::swap(yarn.containers[0], yarn.containers[1]);
  run_for(10s);
  EXPECT_EQ(yarn.lists, 2);
  EXPECT_EQ(provider->provided().change, change);
  yarn.containers.pop_back();
  yarn.run("c3", kParent);
  run_for(10s);
  EXPECT_NE(provider->provided().change, change);
  EXPECT_EQ(listed(), "c2@kubepods/besteffort/hadoop-yarn/c2 c3@kubepods/besteffort/hadoop-yarn/c3");
}

TEST_F(CopilotProviderTest, OneThatIsAwayKeepsItsListForAWhileAndIsThenMissing) {
  yarn.run("c1", kParent);
  begin();
  yarn.fails = true;
  run_for(59s);
  EXPECT_EQ(standing(), Standing::kHeld);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
  run_for(1s);
  EXPECT_EQ(standing(), Standing::kMissing);
  EXPECT_EQ(provider->provided().tasks.size(), 0u);
  yarn.fails = false;
  run_for(10s);
  EXPECT_EQ(standing(), Standing::kCurrent);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
}

TEST_F(CopilotProviderTest, OneThatHangsIsAway) {
  yarn.run("c1", kParent);
  begin();
  yarn.hangs = true;
  run_for(12999ms);
  EXPECT_EQ(standing(), Standing::kCurrent);
  run_for(1ms);
  EXPECT_EQ(standing(), Standing::kHeld);
}

TEST_F(CopilotProviderTest, OneThatWasNeverThereIsWaitedFor) {
  yarn.stop();
  begin();
  run_for(5min);
  EXPECT_EQ(standing(), Standing::kWaiting);
  yarn.start();
  yarn.run("c1", kParent);
  run_for(10s);
  EXPECT_EQ(standing(), Standing::kCurrent);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
}

// A restarted copilot may be another one: it is asked who it is.
TEST_F(CopilotProviderTest, AnotherCopilotOnTheSocketIsAnotherSource) {
  yarn.run("c1", kParent);
  begin();
  yarn.stop();
  run_for(10s);
  EXPECT_EQ(standing(), Standing::kHeld);
  yarn.name = "other";
  yarn.start();
  run_for(10s);
  EXPECT_EQ(provider->provided().tasks.at(0)->identity.source, "other");
}

TEST_F(CopilotProviderTest, ANewContainerIsKnownWhenItsGroupIsMade) {
  make("besteffort/hadoop-yarn");
  begin();
  run_for(1s);
  yarn.run("c1", kParent);
  make("besteffort/hadoop-yarn/c1");
  run_for(0s);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
  yarn.containers.clear();
  remove("besteffort/hadoop-yarn/c1");
  run_for(0s);
  EXPECT_EQ(provider->provided().tasks.size(), 0u);
}

// Each question is one to its scheduler's daemon.
TEST_F(CopilotProviderTest, ManyNewContainersAreFewQuestions) {
  make("besteffort/hadoop-yarn");
  begin();
  ASSERT_EQ(yarn.lists, 1);
  for (int i = 0; i < 50; ++i) {
    yarn.run(base::cat("c", i), kParent);
    make(base::cat("besteffort/hadoop-yarn/c", i));
    run_for(0s);
  }
  EXPECT_EQ(yarn.lists, 4);
  run_for(1s);
  EXPECT_EQ(yarn.lists, 5);
  EXPECT_EQ(provider->provided().tasks.size(), 50u);
}

}  // namespace
}  // namespace tidemark::agent
