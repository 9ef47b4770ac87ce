#include "model/task.h"

#include <gtest/gtest.h>

namespace tidemark::model {
namespace {

// Contract 7.4: a policy must contain the feature. Contract 1.4: absent = all, bad JSON = none.
TEST(Task, EvictionPolicyNamesThePermittedEvictors) {
  Task task;
  EXPECT_TRUE(task.may_be_evicted_by("BEMemoryEvict"));
  task.eviction_features.emplace();
  EXPECT_FALSE(task.may_be_evicted_by("BEMemoryEvict"));
  task.eviction_features->push_back("BEMemoryEvict");
  EXPECT_TRUE(task.may_be_evicted_by("BEMemoryEvict"));
  EXPECT_FALSE(task.may_be_evicted_by("BECPUEvict"));
}

// Contract 1.3: any text; an empty text is a group too.
TEST(Task, AnEmptySettingIsOne) {
  Task task;
  EXPECT_EQ(task.setting(TaskSetting::kCoreSchedGroup), nullptr);
  task.settings.push_back({TaskSetting::kCoreSchedGroup, ""});
  ASSERT_NE(task.setting(TaskSetting::kCoreSchedGroup), nullptr);
  EXPECT_EQ(task.setting(TaskSetting::kCoreSchedPolicy), nullptr);
}

TEST(Task, BytesIncludeHeapMemory) {
  Task task;
  const std::size_t empty = task.bytes();
  EXPECT_EQ(empty, sizeof(Task));
  task.path = std::string(200, 'p');
  EXPECT_GE(task.bytes(), empty + 200);
  const std::size_t with_path = task.bytes();
  task.containers.resize(3);
  task.containers[1].id = std::string(64, '0');
  EXPECT_GE(task.bytes(), with_path + 3 * sizeof(TaskContainer) + 64);
  const std::size_t with_containers = task.bytes();
  task.eviction_features.emplace(1, std::string(100, 'f'));
  EXPECT_GE(task.bytes(), with_containers + 100);
  const std::size_t with_features = task.bytes();
  task.settings.push_back({TaskSetting::kMemoryQos, std::string(1000, 's')});
  EXPECT_GE(task.bytes(), with_features + 1000);
}

TEST(Task, KindsHaveNames) {
  EXPECT_EQ(to_string(TaskKind::kPod), "pod");
  EXPECT_EQ(to_string(TaskKind::kCopilotTask), "copilot task");
  EXPECT_EQ(to_string(TaskKind::kHostApplication), "host application");
  EXPECT_EQ(to_string(TaskProviderKind::kKubelet), "kubelet");
  EXPECT_EQ(to_string(TaskProviderKind::kApiServer), "API server");
  EXPECT_EQ(to_string(TaskProviderKind::kCopilot), "copilot");
  EXPECT_EQ(to_string(TaskProviderKind::kHostApplications), "host applications");
}

}  // namespace
}  // namespace tidemark::model
