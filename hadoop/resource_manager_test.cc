#include "hadoop/resource_manager.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "hadoop/testing/rpc_server.h"
#include "net/testing/loop.h"

namespace tidemark::hadoop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RpcServer;
using testing::SeenCall;

// One machine of a cluster: its two ports, and whether it is active.
struct Machine {
  Machine(net::EventLoop& loop, std::string called, HaState begins) : name(std::move(called)), state(begins) {
    const auto handler = [this](const SeenCall& call) { return answer(call); };
    client = std::make_unique<RpcServer>(loop, handler);
    admin = std::make_unique<RpcServer>(loop, handler);
  }

  RpcServer::Reply answer(const SeenCall& call) {
    if (silent) return std::nullopt;
    if (call.method == "getServiceStatus") {
      std::string status;
      WireWriter(status).number(1, static_cast<int>(state));
      return status;
    }
    if (state != HaState::kActive) {
      return Refusal{.exception = "org.apache.hadoop.ipc.StandbyException", .message = "not me"};
    }
    asked.push_back(call.method);
    if (call.method == "updateNodeResource") return "";
    std::string one;
    WireWriter(one)
        .message(1, [&](WireWriter& id) { id.bytes(1, name).number(2, 1); })
        .bytes(4, "")
        .bytes(5, "")
        .number(7, 2);
    std::string all;
    WireWriter(all).bytes(1, one);
    return all;
  }

  std::string name;
  HaState state;
  bool silent = false;
  std::vector<std::string> asked;
  std::unique_ptr<RpcServer> client;
  std::unique_ptr<RpcServer> admin;
};

class ResourceManagerTest : public ::testing::Test {
 protected:
  RmAddresses addresses(const Machine& machine) {
    return {machine.name, machine.client->address(), machine.admin->address()};
  }
  static RmCluster cluster(std::vector<RmAddresses> members) { return {std::move(members), {}}; }
  // The host of the only node, which is the name of the machine that was asked.
  std::string who(ResourceManager& manager, base::Duration limit = seconds(20)) {
    const auto read = net::testing::run_task(loop, manager.nodes({NodeState::kRunning}, limit));
    if (!read) return read.error().message;
    return read->nodes.empty() ? "nobody" : read->nodes[0].id.host;
  }
  Result<void> update(ResourceManager& manager) {
    return net::testing::run_task(
        loop, manager.update({{.id = {"n", 1}, .total = {1, 1, {}}, .overcommit = {}}}, seconds(20)));
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  Machine one{loop, "rm1", HaState::kStandby};
  Machine two{loop, "rm2", HaState::kActive};
};

TEST_F(ResourceManagerTest, WithoutOthersItIsSimplyAsked) {
  ResourceManager manager(loop, nullptr, cluster({{"", two.client->address(), two.admin->address()}}), base::Random(1));
  EXPECT_EQ(manager.active(), nullptr);
  EXPECT_EQ(who(manager), "rm2");
  EXPECT_TRUE(update(manager));
  EXPECT_EQ(two.asked, (std::vector<std::string>{"getClusterNodes", "updateNodeResource"}));
  EXPECT_EQ(manager.calls(), 2U);
  EXPECT_EQ(manager.connections(), 2U);
}

TEST_F(ResourceManagerTest, TheActiveOneIsFoundAndKept) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(who(manager), "rm2");
  ASSERT_NE(manager.active(), nullptr);
  EXPECT_EQ(manager.active()->id, "rm2");
  EXPECT_EQ(one.admin->calls().size(), 1U);  // asked once who it is
  EXPECT_EQ(manager.failovers(), 0U);
}

TEST_F(ResourceManagerTest, AfterAFailoverTheSameCallGoesToTheOther) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  two.state = HaState::kStandby;
  one.state = HaState::kActive;
  EXPECT_TRUE(update(manager));
  EXPECT_EQ(one.asked, std::vector<std::string>{"updateNodeResource"});
  EXPECT_EQ(manager.failovers(), 1U);
}

TEST_F(ResourceManagerTest, AFrozenOneHoldsUpNobodyForLong) {
  ResourceManager manager(loop, nullptr, cluster({addresses(two), addresses(one)}), base::Random(1));
  two.silent = true;
  one.state = HaState::kActive;
  EXPECT_EQ(who(manager), "rm1");
}

TEST_F(ResourceManagerTest, WhenNoneIsActiveEachIsNamedWithWhatItSaid) {
  two.state = HaState::kInitializing;
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  const std::string said = who(manager);
  EXPECT_NE(said.find("no ResourceManager is active: "), std::string::npos) << said;
  EXPECT_NE(said.find("rm1 is standby"), std::string::npos) << said;
  EXPECT_NE(said.find("rm2 is initializing"), std::string::npos) << said;
  EXPECT_EQ(manager.active(), nullptr);
}

TEST_F(ResourceManagerTest, NothingToUpdateIsNoCall) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_TRUE(net::testing::run_task(loop, manager.update({}, seconds(1))));
  EXPECT_EQ(manager.calls(), 0U);
}

}  // namespace
}  // namespace tidemark::hadoop
