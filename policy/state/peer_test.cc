#include "policy/state/peer.h"

#include <gtest/gtest.h>

namespace tidemark::policy::state {
namespace {

model::Task koordlet() {
  model::Task task;
  task.ns = kPeersNamespace;
  task.containers.emplace_back().name = kPeersContainer;
  task.containers[0].state = model::ContainerState::kRunning;
  return task;
}
bool counts(const model::Task& task) {
  return runs_peers_agent(task, kPeersNamespace);
}

TEST(PeersAgent, ItsContainerInItsNamespace) {
  model::Task task = koordlet();
  EXPECT_TRUE(counts(task));
  EXPECT_FALSE(runs_peers_agent(task, "elsewhere"));
  task.containers[0].state = model::ContainerState::kWaiting;
  EXPECT_FALSE(counts(task)) << "it writes nothing";
  task.containers[0] = {};
  task.containers[0].state = model::ContainerState::kRunning;
  EXPECT_FALSE(counts(task));
}

// A user with rights in one namespace cannot make the agent release a node.
TEST(PeersAgent, APodNameAloneIsNotEnough) {
  model::Task task = koordlet();
  task.ns = "batch";
  EXPECT_FALSE(counts(task));
  task = koordlet();
  task.qos_raw = task.qos = model::Qos::kBe;
  EXPECT_FALSE(counts(task)) << "offline work is no agent, wherever it runs";
  task = koordlet();
  task.kind = model::TaskKind::kCopilotTask;
  EXPECT_FALSE(counts(task));
}

TEST(PeersAgent, AProcessOfTheMachine) {
  EXPECT_TRUE(is_peers_agent({0, false, false}));
  EXPECT_FALSE(is_peers_agent({1000, false, false})) << "any user may choose this program name";
  EXPECT_FALSE(is_peers_agent({0, true, false})) << "it writes nothing";
  EXPECT_FALSE(is_peers_agent({0, false, true})) << "in a container: its pod is known by its namespace";
}

}  // namespace
}  // namespace tidemark::policy::state
