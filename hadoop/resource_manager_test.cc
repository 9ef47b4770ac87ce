#include "hadoop/resource_manager.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
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
  Machine(net::EventLoop& loop, std::string called, HaState begins, std::uint16_t client_port = 0,
          std::uint16_t admin_port = 0)
      : name(std::move(called)), state(begins) {
    const auto handler = [this](const SeenCall& call) { return answer(call); };
    client = std::make_unique<RpcServer>(loop, handler, client_port);
    admin = std::make_unique<RpcServer>(loop, handler, admin_port);
  }

  RpcServer::Reply answer(const SeenCall& call) {
    if (silent || (slow && call.method != "getServiceStatus")) return std::nullopt;
    if (!refuses.empty()) return Refusal{.exception = refuses, .message = "no"};
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
    return nodes();
  }

  std::string nodes() const {
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
  bool slow = false;    // answers only the state request at once
  std::string refuses;  // all calls, with this exception
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

  // Starts a call; what it answers, once it does.
  std::optional<Result<NodeReports>> answer;
  void begin(ResourceManager& manager, base::Duration limit) {
    answer.reset();
    scope.spawn([](ResourceManager& asked, base::Duration within, auto& into) -> net::Task<void> {
      into = co_await asked.nodes({}, within);
    }(manager, limit, answer));
  }

  base::testing::Clock clock;  // stands still while servers answer
  net::EventLoop loop{clock};
  net::Scope scope{loop};
  Machine one{loop, "rm1", HaState::kStandby};
  Machine two{loop, "rm2", HaState::kActive};
};

TEST_F(ResourceManagerTest, CallsASingleServerDirectly) {
  ResourceManager manager(loop, nullptr, cluster({{"", two.client->address(), two.admin->address()}}), base::Random(1));
  EXPECT_EQ(manager.active(), nullptr);
  EXPECT_EQ(who(manager), "rm2");
  EXPECT_TRUE(update(manager));
  EXPECT_EQ(two.asked, (std::vector<std::string>{"getClusterNodes", "updateNodeResource"}));
  EXPECT_EQ(manager.calls(), 2U);
  EXPECT_EQ(manager.connections(), 2U);
}

TEST_F(ResourceManagerTest, FindsAndKeepsTheActiveServer) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(who(manager), "rm2");
  ASSERT_NE(manager.active(), nullptr);
  EXPECT_EQ(manager.active()->id, "rm2");
  EXPECT_EQ(one.admin->calls().size(), 1U);  // asked for its state once
  EXPECT_EQ(manager.failovers(), 0U);
}

TEST_F(ResourceManagerTest, ReportsTheStateOfEachServer) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  const auto states = net::testing::run_task(loop, manager.states());
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(*states[0], HaState::kStandby);
  EXPECT_EQ(*states[1], HaState::kActive);
  EXPECT_EQ(manager.active(), nullptr) << "this chooses no server for calls";
}

TEST_F(ResourceManagerTest, ServerWithoutHaIsActiveIfItAnswers) {
  two.refuses = "org.apache.hadoop.ipc.RpcNoSuchProtocolException";
  ResourceManager alone(loop, nullptr, cluster({{"", two.client->address(), two.admin->address()}}), base::Random(1));
  EXPECT_EQ(*net::testing::run_task(loop, alone.states())[0], HaState::kActive);
  two.refuses = "org.apache.hadoop.security.AccessControlException";
  EXPECT_EQ(net::testing::run_task(loop, alone.states())[0].error().kind, ErrorKind::kDenied);
  ResourceManager of_pair(loop, nullptr, cluster({addresses(two)}), base::Random(1));
  two.refuses = "org.apache.hadoop.ipc.RpcNoSuchProtocolException";
  EXPECT_EQ(net::testing::run_task(loop, of_pair.states())[0].error().kind, ErrorKind::kUnsupported);
}

TEST_F(ResourceManagerTest, RepeatsTheCallAfterAFailover) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  two.state = HaState::kStandby;
  one.state = HaState::kActive;
  EXPECT_TRUE(update(manager));
  EXPECT_EQ(one.asked, std::vector<std::string>{"updateNodeResource"});
  EXPECT_EQ(manager.failovers(), 1U);
}

TEST_F(ResourceManagerTest, IsNotDelayedLongByAFrozenServer) {
  ResourceManager manager(loop, nullptr, cluster({addresses(two), addresses(one)}), base::Random(1));
  two.silent = true;
  one.state = HaState::kActive;
  EXPECT_EQ(who(manager), "rm1");
}

TEST_F(ResourceManagerTest, RepeatsTheCallIfTheActiveServerFreezes) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  two.silent = true;
  one.state = HaState::kActive;
  begin(manager, seconds(10));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return two.client->calls().size() == 2; }));
  net::testing::run_for(loop, clock, seconds(5));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return answer.has_value(); }));
  ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_EQ((*answer)->nodes[0].id.host, "rm1");
  EXPECT_EQ(manager.active()->id, "rm1");
}

TEST_F(ResourceManagerTest, GivesASlowActiveServerAllOfItsTime) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  two.slow = true;
  begin(manager, seconds(10));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return two.client->calls().size() == 2; }));
  const std::size_t looks = one.admin->calls().size();
  net::testing::run_for(loop, clock, seconds(5));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return one.admin->calls().size() > looks; }));
  net::testing::run_for(loop, clock, seconds(4));
  EXPECT_FALSE(answer);
  two.client->answer(two.client->calls().back(), two.nodes());
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return answer.has_value(); }));
  ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_EQ((*answer)->nodes[0].id.host, "rm2");
  EXPECT_EQ(two.client->calls().size(), 2U) << "it was asked once, not once more";
  EXPECT_EQ(manager.failovers(), 0U);
}

// No server is active: no reason to abandon the call.
TEST_F(ResourceManagerTest, WaitsToTheEndIfNoServerIsActive) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  two.silent = true;
  begin(manager, seconds(10));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return two.client->calls().size() == 2; }));
  net::testing::run_for(loop, clock, seconds(5));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return one.admin->calls().size() == 2; }));
  net::testing::run_for(loop, clock, seconds(4));
  EXPECT_FALSE(answer);
  net::testing::run_for(loop, clock, seconds(2));
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().kind, ErrorKind::kDeadline) << answer->error().message;
  EXPECT_EQ(manager.active(), nullptr);
}

// The one that was frozen goes on and believes for a while that it is still active.
TEST_F(ResourceManagerTest, KeepsTheServerThatItFoundIfAnotherClaimsToBeActive) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_EQ(who(manager), "rm2");
  one.state = HaState::kActive;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(who(manager), "rm2");
  EXPECT_EQ(manager.failovers(), 0U);
}

TEST_F(ResourceManagerTest, FindsAReturnedServerWithinSeconds) {
  std::vector<RmAddresses> gone;
  for (const char* name : {"rm1", "rm2"}) {
    const Machine machine(loop, name, HaState::kActive);
    gone.push_back(addresses(machine));
  }
  ResourceManager manager(loop, nullptr, cluster(gone), base::Random(1));
  for (int i = 0; i < 300; ++i) {
    EXPECT_NE(who(manager), "rm1");
    clock.advance(seconds(1));
  }
  Machine back(loop, "rm1", HaState::kActive, gone[0].client.port, gone[0].admin.port);
  int tries = 1;
  for (; tries < 60 && who(manager) != "rm1"; ++tries) clock.advance(seconds(1));
  EXPECT_LE(tries, 5);
}

TEST_F(ResourceManagerTest, NamesEachServerIfNoneIsActive) {
  two.state = HaState::kInitializing;
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  const std::string said = who(manager);
  EXPECT_NE(said.find("no ResourceManager is active: "), std::string::npos) << said;
  EXPECT_NE(said.find("rm1 is standby"), std::string::npos) << said;
  EXPECT_NE(said.find("rm2 is initializing"), std::string::npos) << said;
  EXPECT_EQ(manager.active(), nullptr);
}

TEST_F(ResourceManagerTest, SendsNoEmptyUpdate) {
  ResourceManager manager(loop, nullptr, cluster({addresses(one), addresses(two)}), base::Random(1));
  EXPECT_TRUE(net::testing::run_task(loop, manager.update({}, seconds(1))));
  EXPECT_EQ(manager.calls(), 0U);
}

}  // namespace
}  // namespace tidemark::hadoop
