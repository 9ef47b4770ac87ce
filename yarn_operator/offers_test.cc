// The operator and the manager's offers: which it obeys, and what the ledger confirms.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/annotations.h"
#include "model/names.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;
using model::YarnBook;
using testing::kThird;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

model::Resources amount(std::int64_t cores, std::int64_t gib) {
  return {{cores * 1000}, {gib * kGiB}};
}

class OffersTest : public testing::OperatorWorld {
 protected:
  void offer(std::string_view name, std::int64_t generation, model::Resources what) {
    const std::string text = model::format_yarn_offer({generation, what, what});
    patch(name, annotations(Json::object({{model::kYarnOfferAnnotation, Json(text)}})));
  }
  bool book_is(std::string_view name, const YarnBook& book) {
    return annotation_is(name, model::kYarnBookAnnotation, model::format_yarn_book(book));
  }
  static YarnBook book(std::int64_t generation, model::Resources confirmed, model::Resources held = {}) {
    YarnBook made{generation, confirmed, std::vector<YarnBook::Sold>(), std::nullopt};
    if (held != model::Resources()) made.sold->push_back({"", held});
    return made;
  }
};

TEST_F(OffersTest, WritesTheLedgerThenObeysAndConfirmsTheOffer) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  begin();
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6), amount(1, 1)))) << "without an offer: the part that pods do not hold";
  offer("n1", 5, amount(3, 2));
  EXPECT_TRUE(total({"a", 1}, 2048, 3));
  EXPECT_TRUE(book_is("n1", book(5, amount(3, 2), amount(1, 1))));
  EXPECT_EQ(audit.back().reason, "TM-YARN-003");
  // A new generation with the same amount: no update is needed, but it is confirmed.
  const int updates = manager().updates;
  offer("n1", 6, amount(3, 2));
  EXPECT_TRUE(book_is("n1", book(6, amount(3, 2), amount(1, 1))));
  EXPECT_EQ(manager().updates, updates);
}

TEST_F(OffersTest, DoesNotConfirmAnOfferThatTheResourceManagerDropped) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  begin();
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6))));
  manager().drops = true;  // a starting ResourceManager answers but applies nothing
  offer("n1", 5, amount(2, 2));
  pass(1500ms);
  EXPECT_EQ(annotation("n1", model::kYarnBookAnnotation), model::format_yarn_book(book(0, amount(6, 6))));
  EXPECT_GT(manager().updates, 1);
  manager().drops = false;
  EXPECT_TRUE(book_is("n1", book(5, amount(2, 2))));
}

TEST_F(OffersTest, KeepsTheLedgerAfterARestartUntilStateIsKnown) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  offer("n1", 9, amount(2, 2));
  const std::string before = model::format_yarn_book(book(8, amount(4, 4)));
  patch("n1", annotations(Json::object({{model::kYarnBookAnnotation, Json(before)}})));
  manager().drops = true;
  begin();
  pass(1s);
  EXPECT_EQ(annotation("n1", model::kYarnBookAnnotation), before);
  manager().drops = false;
  EXPECT_TRUE(book_is("n1", book(9, amount(2, 2))));
}

TEST_F(OffersTest, PublishesWaitingWorkInTheLedger) {
  manager().nodes = {{{"a", 1}, {}}};
  manager().waiting = {100'000, 3};
  node("n1", "a:1", origin("8k", "8Gi"));
  begin();
  YarnBook waits = book(0, amount(8, 8));
  waits.waiting = "";
  waits.waiting_for = amount(3, 8);  // no more than the node has
  EXPECT_TRUE(book_is("n1", waits));
}

TEST_F(OffersTest, GivesWorkTheClassOfItsClusterAndLogsAnUnknownClassOnce) {
  work_class = "spark";
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  manager().waiting = {1024, 1};
  node("n1", "a:1", origin("8k", "8Gi"));
  begin();
  YarnBook waits = book(0, amount(8, 8));
  waits.sold->push_back({"spark", amount(1, 1)});
  waits.waiting = "spark";
  waits.waiting_for = amount(1, 1);
  EXPECT_TRUE(book_is("n1", waits));
  const auto warned = [&] {
    return std::ranges::count_if(said, [](const std::string& line) {
      return line.find("not in `classes`") != std::string::npos &&
             line.find("/conf/yarn-site.xml") != std::string::npos;
    });
  };
  EXPECT_EQ(warned(), 1);
  pass(500ms);
  EXPECT_EQ(warned(), 1);
  settings("schema: 1\nclasses:\n- {name: spark, order: 3}\n");
  pass(500ms);
  EXPECT_EQ(warned(), 1);
  EXPECT_TRUE(book_is("n1", waits));
}

TEST_F(OffersTest, KeepsTheTotalIfTheOfferIsUnreadable) {
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  node("n2", "b:1", origin("6k", "6Gi"));
  patch("n1", annotations(Json::object({{model::kYarnOfferAnnotation, "{\"schema\":1}"}})));
  begin();
  EXPECT_TRUE(total({"b", 1}, 6144, 6));
  pass(300ms);
  EXPECT_EQ(manager().nodes.at({"a", 1}).memory, 8192);
}

TEST_F(OffersTest, IgnoresOffersAndRemovesTheLedgerInPeerRounding) {
  options.totals.rounding = policy::sell::YarnRounding::kPeer;
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("6k", "1000Mi"));
  offer("n1", 9, amount(2, 2));
  patch("n1", annotations(
                  Json::object({{model::kYarnBookAnnotation, Json(model::format_yarn_book(book(8, amount(4, 4))))}})));
  begin();
  EXPECT_TRUE(total({"a", 1}, 1049, 6));
  EXPECT_TRUE(annotation_is("n1", model::kYarnBookAnnotation, ""));
}

TEST_F(OffersTest, RemovesTheLedgerWithItsNodeManager) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  begin();
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6))));
  EXPECT_EQ(annotation("n1", kYarnBookOfAnnotation), "__default_yarn_cluster__/a:1");
  manager().nodes.clear();
  patch("n1", annotations(Json::object({{model::kYarnNodeIdAnnotation, Json()}})));
  EXPECT_TRUE(annotation_is("n1", model::kYarnBookAnnotation, ""));
  EXPECT_EQ(annotation("n1", kYarnBookOfAnnotation), "");
  EXPECT_EQ(third("n1"), held("0", "0"));
}

// Its total stands at the ResourceManager, and containers may grow up to it: if it was sold to Kubernetes too, it would
// be sold twice.
TEST_F(OffersTest, KeepsTheLedgerWhileAnUnnamedNodeManagerIsActive) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  begin();
  const YarnBook stays = book(0, amount(6, 6), amount(1, 1));
  EXPECT_TRUE(book_is("n1", stays));
  EXPECT_TRUE(third_is("n1", held("1k", "1Gi")));
  patch("n1", annotations(Json::object({{model::kYarnNodeIdAnnotation, Json()}})));
  for (const char* who : {"the same operator", "one that began anew"}) {
    pass(4 * options.lost_hold);
    EXPECT_TRUE(book_is("n1", stays)) << who;
    EXPECT_EQ(third("n1"), held("1k", "1Gi")) << who;
    EXPECT_NE(metrics.text().find("tidemark_yarn_operator_mismatched_nodes 1"), std::string::npos) << who;
    EXPECT_NE(metrics.text().find("tidemark_yarn_operator_node_managers_without_node 1"), std::string::npos) << who;
    running.reset();
    begin();
  }
  manager().nodes.clear();
  EXPECT_TRUE(annotation_is("n1", model::kYarnBookAnnotation, ""));
  EXPECT_TRUE(third_is("n1", held("0", "0")));
}

TEST_F(OffersTest, KeepsLedgersOfTwoNodesThatClaimOneNodeManager) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}},
                     {{"b", 1}, {.used_memory = 2048, .used_vcores = 2}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  node("n2", "b:1", origin("6k", "6Gi"));
  begin();
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6), amount(1, 1))));
  EXPECT_TRUE(book_is("n2", book(0, amount(6, 6), amount(2, 2))));
  patch("n2", annotations(Json::object({{model::kYarnNodeIdAnnotation, "a:1"}})));
  pass(4 * options.lost_hold);
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6), amount(1, 1))));
  EXPECT_TRUE(book_is("n2", book(0, amount(6, 6), amount(2, 2))));
  EXPECT_EQ(third("n1"), held("1k", "1Gi"));
  EXPECT_EQ(third("n2"), held("2k", "2Gi"));
}

// What its containers hold cannot be requested. If the cluster is gone for good, a person removes both annotations.
TEST_F(OffersTest, KeepsTheLedgerOfARemovedClusterUntilAPersonRemovesIt) {
  manager();
  manager("blue").nodes = {{{"n1", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "", origin("6k", "6Gi"));
  begin();
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6), amount(1, 1))));
  running.reset();
  managers.erase("blue");
  begin();
  pass(4 * options.lost_hold);
  EXPECT_TRUE(book_is("n1", book(0, amount(6, 6), amount(1, 1))));
  EXPECT_EQ(third("n1"), held("1k", "1Gi"));
  patch("n1", annotations(Json::object({{model::kYarnBookAnnotation, Json()}, {kYarnBookOfAnnotation, Json()}})));
  EXPECT_TRUE(third_is("n1", held("0", "0")));
  EXPECT_EQ(annotation("n1", model::kYarnBookAnnotation), "");
}

TEST_F(OffersTest, RestoresAChangedTotalBeforeTheLedgerShowsItAndRecordsAnEvent) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("6k", "6Gi"));
  offer("n1", 5, amount(2, 2));
  begin();
  EXPECT_TRUE(book_is("n1", book(5, amount(2, 2))));
  pass(3500ms);  // longer than an update may take to show
  manager().nodes.at({"a", 1}).memory = 8192;
  EXPECT_TRUE(total({"a", 1}, 2048, 2));
  EXPECT_EQ(annotation("n1", model::kYarnBookAnnotation), model::format_yarn_book(book(5, amount(2, 2))));
  pass(500ms);
  const Json events = must("GET", "/api/v1/namespaces/default/events", Json());
  ASSERT_EQ(events.member("items")->as_array().size(), 1U);
  EXPECT_EQ(events.member("items")->as_array()[0].text_at("reason"), "TidemarkYarnSetAgain");
}

TEST_F(OffersTest, SendsNothingToAPoolThatObserves) {
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {}}};
  settings(
      "schema: 1\nmode: {yarn: observe}\npools:\n- {name: p, nodeSelector: {matchLabels: {p: p}}, mode: enforce}\n");
  node("n1", "a:1", origin("6k", "6Gi"));
  node("n2", "b:1", origin("6k", "6Gi"));
  patch("n2", Json::object({{"metadata", Json::object({{"labels", Json::object({{"p", "p"}})}})}}));
  begin();
  EXPECT_TRUE(total({"b", 1}, 6144, 6));
  pass(500ms);
  EXPECT_EQ(manager().nodes.at({"a", 1}).memory, 8192);
}

TEST_F(OffersTest, ReportsAClusterWithoutRoomForAContainer) {
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {.state = 5}}};
  node("n1", "a:1", origin("6k", "1000Mi"));
  begin();
  const auto closed = [&] {
    return metrics.text().find("tidemark_yarn_operator_clusters_closed 1") != std::string::npos;
  };
  EXPECT_TRUE(until(closed));
  EXPECT_TRUE(
      std::ranges::any_of(said, [](const std::string& line) { return line.find("TM-YARN-013") != std::string::npos; }));
  patch("n1", annotations(Json::object({{testing::kOrigin, origin("6k", "1Gi")}})));
  EXPECT_TRUE(until([&] { return !closed(); }));
  manager().nodes.at({"a", 1}).state = 3;  // UNHEALTHY: no container starts there
  manager().nodes.at({"b", 1}) = {.memory = 512, .vcores = 1};
  EXPECT_TRUE(until(closed));
}

TEST_F(OffersTest, ReportsAContainerThatFitsOnNoNode) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("8k", "8Gi"));
  begin();
  const auto shows = [&](int in_vain) {
    return metrics.text().contains(base::cat("tidemark_yarn_operator_clusters_waiting_in_vain ", in_vain, "\n"));
  };
  const auto says = [&](std::string_view words) {
    return std::ranges::any_of(said, [&](const std::string& line) { return line.contains(words); });
  };
  manager().waiting = {7168, 1, 1};
  pass(500ms);
  EXPECT_TRUE(shows(0)) << "it waits for others to end";
  patch("n1", annotations(Json::object({{testing::kOrigin, origin("8k", "6Gi")}})));
  EXPECT_TRUE(until([&] { return shows(1); }));
  EXPECT_TRUE(says("a container waits that fits on no node"));
  EXPECT_TRUE(says("6144 MiB, 8 vcores"));
  patch("n1", annotations(Json::object({{testing::kOrigin, origin("8k", "7Gi")}})));
  EXPECT_TRUE(until([&] { return shows(0); }));
}

}  // namespace
}  // namespace tidemark::yarn_operator
