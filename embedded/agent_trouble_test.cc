#include "embedded/agent_trouble.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/testing/clock.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/testing/tree.h"
#include "linux/testing/without_root.h"
#include "net/testing/loop.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(1);

class AgentTroubleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = kube::memory::Server::open(loop_, log_, {}, nullptr);
    ASSERT_TRUE(opened);
    server_ = std::move(*opened);
    transport_ = std::make_unique<kube::memory::LocalTransport>(loop_, server_->handler(), "test");
    client_ = std::make_unique<kube::Client>(
        loop_, *transport_, [] { return std::string(); }, kube::ClientConfig{.user_agent = "test"}, base::Random(1));
    ASSERT_TRUE(net::testing::run_task(
        loop_, clock_, client_->create(kube::kNodes, R"({"metadata":{"name":"here"}})", {}, "", kCallLimit)));
  }

  void tell() {
    const ComponentSurroundings around{loop_, *client_, log_, random_, [] { return std::string(); }, nullptr};
    const Error error{ErrorKind::kNotFound, "no groups"};
    net::testing::run_task(loop_, clock_, trouble_.tell(around, error));
  }
  std::string node() {
    return *net::testing::run_task(loop_, clock_, client_->get(kube::kNodes, "", "here", kCallLimit));
  }
  bool node_says(std::string_view words) { return node().contains(words); }
  std::string shut() const { return machine_.root() + "/shut"; }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  std::vector<std::string> said_;
  base::Log log_{clock_, {.write = [this](std::string_view line) { said_.emplace_back(line); }}};
  base::Random random_{2};
  std::unique_ptr<kube::memory::Server> server_;
  std::unique_ptr<kube::memory::LocalTransport> transport_;
  std::unique_ptr<kube::Client> client_;
  linux::testing::Tree machine_;
  AgentTrouble trouble_{"here", {"", "/proc", shut() + "/run", shut() + "/lib/latch"}, false};
};

TEST_F(AgentTroubleTest, ReportsAuthorAndRemovalOfLatch) {
  tell();
  EXPECT_TRUE(node_says(R"("status":"False","reason":"NoGroups","message":"no groups")")) << node();
  ASSERT_TRUE(agent::set_latch(shut() + "/lib/latch", {"root@here", "disk", {}, ""}));
  tell();
  EXPECT_TRUE(node_says(R"("status":"True","reason":"NoGroups",)"
                        R"("message":"no groups; switched off on this machine; ordered by root@here: disk")"))
      << node();
  ASSERT_TRUE(agent::clear_latch(shut() + "/lib/latch"));
  machine_.write("shut/run/latch", "");
  tell();
  EXPECT_TRUE(node_says("no groups; switched off on this machine; the switch cannot be read: ")) << node();
  ASSERT_TRUE(agent::clear_latch(shut() + "/run/latch"));
  tell();
  EXPECT_TRUE(node_says(R"("status":"False","reason":"NoGroups","message":"no groups")")) << node();
  EXPECT_EQ(said_.size(), 1u) << "why there is no agent, once";
}

// Without root, beside directories of an earlier agent as root: if an unreadable latch counted as set, no work would
// start, and that user could not change it.
TEST_F(AgentTroubleTest, UnreadableLatchIsNotSet) {
  std::filesystem::create_directories(shut());
  std::filesystem::permissions(shut(), std::filesystem::perms::none);
  {
    const linux::testing::WithoutRoot nobody;
    tell();
    tell();
  }
  std::filesystem::permissions(shut(), std::filesystem::perms::owner_all);
  EXPECT_TRUE(node_says(R"("status":"False","reason":"NoGroups","message":"no groups")")) << node();
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_TRUE(said_[1].contains("whether this machine is switched off cannot be seen")) << said_[1];
}

}  // namespace
}  // namespace tidemark::embedded
