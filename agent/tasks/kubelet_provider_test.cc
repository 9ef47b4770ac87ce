#include "agent/tasks/kubelet_provider.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/testing/node.h"
#include "agent/testing/testdata.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using kube::testing::Answer;

std::string pod(std::string_view uid, std::string_view more = "") {
  return base::cat(R"({"metadata":{"name":"p-)", uid, R"(","namespace":"n","uid":")", uid, R"("},"spec":{)", more,
                   R"(},"status":{"phase":"Running"}})");
}

Answer pods(const std::vector<std::string>& items) {
  return {.body = base::cat(R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)", base::join(items, ","),
                            "]}")};
}
const Answer kNull{.body = R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":null})"};

struct KubeletProviderTest : testing::NodeTest {
  KubeletProviderTest()
      : provider(loop, transport, [this] { return token; }, *groups, log, {.source = {}},
                 {.keep =
                      [this](std::string_view list) {
                        kept = list;
                        ++times_kept;
                      },
                  .recall = [this] { return kept; }}) {
    make_levels();
  }
  void begin() {
    scope.spawn(groups->run());
    scope.spawn(provider.run());
    run_for(0s);
  }
  void answer(const Answer& answer) { transport.answers = {answer}; }
  // "name@path", sorted by uid; those that are unconfirmed behind the others, each with a "?".
  std::string listed() {
    std::vector<std::string> texts;
    const ProvidedTasks& now = provider.provided();
    for (const TaskPointer& task : now.tasks) {
      const bool confirmed = texts.size() < now.tasks.size() - now.unconfirmed;
      texts.push_back(base::cat(task->name, task->path.empty() ? "" : "@", task->path, confirmed ? "" : "?"));
    }
    return base::join(texts, " ");
  }
  ProviderState state() { return provider.provided().state; }

  kube::testing::ScriptedTransport transport{loop};
  std::string token = "t1";
  std::optional<std::string> kept;
  int times_kept = 0;
  KubeletProvider provider;
};

TEST_F(KubeletProviderTest, AsksForPodsAndForNothingElse) {
  answer({.body = testing::testdata("kubelet_pods.json")});
  make("pod11111111-2222-3333-4444-555555555555/cccc3333");
  begin();
  ASSERT_EQ(transport.sent.size(), 1u);
  EXPECT_EQ(transport.sent[0].request.method, "GET");
  EXPECT_EQ(transport.sent[0].request.target, "/pods");
  EXPECT_EQ(transport.sent[0].request.headers.get("authorization"), "Bearer t1");
  EXPECT_EQ(listed(), "etcd-n1 web-7d9c6b5f4-abcde@kubepods/pod11111111-2222-3333-4444-555555555555 etl-exec-1");
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(provider.provided().tasks[1]->containers[0].path,
            "kubepods/pod11111111-2222-3333-4444-555555555555/cccc3333");
}

// Contract 7.1: every 10 s, timeout 3 s.
TEST_F(KubeletProviderTest, EveryTenSecondsWithATokenThatIsReadEachTime) {
  answer(pods({pod("u1")}));
  begin();
  token = "t2";
  run_for(9999ms);
  EXPECT_EQ(transport.sent.size(), 1u);
  run_for(1ms);
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(transport.sent[1].request.headers.get("authorization"), "Bearer t2");
  token.clear();
  run_for(10s);
  EXPECT_FALSE(transport.sent.at(2).request.headers.has("authorization"));
}

TEST_F(KubeletProviderTest, ASlowKubeletKeepsTheLastList) {
  answer(pods({pod("u1")}));
  begin();
  transport.answers = {{.body = pods({}).body, .delay = 4s}};
  run_for(12999ms);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  run_for(1ms);
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(listed(), "p-u1");
  answer(pods({pod("u2")}));
  run_for(20s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(listed(), "p-u2");
}

TEST_F(KubeletProviderTest, AsksAtOnceWhenPodGroupIsCreated) {
  answer(pods({}));
  begin();
  run_for(5s);
  answer(pods({pod("u1")}));
  make("burstable/podu1");
  run_for(0s);
  EXPECT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(listed(), "p-u1@kubepods/burstable/podu1");
}

TEST_F(KubeletProviderTest, AGroupThatComesAfterTheList) {
  answer(pods({pod("u1")}));
  begin();
  EXPECT_EQ(listed(), "p-u1");
  const TaskPointer before = provider.provided().tasks[0];
  make("besteffort/podu1/c1");
  run_for(0s);
  EXPECT_EQ(listed(), "p-u1@kubepods/besteffort/podu1");
  EXPECT_EQ(before->path, "");  // an earlier snapshot does not change
  remove("besteffort/podu1");
  run_for(0s);
  EXPECT_EQ(listed(), "p-u1");
}

// A container that has just started: its cgroup exists before the kubelet lists it.
TEST_F(KubeletProviderTest, AsksUntilGroupIsListed) {
  const auto status = [](std::string_view id) {
    return base::cat(
        R"({"metadata":{"name":"p","namespace":"n","uid":"u1"},"spec":{"containers":[{"name":"c"}]},)",
        R"("status":{"phase":"Pending","containerStatuses":[)",
        id.empty() ? "" : base::cat(R"({"name":"c","containerID":"containerd://)", id, R"(","state":{"running":{}}})"),
        "]}}");
  };
  answer(pods({status("")}));
  make("besteffort/podu1/pause");
  begin();
  run_for(1min);
  const std::size_t asked = transport.sent.size();
  EXPECT_LE(asked, 1u + kNameAsks + 6u) << "nothing but the pause container: not for long";
  run_for(4s);
  EXPECT_EQ(transport.sent.size(), asked) << "every ten seconds again";

  make("besteffort/podu1/c1");
  run_for(0s);
  EXPECT_EQ(transport.sent.size(), asked + 1);
  run_for(1s);
  EXPECT_EQ(transport.sent.size(), asked + 2);
  answer(pods({status("c1")}));
  run_for(1s);
  EXPECT_EQ(provider.provided().tasks[0]->containers[0].path, "kubepods/besteffort/podu1/c1");
  EXPECT_EQ(transport.sent.size(), asked + 3);
  run_for(9s);
  EXPECT_EQ(transport.sent.size(), asked + 3) << "that is settled";

  // It ends, and begins again in another group.
  remove("besteffort/podu1/c1");
  run_for(1s);
  make("besteffort/podu1/c2");
  run_for(1s);
  answer(pods({status("c2")}));
  run_for(1s);
  EXPECT_EQ(provider.provided().tasks[0]->containers[0].path, "kubepods/besteffort/podu1/c2");
}

// The API server is away: the kubelet cannot authenticate the agent.
TEST_F(KubeletProviderTest, StartsWithSavedListWithoutAnswer) {
  answer({.status = 401});
  kept = pods({pod("u1"), pod("u2"), pod("u3")}).body;
  make("burstable/podu1");
  make("besteffort/podu3");
  begin();
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(listed(), "p-u1@kubepods/burstable/podu1 p-u3@kubepods/besteffort/podu3") << "u2 ended meanwhile";
  run_for(5min);
  EXPECT_EQ(listed(), "p-u1@kubepods/burstable/podu1 p-u3@kubepods/besteffort/podu3");
  answer(pods({pod("u3"), pod("u4")}));
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  EXPECT_EQ(listed(), "p-u3@kubepods/besteffort/podu3 p-u4 p-u1@kubepods/burstable/podu1?");
  run_for(kUnconfirmedFor);
  EXPECT_EQ(listed(), "p-u3@kubepods/besteffort/podu3 p-u4");
}

TEST_F(KubeletProviderTest, IgnoresSavedListWithoutLivePods) {
  answer({.status = 401});
  make("burstable/podu1");
  begin();
  EXPECT_EQ(state(), ProviderState::kWaiting) << "none was kept";
  for (const std::string& list : {pods({pod("u2")}).body, std::string("{"), kNull.body}) {
    kept = list;
    run_for(10s);
    EXPECT_EQ(state(), ProviderState::kWaiting) << list;
  }
}

TEST_F(KubeletProviderTest, SavesChangedList) {
  answer(pods({pod("u1"), pod("u2")}));
  begin();
  EXPECT_EQ(kept, transport.answers[0].body);
  answer(pods({pod("u2"), pod("u1")}));  // each time in another order
  run_for(20s);
  EXPECT_EQ(times_kept, 1);
  answer(pods({pod("u1")}));
  run_for(10s);
  EXPECT_EQ(kept, transport.answers[0].body);
  answer(pods({pod("u1", R"("priority":7)")}));
  run_for(10s);
  EXPECT_EQ(kept, transport.answers[0].body);
  EXPECT_EQ(times_kept, 3);
  make("burstable/podu1");
  for (const Answer& not_believed : {kNull, Answer{.status = 401}, Answer{.body = "{"}}) {
    answer(not_believed);
    run_for(10s);
    EXPECT_EQ(times_kept, 3);
  }
}

// "a just-started kubelet answers "items": null, which is NOT zero pods"
TEST_F(KubeletProviderTest, EmptyListOfNewKubeletKeepsPods) {
  answer(pods({pod("u1")}));
  make("burstable/podu1");
  begin();
  for (const Answer& empty : {kNull, pods({})}) {
    answer(empty);
    run_for(10s);
    EXPECT_EQ(listed(), "p-u1@kubepods/burstable/podu1");
    EXPECT_EQ(state(), ProviderState::kHeld);
  }
}

// Contract 7.1 keeps the last list where the new one is empty. A kubelet that restarted and has not heard of the API
// server yet lists its static pods: no less untrue, and not empty.
TEST_F(KubeletProviderTest, StaticPodListOfNewKubeletKeepsOtherPods) {
  answer(pods({pod("static"), pod("u1"), pod("u2"), pod("u3")}));
  for (const char* group : {"podstatic", "burstable/podu1", "besteffort/podu2/c1"}) make(group);
  begin();
  const TaskPointer u1 = provider.provided().tasks.at(1);
  answer(pods({pod("static")}));
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kCurrent);
  // u3 has no group: there is nothing of it.
  EXPECT_EQ(listed(), "p-static@kubepods/podstatic p-u1@kubepods/burstable/podu1? p-u2@kubepods/besteffort/podu2?");
  EXPECT_EQ(provider.provided().tasks.at(1), u1);
  EXPECT_NE(lines.find("does not list pods that have cgroups"), std::string::npos) << lines;
  const auto change = provider.provided().change;
  run_for(100s);
  EXPECT_EQ(provider.provided().change, change);
  answer(pods({pod("static"), pod("u1"), pod("u2")}));
  run_for(10s);
  EXPECT_EQ(listed(), "p-static@kubepods/podstatic p-u1@kubepods/burstable/podu1 p-u2@kubepods/besteffort/podu2");
}

TEST_F(KubeletProviderTest, UnlistedPodEndsWithItsGroup) {
  answer(pods({pod("u1"), pod("u2")}));
  make("burstable/podu1");
  make("burstable/podu2");
  begin();
  answer(pods({pod("u2")}));
  run_for(10s);
  EXPECT_EQ(listed(), "p-u2@kubepods/burstable/podu2 p-u1@kubepods/burstable/podu1?");
  remove("burstable/podu1");
  run_for(0s);
  EXPECT_EQ(listed(), "p-u2@kubepods/burstable/podu2");
}

TEST_F(KubeletProviderTest, UnlistedPodIsDroppedAfterAWhile) {
  answer(pods({pod("u1"), pod("u2")}));
  make("burstable/podu1");
  begin();
  answer(pods({pod("u2")}));
  run_for(10s + kUnconfirmedFor - 1s);
  EXPECT_EQ(listed(), "p-u2 p-u1@kubepods/burstable/podu1?");
  run_for(1s);
  EXPECT_EQ(listed(), "p-u2");
  run_for(1min);
  EXPECT_EQ(listed(), "p-u2");
}

// A list that cannot be had leaves the last one, and what it lacked is no older for it.
TEST_F(KubeletProviderTest, UnconfirmedPodsAreHeldWithTheRest) {
  answer(pods({pod("u1"), pod("u2")}));
  make("burstable/podu1");
  begin();
  answer(pods({pod("u2")}));
  run_for(10s);
  answer({.status = 500, .body = "no"});
  run_for(5min);
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_EQ(listed(), "p-u2 p-u1@kubepods/burstable/podu1?");
  answer(pods({pod("u2")}));
  run_for(10s);
  EXPECT_EQ(listed(), "p-u2");
}

TEST_F(KubeletProviderTest, LimitsUnconfirmedPods) {
  std::vector<std::string> many{pod("a")};
  for (std::size_t i = 0; i < kUnconfirmedMax + 10; ++i) {
    many.push_back(pod(base::cat("m", i)));
    make(base::cat("podm", i));
  }
  answer(pods(many));
  begin();
  answer(pods({pod("a")}));
  run_for(10s);
  EXPECT_EQ(provider.provided().unconfirmed, kUnconfirmedMax);
  EXPECT_EQ(provider.provided().tasks.size(), kUnconfirmedMax + 1);
}

TEST_F(KubeletProviderTest, NoPodsAndNoGroupsAreNoPods) {
  answer(pods({pod("u1")}));
  make("burstable/podu1");
  begin();
  answer(kNull);
  remove("burstable/podu1");
  run_for(10s);
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(state(), ProviderState::kCurrent);
}

TEST_F(KubeletProviderTest, NothingIsKnownBeforeFirstList) {
  answer(kNull);
  make("burstable/podu1");
  begin();
  EXPECT_EQ(state(), ProviderState::kWaiting);
  answer({.status = 500, .body = "no"});
  run_for(10s);
  EXPECT_EQ(state(), ProviderState::kWaiting);
  EXPECT_NE(lines.find("the kubelet answered 500 \\\"no\\\""), std::string::npos) << lines;
}

TEST_F(KubeletProviderTest, RefusalNamesMissingPermission) {
  answer({.status = 403, .body = "Forbidden (user=x, verb=get, resource=nodes, subresource(s)=[pods proxy])"});
  begin();
  EXPECT_NE(lines.find("nodes/pods"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("nodes/proxy"), std::string::npos) << lines;
  answer({.status = 401, .body = "Unauthorized"});
  run_for(10s);
  EXPECT_NE(lines.find("rejects the token (401)"), std::string::npos) << lines;
}

TEST_F(KubeletProviderTest, RefusesInvalidList) {
  answer(pods({pod("u1")}));
  begin();
  for (const char* body : {"", "{}", "[1]", R"({"items":[{"metadata":{"name":"a"}})", R"({"items":[{}]})"}) {
    answer({.body = body});
    run_for(10s);
    EXPECT_EQ(listed(), "p-u1") << body;
    EXPECT_EQ(state(), ProviderState::kHeld) << body;
  }
}

TEST_F(KubeletProviderTest, UnreadablePodKeepsItsLastVersion) {
  answer(pods({pod("u1"), pod("u2")}));
  begin();
  answer(pods({pod("u2"), pod("u1", R"("priority":"high")"), pod("u3", R"("priority":"high")")}));
  for (int i = 0; i < 3; ++i) {
    run_for(10s);
    EXPECT_EQ(listed(), "p-u1 p-u2");
    EXPECT_EQ(state(), ProviderState::kCurrent);
  }
  EXPECT_NE(lines.find("a pod cannot be read"), std::string::npos) << lines;
}

// The kubelet's order is another one each time.
TEST_F(KubeletProviderTest, TheSameAgainIsNoChange) {
  answer(pods({pod("u1"), pod("u2")}));
  make("burstable/podu1");
  begin();
  const auto change = provider.provided().change;
  const TaskPointer first = provider.provided().tasks[0];
  answer(pods({pod("u2"), pod("u1")}));
  run_for(10s);
  EXPECT_EQ(provider.provided().change, change);
  EXPECT_EQ(provider.provided().tasks[0], first);
  EXPECT_EQ(*provider.provided().confirmed, clock.monotonic());

  answer(pods({pod("u2", R"("hostNetwork":true)"), pod("u1")}));
  run_for(10s);
  EXPECT_NE(provider.provided().change, change);
  EXPECT_EQ(provider.provided().tasks[0], first);  // of the one that is the same
}

TEST_F(KubeletProviderTest, RefusesListWithTooManyPods) {
  answer(pods({pod("u1")}));
  begin();
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= kPodsMax; ++i) many.push_back(pod(base::cat("m", i)));
  answer(pods(many));
  run_for(10s);
  EXPECT_EQ(listed(), "p-u1");
  EXPECT_EQ(state(), ProviderState::kHeld);
  EXPECT_NE(lines.find("more than 2048 pods"), std::string::npos) << lines;
}

// Without the limit any user who can create a pod could fill the agent's memory.
TEST_F(KubeletProviderTest, PodDataIsBounded) {
  constexpr std::size_t kPods = 40;
  const std::string text(model::kTaskSettingBytesMax, 'x');
  std::vector<std::string> items;
  for (std::size_t i = 0; i < kPods; ++i) {
    items.push_back(base::cat(R"({"metadata":{"name":"p","namespace":"n","uid":"u)", i,
                              R"(","annotations":{"koordinator.sh/memoryQOS":")", text, R"("}},"spec":{}})"));
  }
  KubeletConfig config;
  config.bytes_max = 100 * 1024;
  KubeletProvider small(loop, transport, {}, *groups, log, config);
  answer(pods(items));
  scope.spawn(small.run());
  run_for(20s);
  std::size_t bytes = 0, with_settings = 0;
  for (const TaskPointer& task : small.provided().tasks) {
    bytes += task->bytes();
    with_settings += task->settings.empty() ? 0 : 1;
  }
  EXPECT_EQ(small.provided().tasks.size(), kPods);
  EXPECT_GT(with_settings, 10u);
  EXPECT_LT(with_settings, kPods);
  EXPECT_LT(bytes, config.bytes_max + kPods * 2 * sizeof(model::Task));
  EXPECT_NE(lines.find("too many settings of pods"), std::string::npos) << lines;
  scope.clear();
}

}  // namespace
}  // namespace tidemark::agent
