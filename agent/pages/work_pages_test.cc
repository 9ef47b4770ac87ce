#include "agent/pages/work_pages.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

struct WorkPages : ::testing::Test {
  WorkPages() { measured.pass.at = {1s}; }

  model::Task& add(const std::string& name, std::int64_t used_micro, std::int64_t memory = 0) {
    const TaskHandle handle{static_cast<std::uint32_t>(tasks.tasks.size()), 1};
    auto task = std::make_shared<model::Task>();
    task->ns = "shop";
    task->name = name;
    task->phase = model::PodPhase::kRunning;
    task->qos_raw = task->qos = model::Qos::kLs;
    model::Task& made = *task;
    tasks.tasks.push_back({handle, std::move(task), std::nullopt, false});
    AccountMeasured account;
    account.handle = handle;
    account.use.cpu_micro.good_for = account.use.memory.good_for = 10s;
    account.use.cpu_micro.put(used_micro, measured.pass.at);
    account.use.memory.put({memory, memory}, measured.pass.at);
    measured.accounts.push_back(account);
    return made;
  }
  model::Task& online(const std::string& name, const std::string& workload, std::int64_t used_micro) {
    model::Task& task = add(name, used_micro, 100);
    task.workload = workload;
    task.requests.native.cpu = model::CpuMilli{500};
    return task;
  }
  model::Task& offline(const std::string& name, const std::string& work_class, std::int64_t used_micro) {
    model::Task& task = add(name, used_micro, 10);
    task.qos_raw = task.qos = model::Qos::kBe;
    task.identity.work_class = work_class;
    return task;
  }
  std::string online_text() const { return base::cat("\n", online_page(measured, tasks)); }
  std::string offline_text() const { return base::cat("\n", offline_page(measured, tasks)); }

  Measured measured;
  TaskSnapshot tasks;
};

TEST_F(WorkPages, OnlinePodsAreSummedByWorkload) {
  online("web-1", "shop/Deployment/web", 250'000).identity.business = "store";
  online("web-2", "shop/Deployment/web", 500'000).identity.business = "store";
  offline("spark", "spark", 4'000'000);
  auto& waits = measured.accounts[0].run_queue;
  waits.good_for = 10s;
  waits.put({.waited_ns = 500'000'000}, measured.pass.at, 1s);

  const std::string text = online_text();
  const std::string labels = R"({business="store",workload="shop/Deployment/web"} )";
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"tidemark_online_pods", "2"},
                                                                  {"tidemark_online_requested_cpu_cores", "1"},
                                                                  {"tidemark_online_used_cpu_cores", "0.75"},
                                                                  {"tidemark_online_used_memory_bytes", "200"},
                                                                  {"tidemark_online_waiting_threads", "0.5"}}) {
    EXPECT_TRUE(text.contains(base::cat("\n", name, labels, value, "\n"))) << name << " in " << text;
  }
  EXPECT_FALSE(text.contains("spark"));
}

TEST_F(WorkPages, AnUnmeasuredValueHasNoSeries) {
  online("web-1", "shop/Deployment/web", 0);
  EXPECT_FALSE(online_text().contains("waiting_threads"));
}

TEST_F(WorkPages, JobsAndPodsWithoutAnOwnerAreOther) {
  online("import-x1", "shop/Job/import", 1'000'000);
  online("bare", "", 1'000'000).identity.business = "store";
  const std::string text = online_text();
  EXPECT_TRUE(text.contains("\ntidemark_online_pods{business=\"\",workload=\"other\"} 2\n")) << text;
  EXPECT_FALSE(text.contains("import"));
}

TEST_F(WorkPages, SmallestWorkloadsPastTheCapAreOther) {
  for (std::size_t i = 0; i < kOnlineWorkloadsMax + 3; ++i) {
    online(base::cat("p", i), base::cat("shop/Deployment/w", i), 1'000'000).requests.native.cpu =
        model::CpuMilli{static_cast<std::int64_t>(1000 + i)};
  }
  const std::string text = online_text();
  EXPECT_TRUE(text.contains("\ntidemark_online_pods{business=\"\",workload=\"other\"} 3\n")) << text;
  EXPECT_FALSE(text.contains("shop/Deployment/w2\""));
  EXPECT_TRUE(text.contains("shop/Deployment/w3\""));
  EXPECT_TRUE(text.contains("\ntidemark_online_used_cpu_cores{business=\"\",workload=\"other\"} 3\n")) << text;
}

TEST_F(WorkPages, OfflineTasksAreSummedByClassAndSide) {
  offline("driver", "spark", 1'000'000);
  offline("executor", "spark", 500'000);
  model::Task& container = offline("container", "spark", 250'000);
  container.kind = model::TaskKind::kCopilotTask;
  container.identity.source = "yarn";
  online("web", "shop/Deployment/web", 1'000'000);
  const std::string text = offline_text();
  EXPECT_TRUE(text.contains("\ntidemark_offline_tasks{class=\"spark\",side=\"kubernetes\"} 2\n")) << text;
  EXPECT_TRUE(text.contains("\ntidemark_offline_used_cpu_cores{class=\"spark\",side=\"kubernetes\"} 1.5\n")) << text;
  EXPECT_TRUE(text.contains("\ntidemark_offline_used_memory_bytes{class=\"spark\",side=\"yarn\"} 10\n")) << text;
  EXPECT_FALSE(text.contains("web"));
  EXPECT_FALSE(text.contains("executor"));
}

TEST_F(WorkPages, ContainersInsideOfflineWorkCountOnce) {
  offline("node-manager", "spark", 2'000'000);
  model::Task& container = offline("container", "spark", 1'000'000);
  container.kind = model::TaskKind::kCopilotTask;
  tasks.tasks[1].above = 0;
  EXPECT_TRUE(offline_text().contains("\ntidemark_offline_used_cpu_cores{class=\"spark\",side=\"kubernetes\"} 2\n"));
}

TEST_F(WorkPages, ClassesPastTheCapAreOther) {
  for (std::size_t i = 0; i < kOfflineClassesMax + 2; ++i) offline(base::cat("t", i), base::cat("c", 10 + i), 0);
  const std::string text = offline_text();
  EXPECT_TRUE(text.contains("\ntidemark_offline_tasks{class=\"other\",side=\"kubernetes\"} 2\n")) << text;
}

TEST_F(WorkPages, EndedTasksLeaveNoSeries) {
  offline("executor", "spark", 1'000'000);
  online("web", "shop/Deployment/web", 1'000'000);
  tasks.tasks.clear();
  EXPECT_EQ(online_text() + offline_text(), "\n\n");
}

}  // namespace
}  // namespace tidemark::agent
