#include "agent/tasks/kubelet_configz.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/testing/node.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using kube::testing::Answer;

struct KubeletConfigzTest : testing::NodeTest {
  void begin() {
    scope.spawn(configz.run());
    run_for(0s);
  }
  kube::testing::ScriptedTransport transport{loop};
  KubeletConfigz configz{loop, transport, [] { return "t1"; }, log};
};

TEST_F(KubeletConfigzTest, AskedAtTheStartAndEachHour) {
  transport.answers = {{.body = R"({"kubeletconfig":{"evictionHard":{"memory.available":"10%"}}})"},
                       {.body = R"({"kubeletconfig":{"evictionHard":{"memory.available":"20%"}}})"}};
  begin();
  ASSERT_EQ(transport.sent.size(), 1U);
  EXPECT_EQ(transport.sent[0].request.target, "/configz");
  EXPECT_EQ(transport.sent[0].request.headers.get("authorization"), "Bearer t1");
  EXPECT_EQ(configz.found()->hard.memory_available->milli_percent, 10'000);
  run_for(kConfigzInterval - 1ms);
  EXPECT_EQ(transport.sent.size(), 1U);
  run_for(1ms);
  EXPECT_EQ(configz.found()->hard.memory_available->milli_percent, 20'000);
}

TEST_F(KubeletConfigzTest, ReportsRefusalOnceAndKeepsLastAnswer) {
  const Answer refuses{.status = 403, .body = "Forbidden"};
  transport.answers = {{.body = R"({"kubeletconfig":{"evictionHard":{"memory.available":"10%"}}})"}, refuses};
  begin();
  run_for(3 * kConfigzInterval);
  EXPECT_EQ(transport.sent.size(), 4U);
  EXPECT_TRUE(configz.found());
  const auto first = lines.find("keeping the last one");
  EXPECT_NE(first, std::string::npos) << lines;
  EXPECT_NE(lines.find("nodes/configz"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("keeping the last one", first + 1), std::string::npos) << lines;
}

TEST_F(KubeletConfigzTest, RetriesSoonerWithoutAnswer) {
  transport.answers = {{.status = 500, .body = "not yet"},
                       {.body = R"({"kubeletconfig":{"evictionHard":{"memory.available":"10%"}}})"}};
  begin();
  EXPECT_FALSE(configz.found());
  run_for(kConfigzRetry);
  EXPECT_TRUE(configz.found());
}

}  // namespace
}  // namespace tidemark::agent
