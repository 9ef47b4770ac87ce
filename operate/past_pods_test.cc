// Questions to pods: what is asked through the API server, with which token, and what errors say.
#include "operate/past_pods.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "journal/past_server.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::operate {
namespace {

using kube::testing::Answer;
using namespace std::chrono_literals;

const Answer kToken{.status = 201, .body = R"({"status":{"token":"of-past"}})"};

Answer pods(std::string_view items) {
  return {.body = base::cat(R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[)", items, "]}")};
}
std::string pod(std::string_view name, bool serves = true) {
  return base::cat(R"({"metadata":{"name":")", name,
                   R"("},"spec":{"containers":[{"name":"main","ports":[{"name":"metrics","containerPort":1})",
                   serves ? R"(,{"name":"past","containerPort":9319})" : "", "]}]}}");
}

class PodsAsked : public kube::testing::ClientTest {
 protected:
  PodsAsked() { token = "mine"; }
  PastPods asked{loop, transport, [this] { return token; }, *client, {"tm", "console", {}}};
};

TEST_F(PodsAsked, AsksTheAgentOfTheNodeWithATokenThatIsForItAlone) {
  transport.answers = {pods(pod("agent-1")), kToken, {.body = "lines"}};
  EXPECT_EQ(*run(asked.ask_agent("n 1", "/past/record?from=1&to=2")), "lines");
  EXPECT_TRUE(request(0).target.contains("fieldSelector=status.phase%3DRunning%2Cspec.nodeName%3Dn%201"));
  EXPECT_TRUE(request(0).target.contains("resourceVersion=0")) << "a list of all pods of etcd is not for a page";
  EXPECT_TRUE(request(1).target.starts_with("/api/v1/namespaces/tm/serviceaccounts/console/token"));
  EXPECT_EQ(Json::parse(request(1).body)->member("spec")->dump(),
            R"({"audiences":["tidemark-past"],"expirationSeconds":600})");
  EXPECT_EQ(request(2).target, "/api/v1/namespaces/tm/pods/https:agent-1:9319/proxy/past/record?from=1&to=2");
  EXPECT_EQ(request(2).headers.get("authorization"), "Bearer mine");
  EXPECT_EQ(request(2).headers.get(journal::kPastToken), "of-past");
}

TEST_F(PodsAsked, UsesATokenForAWhile) {
  transport.answers = {pods(pod("agent-1")), kToken, {.body = "a"}, pods(pod("agent-1")), {.body = "b"},
                       pods(pod("agent-1")), kToken, {.body = "c"}};
  EXPECT_EQ(*run(asked.ask_agent("n1", "/past/record")), "a");
  EXPECT_EQ(*run(asked.ask_agent("n1", "/past/record")), "b");
  clock.advance(PastPods::kTokenUsed);
  EXPECT_EQ(*run(asked.ask_agent("n1", "/past/record")), "c");
}

TEST_F(PodsAsked, TakesATokenThatIsGiven) {
  PastPods given{
      loop, transport, [this] { return token; }, *client, {"tm", "", [] { return std::string("projected"); }}};
  transport.answers = {pods(pod("agent-1")), {.body = "a"}};
  EXPECT_EQ(*run(given.ask_agent("n1", "/past/record")), "a");
  EXPECT_EQ(request(1).headers.get(journal::kPastToken), "projected");
}

TEST_F(PodsAsked, EachManagerAnswersOrSaysWhyNot) {
  transport.answers = {pods(base::cat(pod("m-1"), ",", pod("m-2", false), ",", pod("m-3"))),
                       kToken,
                       {.status = 404, .body = "it begins at 12:00\n"},
                       {.body = "{}"}};
  const auto answers = run(asked.ask_managers("/past/offer"));
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 3U);
  EXPECT_EQ(answers->at(0).body.error().message, "404 it begins at 12:00");
  EXPECT_TRUE(answers->at(1).body.error().message.starts_with("pod m-2 has no port `past`"));
  EXPECT_EQ(*answers->at(2).body, "{}");
}

TEST_F(PodsAsked, ErrorsNameWhatIsMissing) {
  transport.answers = {pods("")};
  EXPECT_EQ(run(asked.ask_agent("n1", "/past/record")).error().message, "no agent runs on node n1 in namespace tm");
  EXPECT_EQ(run(asked.ask_managers("/past/offer")).error().message, "no manager runs in namespace tm");
  const Answer forbidden{.status = 403,
                         .body = R"({"kind":"Status","code":403,"message":"ann cannot create serviceaccounts/token"})"};
  transport.answers = {pods(pod("agent-1")), forbidden};
  const auto refused = run(asked.ask_agent("n1", "/past/record"));
  EXPECT_TRUE(refused.error().message.contains("requesting a token of ServiceAccount console"));
  EXPECT_TRUE(refused.error().message.contains("ann cannot create serviceaccounts/token"));
  transport.answers = {pods(pod("agent-1")), kToken, {.status = 403, .body = "x may not get /tidemark/past\n"}};
  EXPECT_EQ(run(asked.ask_agent("n1", "/past/record")).error().message,
            "the agent of node n1 does not answer: 403 x may not get /tidemark/past");
}

}  // namespace
}  // namespace tidemark::operate
