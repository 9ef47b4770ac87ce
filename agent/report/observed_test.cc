#include "agent/report/observed.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

class ObservedTest : public ::testing::Test {
 protected:
  ObservedTest() {
    measured.pass.at = base::MonotonicTime{100s};
    put(measured.node.cpu_micro, std::int64_t{2'000'000});
    put(measured.node.memory, MemoryUse{1000, 1500});
  }

  template <class T>
  void put(Sample<T>& sample, T value) {
    sample.good_for = 2s;
    sample.put(value, measured.pass.at);
  }

  void add(model::TaskKind kind, std::string name, std::string source, std::int64_t cpu_micro,
           std::optional<std::size_t> above = std::nullopt) {
    auto task = std::make_shared<model::Task>();
    task->kind = kind;
    task->name = name;
    task->ns = "default";
    task->identity.task = "id-" + name;
    task->identity.source = std::move(source);
    task->priority = priority;
    task->qos = model::Qos::kLs;
    const TaskHandle handle{static_cast<std::uint32_t>(tasks->tasks.size()), 1};
    tasks->tasks.push_back({handle, task, above});
    AccountMeasured account;
    account.handle = handle;
    put(account.use.cpu_micro, cpu_micro);
    put(account.use.memory, MemoryUse{10, 15});
    measured.accounts.push_back(std::move(account));
  }

  std::string offline() const {
    std::string names;
    for (const std::string_view name : observed.offline_beside_pods())
      names += base::cat(names.empty() ? "" : " ", name);
    return names;
  }

  void take() { observed.take(measured, tasks); }

  Measured measured;
  std::shared_ptr<TaskSnapshot> tasks = std::make_shared<TaskSnapshot>();
  Observed observed;
  model::PriorityClass priority = model::PriorityClass::kProd;  // of what is added
};

TEST_F(ObservedTest, EachPodAndHostApplicationIsNamed) {
  add(model::TaskKind::kPod, "web", "kubernetes", 500'000);
  add(model::TaskKind::kHostApplication, "nginx", "host", 200'000);
  take();
  ASSERT_EQ(observed.readings().pods.size(), 1U);
  EXPECT_EQ(observed.readings().pods[0].name, "id-web");
  EXPECT_EQ(observed.readings().pods[0].reading.cpu_micro, 500'000);
  EXPECT_EQ(observed.readings().pods[0].reading.memory.without_page_cache_bytes, 10);
  EXPECT_EQ(observed.readings().pods[0].reading.memory.with_page_cache_bytes, 15);
  EXPECT_FALSE(observed.readings().pods[0].reading.memory.with_hot_page_cache_bytes);
  ASSERT_EQ(observed.subjects().pods.size(), 1U);
  EXPECT_EQ(observed.subjects().pods[0].name, "web");
  ASSERT_EQ(observed.subjects().host_applications.size(), 1U);
  EXPECT_EQ(observed.subjects().host_applications[0].name, "nginx");
  EXPECT_EQ(observed.subjects().host_applications[0].priority, model::PriorityClass::kProd);
}

TEST_F(ObservedTest, SeparateCopilotTasksAreOneBatchApplication) {
  add(model::TaskKind::kCopilotTask, "c1", "yarn", 100'000);
  add(model::TaskKind::kCopilotTask, "c2", "yarn", 200'000);
  add(model::TaskKind::kCopilotTask, "x1", "other", 50'000);
  take();
  ASSERT_EQ(observed.readings().host_applications.size(), 2U);
  EXPECT_EQ(observed.readings().host_applications[0].name, "yarn");
  EXPECT_EQ(observed.readings().host_applications[0].reading.cpu_micro, 300'000);
  EXPECT_EQ(observed.readings().host_applications[0].reading.memory.without_page_cache_bytes, 20);
  EXPECT_EQ(observed.subjects().host_applications[0].priority, model::PriorityClass::kBatch);
  EXPECT_EQ(observed.subjects().host_applications[0].qos, model::Qos::kBe);
  EXPECT_EQ(observed.readings().host_applications[1].name, "other");
}

// Its use is in the group that it lies in, and that one's is taken off as a whole.
TEST_F(ObservedTest, NestedOfflineApplicationsAreNamedOnce) {
  add(model::TaskKind::kHostApplication, "online", "host", 500'000);
  priority = model::PriorityClass::kBatch;
  add(model::TaskKind::kHostApplication, "in-online", "host", 400'000, 0);
  add(model::TaskKind::kHostApplication, "deeper", "host", 300'000, 1);
  priority = model::PriorityClass::kMid;
  add(model::TaskKind::kHostApplication, "mid", "host", 200'000, 2);
  priority = model::PriorityClass::kFree;
  add(model::TaskKind::kHostApplication, "deepest", "host", 100'000, 3);
  add(model::TaskKind::kHostApplication, "alone", "host", 100'000);
  add(model::TaskKind::kCopilotTask, "c1", "yarn", 100'000);
  take();
  EXPECT_EQ(offline(), "in-online alone yarn");
  EXPECT_EQ(observed.subjects().host_applications.size(), 7U);  // each is still reported
}

TEST_F(ObservedTest, SourceIsNotHostApplicationOfSameName) {
  add(model::TaskKind::kCopilotTask, "c1", "yarn", 100'000);
  add(model::TaskKind::kHostApplication, "yarn", "host", 500'000);
  add(model::TaskKind::kCopilotTask, "c2", "yarn", 100'000);
  take();
  ASSERT_EQ(observed.readings().host_applications.size(), 2U);
  EXPECT_EQ(observed.readings().host_applications[0].name, "copilot yarn");
  EXPECT_EQ(observed.readings().host_applications[0].reading.cpu_micro, 200'000);
  EXPECT_EQ(observed.readings().host_applications[1].name, "yarn");
  EXPECT_EQ(observed.readings().host_applications[1].reading.cpu_micro, 500'000);
  EXPECT_EQ(offline(), "copilot yarn");
}

TEST_F(ObservedTest, NestedTaskIsPartOfItsParent) {
  add(model::TaskKind::kPod, "nodemanager", "kubernetes", 500'000);
  add(model::TaskKind::kCopilotTask, "c1", "yarn", 100'000, 0);
  take();
  EXPECT_EQ(observed.readings().pods.size(), 1U);
  EXPECT_TRUE(observed.readings().host_applications.empty());
}

TEST_F(ObservedTest, OldOrMissingValueIsNoReading) {
  add(model::TaskKind::kPod, "old", "kubernetes", 500'000);
  add(model::TaskKind::kPod, "refused", "kubernetes", 1);
  add(model::TaskKind::kPod, "new", "kubernetes", 300'000);
  measured.accounts.erase(measured.accounts.begin() + 1);  // the sampler does not have it
  measured.accounts[0].use.cpu_micro.at = base::MonotonicTime{97s};
  take();
  ASSERT_EQ(observed.readings().pods.size(), 2U);
  EXPECT_EQ(observed.readings().pods[0].name, "id-old");
  EXPECT_FALSE(observed.readings().pods[0].reading.cpu_micro);
  EXPECT_EQ(observed.readings().pods[1].name, "id-new");
  EXPECT_EQ(observed.readings().pods[1].reading.cpu_micro, 300'000);
}

TEST_F(ObservedTest, MissingSystemUseIsNotZero) {
  take();
  EXPECT_FALSE(observed.readings().system.cpu_micro);
  put(measured.system_cpu, SystemUse{700'000, 0});
  take();
  EXPECT_EQ(observed.readings().system.cpu_micro, 700'000);
}

}  // namespace
}  // namespace tidemark::agent
