#include "agent/tasks/task_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/testing/provider.h"
#include "base/metrics.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

struct TaskMetricsTest : ::testing::Test {
  bool shown(std::string_view line) const {
    return base::cat("\n", metrics.text()).find(base::cat("\n", line, "\n")) != std::string::npos;
  }

  base::Registry metrics;
  testing::Provider pods{"kubelet", model::TaskKind::kPod};
  testing::Provider yarn{"copilot /run/yarn.sock", model::TaskKind::kCopilotTask};
  const TaskProvider* providers[2] = {&pods, &yarn};
  TaskMetrics task_metrics{metrics, providers};
  base::MonotonicTime now{1h};
};

TEST_F(TaskMetricsTest, CountsTasksOfEachSource) {
  pods.say({"a", "b"});
  pods.confirm(now);
  now = now + 7s;
  yarn.say({"c"});
  yarn.forget();
  task_metrics.show(3, now);
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks{component="kubelet",reason="listed"} 2)")) << metrics.text();
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks{component="kubelet",reason="unconfirmed"} 0)"));
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks{component="copilot /run/yarn.sock",reason="listed"} 0)"));
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks{component="copilot /run/yarn.sock",reason="unconfirmed"} 1)"));
  EXPECT_TRUE(shown(R"(tidemark_agent_task_list_age_seconds{component="kubelet"} 7)"));
  EXPECT_TRUE(shown("tidemark_agent_task_claims_refused 3"));
  task_metrics.show(0, now + 1s);
  EXPECT_TRUE(shown(R"(tidemark_agent_task_list_age_seconds{component="kubelet"} 8)"));
  EXPECT_TRUE(shown("tidemark_agent_task_claims_refused 0"));
}

TEST_F(TaskMetricsTest, NoAgeBeforeFirstList) {
  task_metrics.show(0, now);
  EXPECT_EQ(metrics.text().find("tidemark_agent_task_list_age_seconds{"), std::string::npos);
}

TEST_F(TaskMetricsTest, CountsRefusals) {
  yarn.refuse(2);
  pods.refuse_list();
  task_metrics.show(0, now);
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks_refused{component="copilot /run/yarn.sock"} 2)"));
  EXPECT_TRUE(shown(R"(tidemark_agent_task_lists_refused_total{component="kubelet"} 1)"));
  yarn.refuse(0);
  pods.refuse_list();
  pods.refuse_list();
  task_metrics.show(0, now);
  task_metrics.show(0, now);
  EXPECT_TRUE(shown(R"(tidemark_agent_tasks_refused{component="copilot /run/yarn.sock"} 0)"));
  EXPECT_TRUE(shown(R"(tidemark_agent_task_lists_refused_total{component="kubelet"} 3)"));
}

}  // namespace
}  // namespace tidemark::agent
