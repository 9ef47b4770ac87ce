#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/annotations.h"
#include "model/yarn_reclaim.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using testing::NodeId;
using namespace std::chrono_literals;

constexpr std::int64_t kKeepForever = 0x7fffffff;
const NodeId kTakenNm{"a", 1};
const std::string kOlder = "container_1_0001_01_000002", kNewer = "container_1_0001_01_000003";

class AgentReclaimsTest : public testing::OperatorWorld {
 protected:
  void SetUp() override {
    OperatorWorld::SetUp();
    manager().nodes = {{kTakenNm, {}}};
    node("n1", "a:1", origin("4k", "4Gi"));
    manager().run(kOlder, kTakenNm, 1024);
    manager().run(kNewer, kTakenNm, 512);
  }
  // Asks only after the node announces that requests are read.
  void begin_heard() {
    begin();
    EXPECT_TRUE(total(kTakenNm, 4096, 4));
    EXPECT_TRUE(annotation_is("n1", model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer({})));
    manager().told_totals.clear();
  }
  void ask(std::vector<std::string> containers, std::int64_t generation = 1, std::int64_t hold_seconds = 1,
           base::Duration ago = 0s, std::string_view of = "n1", std::int64_t grace_seconds = 0) {
    const model::ReclaimRequest request{generation,          std::move(containers), "TM-EVICT-001",
                                        clock.wall() + -ago, hold_seconds,          grace_seconds};
    patch(of, annotations(Json::object(
                  {{std::string(model::kYarnReclaimAnnotation), Json(model::format_reclaim_request(request))}})));
  }
  model::ReclaimAnswer answer(std::int64_t generation) {
    for (int i = 0; i < 500; ++i) {
      const auto said = model::parse_reclaim_answer(annotation("n1", model::kYarnReclaimAnswerAnnotation));
      if (said && said->generation == generation) return *said;
      pass(10ms);
    }
    ADD_FAILURE() << "no answer: " << annotation("n1", model::kYarnReclaimAnswerAnnotation);
    return {};
  }
  void ask_with_grace(std::vector<std::string> containers, std::int64_t generation, std::int64_t grace_seconds) {
    ask(std::move(containers), generation, 1, 0s, "n1", grace_seconds);
  }
  // With a grace.
  model::ReclaimAnswer last_answer(std::int64_t generation) {
    model::ReclaimAnswer said = answer(generation);
    for (int i = 0; i < 1000 && !said.leaving.empty(); ++i) {
      pass(10ms);
      said = answer(generation);
    }
    EXPECT_TRUE(said.leaving.empty()) << "no last answer";
    return said;
  }
  using Told = std::array<std::int64_t, 3>;
};

TEST_F(AgentReclaimsTest, EndsTheNewestAtOnceAndNoFurtherContainer) {
  begin_heard();
  ask({kNewer});
  const auto said = answer(1);
  EXPECT_EQ(said.gone, std::vector{kNewer});
  EXPECT_TRUE(said.stayed.empty());
  EXPECT_EQ(said.keep_mib, 1024);
  EXPECT_EQ(manager().preempted, std::vector{kNewer});
  // The capacity is kept back, then the whole offer applies again; a persistent timeout is reset.
  EXPECT_TRUE(total(kTakenNm, 1024, 4));
  EXPECT_TRUE(total(kTakenNm, 4096, 4));
  EXPECT_EQ(manager().told_totals, (std::vector<Told>{{1024, 5, 0}, {1024, 4, kKeepForever}, {4096, 4, kKeepForever}}));
  EXPECT_EQ(manager().preempted.size(), 1u);
  ASSERT_FALSE(audit.empty());
  EXPECT_TRUE(std::ranges::any_of(audit, [](const model::AuditLine& line) {
    return line.verb == "updateNodeResource" && line.reason == "TM-YARN-014";
  }));
}

TEST_F(AgentReclaimsTest, GivesTheApplicationItsGraceAndAnswersTwice) {
  begin_heard();
  const auto began = clock.monotonic();
  ask_with_grace({kNewer}, 1, 3);
  auto said = answer(1);
  EXPECT_EQ(said.leaving, std::vector{kNewer});
  EXPECT_EQ(said.keep_mib, 1024);
  EXPECT_LT(clock.monotonic() - began, 1s) << "the agent waits for three seconds";
  EXPECT_TRUE(until([&] { return !manager().preempted.empty(); }));
  EXPECT_GE(clock.monotonic() - began, 2500ms) << "the grace of the agent, from its request";
  said = last_answer(1);
  EXPECT_EQ(said.gone, std::vector{kNewer});
  EXPECT_EQ(manager().preempted, std::vector{kNewer});
  EXPECT_TRUE(total(kTakenNm, 4096, 4)) << "after the time that it is kept back";
}

TEST_F(AgentReclaimsTest, AContainerThatIsGivenUpWithinTheGraceIsGone) {
  begin_heard();
  const auto began = clock.monotonic();
  ask_with_grace({kNewer}, 1, 60);
  EXPECT_EQ(answer(1).leaving, std::vector{kNewer});
  const auto asked_before = manager().asked("getContainerReport"), listed_before = manager().asked("getClusterNodes");
  pass(5s);
  EXPECT_LE(manager().asked("getContainerReport") - asked_before, 6) << "once a second";
  EXPECT_LE(manager().asked("getClusterNodes") - listed_before, 27) << "the listings of the operator itself";
  manager().nodes.at(kTakenNm).used_memory -= 512;
  manager().containers.erase(kNewer);
  EXPECT_EQ(last_answer(1).gone, std::vector{kNewer});
  EXPECT_LT(clock.monotonic() - began, 10s);
  EXPECT_TRUE(manager().preempted.empty());
}

TEST_F(AgentReclaimsTest, ALaterRequestWithinTheGraceEndsAtTheSameDeadline) {
  begin_heard();
  const auto began = clock.monotonic();
  ask_with_grace({kNewer}, 1, 4);
  EXPECT_EQ(answer(1).leaving, std::vector{kNewer});
  pass(2s);
  ask_with_grace({kOlder, kNewer}, 2, 4);
  EXPECT_EQ(answer(2).leaving, (std::vector{kOlder, kNewer}));
  EXPECT_EQ(answer(2).keep_mib, 0);
  EXPECT_TRUE(until([&] { return manager().preempted.size() == 2; }));
  EXPECT_LT(clock.monotonic() - began, 5s);
  EXPECT_EQ(last_answer(2).gone.size(), 2u);
}

TEST_F(AgentReclaimsTest, TheNextOperatorContinuesWithinTheGrace) {
  begin_heard();
  const auto began = clock.monotonic();
  ask_with_grace({kNewer}, 1, 6);
  EXPECT_EQ(answer(1).leaving, std::vector{kNewer});
  pass(2s);
  running.reset();
  begin();
  EXPECT_TRUE(until([&] { return !manager().preempted.empty(); }));
  EXPECT_GE(clock.monotonic() - began, 5500ms);
  EXPECT_LT(clock.monotonic() - began, 7s) << "what was left of the grace";
  EXPECT_EQ(last_answer(1).gone, std::vector{kNewer});
}

TEST_F(AgentReclaimsTest, ReportsThatAnotherContainerEndedInstead) {
  const std::string newest = "container_1_0002_01_000001";
  manager().run(newest, kTakenNm, 2048);
  begin_heard();
  ask({kOlder});
  const auto said = answer(1);
  EXPECT_TRUE(said.gone.empty());
  EXPECT_EQ(said.stayed, std::vector{kOlder});
  EXPECT_EQ(manager().preempted, std::vector{newest});
}

TEST_F(AgentReclaimsTest, ReportsAnEndedContainerAsGoneAndEndsNoOther) {
  begin_heard();
  ask({"container_1_0001_01_000009"});
  EXPECT_EQ(answer(1).gone, std::vector<std::string>{"container_1_0001_01_000009"});
  EXPECT_TRUE(manager().preempted.empty());
  EXPECT_TRUE(manager().told_totals.empty());
}

TEST_F(AgentReclaimsTest, RefusesIfNothingCanBeDone) {
  begin_heard();
  manager().denies = true;
  ask({kNewer});
  EXPECT_NE(answer(1).refused.find("no"), std::string::npos);
  manager().denies = false;
  ask({"pod_1"}, 3);
  EXPECT_NE(answer(3).refused.find("wanted container_"), std::string::npos);
  EXPECT_TRUE(manager().preempted.empty());
  manager().away = true;
  ask({kOlder}, 7);
  EXPECT_FALSE(answer(7).refused.empty());
}

// The other node of the same update is answered as usual.
TEST_F(AgentReclaimsTest, RefusesAtOnceForANodeWhoseUpdateIsRefused) {
  const NodeId refused{"host-of-n2", 1};
  const std::string theirs = "container_1_0002_01_000002";
  manager().nodes[refused] = {};
  manager().run(theirs, refused, 512);
  node("n2", refused.text(), origin("4k", "4Gi"));
  begin_heard();
  ASSERT_TRUE(total(refused, 4096, 4));
  EXPECT_TRUE(annotation_is("n2", model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer({})));
  manager().unknown = {refused.host};
  manager().listing_takes = 200ms;
  ask({"container_1_0001_01_000009"}, 1);  // both of the next requests share the listing after this one
  EXPECT_EQ(answer(1).gone.size(), 1u);
  const int updates = manager().updates;
  ask({theirs}, 2, 1, 0s, "n2", 30);
  ask_with_grace({kNewer}, 2, 30);
  EXPECT_EQ(answer(2).leaving, std::vector{kNewer});
  EXPECT_GE(manager().updates, updates + 3) << "together, then each alone";
  const auto said = model::parse_reclaim_answer(annotation("n2", model::kYarnReclaimAnswerAnnotation));
  ASSERT_TRUE(said);
  EXPECT_EQ(said->generation, 2);
  EXPECT_NE(said->refused.find(refused.text()), std::string::npos) << said->refused;
  EXPECT_TRUE(said->leaving.empty());
}

// The age comes from our monotonic clock: eviction by preemption works with any clock difference.
TEST_F(AgentReclaimsTest, AcceptsANodeWhoseClockIsAnHourOff) {
  begin_heard();
  ask({kNewer}, 4, 1, 1h);  // its clock is behind
  EXPECT_EQ(answer(4).gone, std::vector{kNewer});
  EXPECT_TRUE(total(kTakenNm, 4096, 4)) << "the capacity is kept back for a second of our clock";
  ask({kOlder}, 5, 1, -1h);  // ahead
  EXPECT_EQ(answer(5).gone, std::vector{kOlder});
}

// A request that existed before we started has no known arrival: the agent may have acted without it long ago.
TEST_F(AgentReclaimsTest, JudgesEarlierRequestsByWallClocks) {
  ask({kNewer}, 4, 1, 11min);
  begin();
  EXPECT_NE(answer(4).refused.find("too old"), std::string::npos);
  EXPECT_TRUE(manager().preempted.empty());
  ask({kNewer}, 5, 1, 11min);
  EXPECT_EQ(answer(5).gone, std::vector{kNewer}) << "this one arrived now";
  running.reset();
  ask({kOlder}, 6, 1, -11min);  // the node's clock is ahead
  begin();
  EXPECT_NE(answer(6).refused.find("clocks"), std::string::npos);
  EXPECT_EQ(manager().preempted, std::vector{kNewer});
}

// It would report containers that it does not know yet as gone, and a total of zero would end them.
TEST_F(AgentReclaimsTest, TakesNothingFromAResourceManagerThatJustStarted) {
  begin_heard();
  const auto away_is = [&](std::string_view clusters) {
    return until([&] {
      return metrics.text().find(base::cat("tidemark_yarn_operator_clusters_away ", clusters, "\n")) !=
             std::string::npos;
    });
  };
  manager().away = true;
  ASSERT_TRUE(away_is("1"));
  manager().containers.clear();
  manager().nodes.at(kTakenNm).used_memory = 0;
  manager().away = false;
  ASSERT_TRUE(away_is("0"));
  ask({kNewer});
  const auto said = answer(1);
  EXPECT_NE(said.refused.find("does not know all of its containers yet"), std::string::npos) << said.refused;
  EXPECT_TRUE(said.gone.empty());
  for (const Told& each : manager().told_totals) EXPECT_EQ(each[2], kKeepForever) << "it ends no container";
}

// A request that the previous operator left open is executed; an answered one is not.
TEST_F(AgentReclaimsTest, ContinuesAfterAnOperatorRestart) {
  ask({kNewer}, 5, 3600);
  begin();
  EXPECT_EQ(answer(5).gone, std::vector{kNewer});
  EXPECT_LE(model::parse_reclaim_answer(annotation("n1", model::kYarnReclaimAnswerAnnotation))->until,
            clock.wall() + 5min);
  running.reset();
  manager().told_totals.clear();
  begin();
  EXPECT_TRUE(until([&] { return running->not_ready().empty(); }));
  pass(300ms);
  for (const Told& each : manager().told_totals) EXPECT_EQ(each[2], kKeepForever) << "it ends no container";
  EXPECT_EQ(manager().nodes.at(kTakenNm).memory, 1024) << "still kept back";
  EXPECT_EQ(manager().preempted.size(), 1u);
}

TEST_F(AgentReclaimsTest, EndsOnlyNamedContainersIfTheOfferIsBelowUsage) {
  begin_heard();
  patch("n1", annotations(Json::object({{std::string(testing::kOrigin), origin("0", "0")}})));
  EXPECT_TRUE(total(kTakenNm, 0, 0));
  ask({kNewer});
  EXPECT_EQ(answer(1).gone, std::vector{kNewer});
  EXPECT_TRUE(total(kTakenNm, 0, 0));
  pass(300ms);
  EXPECT_EQ(manager().preempted, std::vector{kNewer});
}

TEST_F(AgentReclaimsTest, ConfirmsTheWholeOfferWhileCapacityIsKeptBack) {
  begin();
  const model::YarnOffer offer{7, {{4000}, {std::int64_t{4} << 30}}, {{4000}, {std::int64_t{4} << 30}}};
  patch("n1",
        annotations(Json::object({{std::string(model::kYarnOfferAnnotation), Json(model::format_yarn_offer(offer))}})));
  const auto confirmed = [&] {
    const auto book = model::parse_yarn_book(annotation("n1", model::kYarnBookAnnotation));
    return book && book->generation == 7 ? book->confirmed : model::Resources();
  };
  for (int i = 0; i < 300 && confirmed() != offer.offer; ++i) pass(10ms);
  EXPECT_EQ(confirmed(), offer.offer);
  ask({kNewer}, 1, 2);
  answer(1);
  EXPECT_TRUE(total(kTakenNm, 1024, 4));
  pass(600ms);  // some reports later
  EXPECT_EQ(manager().nodes.at(kTakenNm).memory, 1024);
  EXPECT_EQ(confirmed(), offer.offer) << "otherwise the manager would offer the rest to pods";
  EXPECT_TRUE(total(kTakenNm, 4096, 4));
}

// Each node finishes on its own: a finished one does not wait for another, and totals of other nodes do not wait.
TEST_F(AgentReclaimsTest, ASlowNodeDoesNotDelayOthers) {
  const NodeId quick{"b", 1}, other{"c", 1};
  const std::string theirs = "container_1_0002_01_000002";
  manager().nodes[quick] = {};
  manager().nodes[other] = {};
  manager().run(theirs, quick, 512);
  node("n2", "b:1", origin("4k", "4Gi"));
  node("n3", "c:1", origin("4k", "4Gi"));
  begin_heard();
  EXPECT_TRUE(annotation_is("n2", model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer({})));
  EXPECT_TRUE(total(other, 4096, 4));
  manager().nodes.at(kTakenNm).ends_nobody = true;
  said.clear();
  ask({kNewer});
  ask({theirs}, 1, 1, 0s, "n2");
  patch("n3", annotations(Json::object({{std::string(testing::kOrigin), origin("2k", "2Gi")}})));
  const auto said_at = [&](std::string_view what, std::string_view of) {
    return std::ranges::find_if(said, [&](const std::string& line) {
      return line.find(what) != std::string::npos && line.find(of) != std::string::npos;
    });
  };
  EXPECT_EQ(answer(1).stayed, std::vector{kNewer});
  const auto slow = said_at("reclaim for an agent ended", "node=n1");
  EXPECT_LT(said_at("reclaim for an agent ended", "node=n2"), slow);
  EXPECT_LT(said_at("total sent", "nm=c:1"), slow);
  EXPECT_LT(slow, said.end());
}

// Listing ten thousand nodes slows the ResourceManager's allocation of containers.
TEST_F(AgentReclaimsTest, ListsForAtMostAFifthOfTheTime) {
  constexpr int kAsking = 8;
  constexpr base::Duration kTakes = 100ms;
  for (int i = 0; i < kAsking; ++i) {
    const NodeId nm{base::cat("asks-", i), 1};
    manager().nodes[nm] = {};
    manager().run(base::cat("container_1_0003_01_00000", i), nm, 512);
    node(base::cat("asks-", i), nm.text(), origin("4k", "4Gi"));
  }
  options.poll = 1h;
  begin_heard();
  ASSERT_TRUE(until([&] { return manager().updated_nodes >= kAsking; }));
  manager().listing_takes = kTakes;
  // The operator's own passes also request waiting amounts; listings for agents do not.
  const auto own = [&] { return manager().asked("getQueueInfo"); };
  const auto for_agents = [&] { return manager().asked("getClusterNodes") - own(); };
  const auto own_before = own(), for_agents_before = for_agents();
  const base::MonotonicTime begin = clock.monotonic();
  for (int i = 0; i < kAsking; ++i) {
    ask({base::cat("container_1_0003_01_00000", i)}, 1, 60, 0s, base::cat("asks-", i));
    pass(60ms);
  }
  ASSERT_TRUE(until([&] { return manager().preempted.size() == kAsking; }));
  const base::Duration took = clock.monotonic() - begin;
  EXPECT_LE(for_agents() - for_agents_before, 2 + took / (5 * kTakes)) << "a listing in progress at the end counts";
  EXPECT_LE(own() - own_before, 2 + took / 1s) << "the operator lists again after each second with an update";
}

// After three seconds its agent ends the named containers itself.
TEST_F(AgentReclaimsTest, EndsNothingAfterTheAgentGaveUp) {
  begin_heard();
  manager().listing_takes = 3s;
  ask({kNewer});
  EXPECT_NE(answer(1).refused.find("took too long"), std::string::npos);
  EXPECT_TRUE(manager().preempted.empty());
}

// The agent has acted without it, but the capacity is also kept back by the next operator, and new requests are read.
TEST_F(AgentReclaimsTest, WritesALostAnswerAgain) {
  begin_heard();
  patches_refused = true;
  ask({kNewer}, 1, 60);
  EXPECT_TRUE(until([&] {
    return std::ranges::any_of(
        said, [](const std::string& line) { return line.find("cannot answer agent") != std::string::npos; });
  }));
  patches_refused = false;
  EXPECT_EQ(answer(1).gone, std::vector{kNewer});
}

TEST_F(AgentReclaimsTest, IgnoresRequestsOfANodeThatIsOnlyObserved) {
  begin_heard();
  patch("n1",
        Json::object({{"metadata", Json::object({{"labels", Json::object({{"tidemark.io/state", "observe"}})}})}}));
  EXPECT_TRUE(annotation_is("n1", model::kYarnReclaimAnswerAnnotation, ""));
}

}  // namespace
}  // namespace tidemark::yarn_operator
