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
    const ProvidedTasks& now = provider->provided();
    for (const TaskPointer& task : now.tasks) {
      const bool confirmed = texts.size() < now.tasks.size() - now.unconfirmed;
      texts.push_back(base::cat(task->name, "@", task->path, confirmed ? "" : "?"));
    }
    return base::join(texts, " ");
  }
  std::size_t told(std::string_view what) const {
    std::size_t times = 0;
    for (auto at = lines.find(what); at != std::string::npos; at = lines.find(what, at + 1)) ++times;
    return times;
  }
  ProviderState state() { return provider->provided().state; }

  testing::Copilot yarn;
  std::unique_ptr<net::HttpClient> client;
  std::unique_ptr<CopilotProvider> provider;
};

TEST_F(CopilotProviderTest, ItsContainersAreOfflineWork) {
  yarn.run("container_e01_1700000000000_0001_01_000002", kParent);
  begin();
  ASSERT_EQ(provider->provided().tasks.size(), 1u);
  EXPECT_EQ(state(), ProviderState::kCurrent);
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
  // Copilot contract 10: `resources` has native names, although the containers use batch resources.
  EXPECT_TRUE(task.requests.native.none());
  EXPECT_EQ(task.requests.batch.cpu, model::CpuMilli{2000});
  EXPECT_EQ(task.limits.batch.memory, model::MemoryBytes{2147483648});
}

// A copilot whose YARN sells half cores as vcores says both; what counts is what was sold.
TEST_F(CopilotProviderTest, BatchResourcesTakePrecedence) {
  copilot::Container& container = yarn.run("c1", kParent);
  container.requests.batch = container.limits.batch = {model::CpuMilli{1000}, model::MemoryBytes{2147483648}};
  begin();
  ASSERT_EQ(provider->provided().tasks.size(), 1u);
  EXPECT_EQ(provider->provided().tasks[0]->requests.batch.cpu, model::CpuMilli{1000});
  EXPECT_EQ(provider->provided().tasks[0]->limits.batch.cpu, model::CpuMilli{1000});
  EXPECT_TRUE(provider->provided().tasks[0]->requests.native.none());
}

TEST_F(CopilotProviderTest, LabelsGiveTheOwner) {
  copilot::Container& container = yarn.run("container_1700000000000_0001_01_000002", kParent);
  container.labels = {{std::string(model::kClassLabel), "spark"},
                      {std::string(model::kUserLabel), "ada"},
                      {std::string(model::kBusinessLabel), "ads"},
                      {std::string(model::kJobLabel), "nightly"},
                      {std::string(model::kInfrastructureLabel), "true"}};
  begin();
  ASSERT_EQ(provider->provided().tasks.size(), 1u);
  const model::TaskIdentity& identity = provider->provided().tasks[0]->identity;
  EXPECT_EQ(identity.work_class, "spark");
  EXPECT_EQ(identity.user, "ada");
  EXPECT_EQ(identity.business, "ads");
  EXPECT_EQ(identity.job, "nightly");
  EXPECT_TRUE(provider->provided().tasks[0]->infrastructure) << "a master: the last to go";
}

// It asks the ResourceManager for two applications a second, and knows none when it begins.
TEST_F(CopilotProviderTest, RestartedCopilotKeepsKnownJobAndClass) {
  const auto words = [](std::string_view work_class) {
    return std::vector<std::pair<std::string, std::string>>{{std::string(model::kClassLabel), std::string(work_class)},
                                                            {std::string(model::kBusinessLabel), "ads"},
                                                            {std::string(model::kJobLabel), "nightly"}};
  };
  yarn.run("c1", kParent).labels = words("spark");
  begin();
  yarn.stop();
  run_for(15s);
  yarn.containers.clear();
  yarn.run("c1", kParent);
  yarn.run("c2", kParent);
  yarn.start();
  run_for(15s);
  ASSERT_EQ(provider->provided().tasks.size(), 2u);
  const auto identity = [&](std::size_t at) { return provider->provided().tasks[at]->identity; };
  EXPECT_EQ(identity(0).work_class, "spark");
  EXPECT_EQ(identity(0).business, "ads");
  EXPECT_EQ(identity(0).job, "nightly");
  EXPECT_EQ(identity(1).work_class, "") << "that is another one";
  yarn.containers[0].labels = words("query");
  run_for(15s);
  EXPECT_EQ(identity(0).work_class, "query") << "what is said counts";
}

TEST_F(CopilotProviderTest, AcceptsOnlyGroupsBelowParents) {
  yarn.run("fine", kParent);
  for (const char* group : {"kubepods/besteffort/podx/c", "kubepods/besteffort/hadoop-yarn", "", "/",
                            "kubepods/besteffort/hadoop-yarn/../podx", "kubepods/besteffort/hadoop-yarn-other/x"}) {
    yarn.run(base::cat("bad", yarn.containers.size()), kParent).group = group;
  }
  begin();
  EXPECT_EQ(listed(), "fine@kubepods/besteffort/hadoop-yarn/fine");
  EXPECT_EQ(provider->provided().refused, 6u);
  EXPECT_EQ(told("ignoring a container of a copilot"), 6u) << lines;
}

// DESIGN 12: the mark alone is enough; of a copilot's limits its node's agent says how it stands.
TEST_F(CopilotProviderTest, SendsPermitWithEachLookAndSoonAfterChange) {
  yarn.limits_say = "disks of containers: 10 MiB/s written, in force on 1 disk";
  begin();
  run_for(10s);
  EXPECT_TRUE(yarn.permits.empty()) << "nothing is decided yet";
  provider->set_limit_permit(copilot::LimitPermit::kEnforce);
  run_for(2s);
  EXPECT_EQ(yarn.permits, std::vector<std::string>{"enforce"});
  EXPECT_EQ(provider->limits_say(), yarn.limits_say);
  provider->set_limit_permit(copilot::LimitPermit::kEnforce);
  run_for(30s);
  EXPECT_GE(yarn.permits.size(), 3u) << "one that began anew knows nothing";
  yarn.permits.clear();
  provider->set_limit_permit(copilot::LimitPermit::kOff);
  run_for(2s);
  EXPECT_EQ(yarn.permits, std::vector<std::string>{"off"});
  yarn.stop();
  run_for(20s);
  EXPECT_EQ(provider->limits_say(), "") << "nothing says so any more";
}

TEST_F(CopilotProviderTest, DiskUseIsSeparateFromTasks) {
  yarn.run("c1", kParent).held = {{2049, 4096, 1}};
  yarn.run("c2", kParent);
  begin();
  const TaskPointer before = provider->provided().tasks[0];
  const auto change = provider->provided().change;
  yarn.containers[0].held = {{2049, 8192, 2}};
  run_for(10s);
  std::vector<TaskOnDisks> held;
  provider->add_held_on_disks(held);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].task, "c1");
  EXPECT_EQ(held[0].held, (std::vector<copilot::HeldOnDisk>{{2049, 8192, 2}}));
  EXPECT_EQ(provider->provided().change, change) << "each look says something else of it";
  EXPECT_EQ(provider->provided().tasks[0], before);
}

TEST_F(CopilotProviderTest, AcceptsCopilotWithoutOwnLimits) {
  yarn.run("c1", kParent);
  provider->set_limit_permit(copilot::LimitPermit::kOff);
  begin();
  run_for(20s);
  EXPECT_EQ(provider->limits_say(), "");
  EXPECT_EQ(state(), ProviderState::kCurrent);
}

TEST_F(CopilotProviderTest, AnswersAreBounded) {
  const std::string text(model::kTaskNameBytesMax + 1, 'x');
  yarn.run("c1", kParent).name = text;
  yarn.run("c2", kParent).ns = text;
  yarn.run("c3", kParent).uid = text;
  yarn.run("c4", kParent);
  begin();
  EXPECT_EQ(listed(), "c4@kubepods/besteffort/hadoop-yarn/c4");
  EXPECT_EQ(provider->provided().refused, 3u);
  yarn.fails = true;
  run_for(10s);
  yarn.fails = false;
  yarn.name = text;  // another one has come in its place
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kHeld);
}

// One bad apple: the others are known, and the log says it once.
TEST_F(CopilotProviderTest, RefusesOnlyUnreadableContainer) {
  yarn.run("c1", kParent);
  yarn.nonsense = R"({"name":"c2","resources":{"requests":{"cpu":"much"}}})";
  begin();
  run_for(1min);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(listed(), "c1@kubepods/besteffort/hadoop-yarn/c1");
  EXPECT_EQ(provider->provided().refused, 1u);
  EXPECT_EQ(told("a copilot's container \\\"c2\\\""), 1u) << lines;
  yarn.nonsense = R"({"name":"c3","priority":"high"})";
  run_for(1min);
  EXPECT_EQ(told("ignoring a container of a copilot"), 2u) << lines;
  yarn.nonsense.clear();
  run_for(10s);
  EXPECT_EQ(provider->provided().refused, 0u);
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

TEST_F(CopilotProviderTest, AbsentCopilotKeepsItsListForAWhile) {
  yarn.run("c1", kParent);
  begin();
  yarn.fails = true;
  run_for(59s);
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
  run_for(1s);
  EXPECT_EQ(state(), ProviderState::kMissing);
  EXPECT_EQ(provider->provided().tasks.size(), 0u);
  yarn.fails = false;
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
}

// The scheduler's daemon restarts, and what it started goes on.
TEST_F(CopilotProviderTest, AbsentCopilotKeepsTasksWithGroups) {
  yarn.run("c1", kParent);
  yarn.run("c2", kParent);
  make("besteffort/hadoop-yarn/c1");
  make("besteffort/hadoop-yarn/c2");
  begin();
  const TaskPointer c1 = provider->provided().tasks.at(0);
  yarn.fails = true;
  run_for(59s);
  EXPECT_EQ(provider->provided().unconfirmed, 0u);
  run_for(1s);
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(listed(), "c1@kubepods/besteffort/hadoop-yarn/c1? c2@kubepods/besteffort/hadoop-yarn/c2?");
  EXPECT_EQ(provider->provided().tasks.at(0), c1);
  remove("besteffort/hadoop-yarn/c2");
  run_for(10s);
  EXPECT_EQ(listed(), "c1@kubepods/besteffort/hadoop-yarn/c1?");
  run_for(kUnconfirmedFor - 20s);
  EXPECT_EQ(state(), ProviderState::kHeld);
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kMissing);
  EXPECT_EQ(listed(), "");
  yarn.fails = false;
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
}

// A silent copilot is no sign that its tasks have ended.
TEST_F(CopilotProviderTest, RunningTasksStayWhileCopilotIsSilent) {
  yarn.run("c1", kParent);
  yarn.run("c2", kParent);
  make("besteffort/hadoop-yarn/c1");
  make("besteffort/hadoop-yarn/c2");
  runs_in("besteffort/hadoop-yarn/c1", "4711\n");
  begin();
  yarn.fails = true;
  run_for(60s + kUnconfirmedFor + 1h);
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(listed(), "c1@kubepods/besteffort/hadoop-yarn/c1?");
  runs_in("besteffort/hadoop-yarn/c1", "");
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kMissing);
  EXPECT_EQ(listed(), "");
}

TEST_F(CopilotProviderTest, UnlistedTaskStaysAWhileWithItsGroup) {
  yarn.run("c1", kParent);
  yarn.run("c2", kParent);
  make("besteffort/hadoop-yarn/c1");
  make("besteffort/hadoop-yarn/c2");
  begin();
  yarn.containers.erase(yarn.containers.begin());
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(listed(), "c2@kubepods/besteffort/hadoop-yarn/c2 c1@kubepods/besteffort/hadoop-yarn/c1?");
  yarn.run("c1", kParent);
  run_for(10s);
  EXPECT_EQ(provider->provided().unconfirmed, 0u);
  yarn.containers.clear();
  run_for(10s);
  EXPECT_EQ(provider->provided().unconfirmed, 2u);
  remove("besteffort/hadoop-yarn/c1");
  run_for(0s);  // the kernel tells of it
  EXPECT_EQ(listed(), "c2@kubepods/besteffort/hadoop-yarn/c2?");
  run_for(kUnconfirmedFor);
  EXPECT_EQ(listed(), "");
}

TEST_F(CopilotProviderTest, HangingCopilotIsAbsent) {
  yarn.run("c1", kParent);
  begin();
  yarn.hangs = true;
  run_for(12999ms);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  run_for(1ms);
  EXPECT_EQ(state(), ProviderState::kHeld);
}

TEST_F(CopilotProviderTest, AwaitsCopilotIfItsGroupsExist) {
  yarn.run("c1", kParent);
  make("besteffort/hadoop-yarn/c1");
  yarn.stop();
  begin();
  run_for(5min);
  EXPECT_EQ(state(), ProviderState::kWaiting);
  yarn.start();
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
}

TEST_F(CopilotProviderTest, DoesNotAwaitCopilotWithoutGroups) {
  yarn.stop();
  begin();
  run_for(1s);
  EXPECT_EQ(state(), ProviderState::kMissing) << "its parent is not even there";
  yarn.run("c1", kParent);
  make("besteffort/hadoop-yarn/c1");
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kWaiting) << "it is, and has a container";
  yarn.start();
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(provider->provided().tasks.size(), 1u);
}

// A restarted copilot may be another one: it is asked who it is.
TEST_F(CopilotProviderTest, AnotherCopilotOnTheSocketIsAnotherSource) {
  yarn.run("c1", kParent);
  begin();
  yarn.stop();
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kHeld);
  yarn.name = "other";
  yarn.start();
  run_for(10s);
  EXPECT_EQ(provider->provided().tasks.at(0)->identity.source, "other");
}

TEST_F(CopilotProviderTest, FindsNewContainerWhenGroupIsCreated) {
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
TEST_F(CopilotProviderTest, ManyNewContainersCauseFewRequests) {
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
