#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/annotations.h"
#include "policy/evict/drain.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using testing::NodeId;
using namespace std::chrono_literals;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kNever = 0x7fffffff;
const NodeId kDrainNm{"a", 1};
const std::string kOld = "container_1_0001_01_000002", kNew = "container_1_0001_01_000003";

class DrainTest : public testing::OperatorWorld {
 protected:
  void SetUp() override {
    OperatorWorld::SetUp();
    manager().nodes = {{kDrainNm, {}}};
    node("n1", "a:1", origin("4k", "4Gi"));
    manager().run(kOld, kDrainNm, 1024);
    manager().run(kNew, kDrainNm, 512);
  }
  void offer(std::int64_t memory_mib, std::int64_t generation = 5) {
    const model::Resources amounts{model::CpuMilli{4000}, model::MemoryBytes{memory_mib * kMi}};
    offer_ = {generation, amounts, amounts};
    say(model::kYarnOfferAnnotation, model::format_yarn_offer(offer_));
  }
  // With the last offer.
  void drain(base::Duration in) {
    by_ = clock.wall() + in;
    offer_.drain_by = by_;
    say(model::kYarnOfferAnnotation, model::format_yarn_offer(offer_));
  }
  void say(std::string_view key, const std::string& text) {
    patch("n1", annotations(Json::object({{std::string(key), Json(text)}})));
  }
  void order_to_evict(std::string_view name, int grace_s) {
    const Json off = Json::object({{"tidemark.io/state", "off"}});
    patch(name, Json::object({{"metadata", Json::object({{"labels", off}})}}));
    const std::string detail = base::cat(
        R"({"schema":1,"generation":7,"state":"off","cluster":{"generation":7,"orders":[{"wish":"off","by":"ann",)",
        R"("why":"w","since":"2026-01-01T00:00:00Z","drainUntil":"2026-01-01T00:00:00Z","evict":true,"graceSeconds":)",
        grace_s, "}]}}");
    patch(name, annotations(Json::object({{std::string(model::kStateDetailAnnotation), Json(detail)}})));
  }
  bool preempted(const std::vector<std::string>& wanted) {
    return until([&] { return manager().preempted == wanted; });
  }
  using Told = std::array<std::int64_t, 3>;
  base::WallTime by_;
  model::YarnOffer offer_;
};

TEST_F(DrainTest, EndsTheNewestAtTheDeadlineUntilTheRestFits) {
  offer(1024);
  drain(700ms);
  begin();
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  EXPECT_LT(clock.wall(), by_);
  EXPECT_TRUE(manager().preempted.empty()) << "not before";
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_GE(clock.wall(), by_);
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  EXPECT_EQ(manager().told_totals, (std::vector<Told>{{1024, 4, kNever}, {1024, 5, 0}, {1024, 4, kNever}}));
  EXPECT_TRUE(std::ranges::any_of(audit, [](const model::AuditLine& line) { return line.reason == "TM-YARN-016"; }));
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_drained_nodes_total 1"), std::string::npos);
}

TEST_F(DrainTest, EndsAllContainersIncludingMastersIfTheOfferIsZero) {
  offer(0);
  drain(0ms);
  begin();
  EXPECT_TRUE(preempted({kNew, kOld}));
  EXPECT_TRUE(total(kDrainNm, 0, 4));
}

TEST_F(DrainTest, OrderThatEvictsEndsAllContainersWithoutAManager) {
  offer(4096);  // the last offer of a manager that is gone
  order_to_evict("n1", 1);
  begin();
  EXPECT_TRUE(preempted({kNew, kOld}));
  EXPECT_TRUE(total(kDrainNm, 0, 0));
  EXPECT_EQ(manager().told_totals, (std::vector<Told>{{0, 3, 1000}, {0, 0, kNever}}));
}

// Its ResourceManager had already allocated it when the total of 0 arrived.
TEST_F(DrainTest, OrderThatEvictsEndsAContainerThatStartsAfterTheFirstReport) {
  manager().containers.clear();
  manager().nodes.at(kDrainNm) = {};
  order_to_evict("n1", 1);
  begin();
  EXPECT_TRUE(total(kDrainNm, 0, 0));
  manager().run(kNew, kDrainNm, 512);
  EXPECT_TRUE(preempted({kNew}));
}

// The other node is sent alone. Until the retry, no new container starts on the refused one.
TEST_F(DrainTest, RetriesInTheNextPassOnANodeWhoseUpdateIsRefused) {
  const NodeId refused{"host-of-n2", 1};
  manager().nodes[refused] = {};
  manager().run("container_1_0002_01_000002", refused, 512);
  node("n2", refused.text(), origin("4k", "4Gi"));
  manager().unknown = {refused.host};
  manager().unknown_for = 2;  // with the other node, and alone
  order_to_evict("n1", 30);
  order_to_evict("n2", 30);
  begin();
  EXPECT_TRUE(total(refused, 0, 2));
  EXPECT_EQ(manager().told_totals, (std::vector<Told>{{0, 3, 30'000}, {0, 0, kNever}, {0, 2, 30'000}}));
  pass(500ms);
  EXPECT_EQ(manager().told_totals.size(), 3U) << "both are in their grace";
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_drained_nodes_total 2"), std::string::npos);
}

// Applications learn of it at once, and no other total saves the containers in between.
TEST_F(DrainTest, GivesApplicationsTheGraceBeforeTheKill) {
  options.preemption_grace = 1500ms;
  offer(1024);
  begin();
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  const auto began = clock.monotonic();
  drain(0ms);
  EXPECT_TRUE(total(kDrainNm, 1024, 5));
  patch("n1", Json::object({{"spec", Json::object({{"unschedulable", true}})}}));  // its total would be 0
  pass(1s);
  EXPECT_TRUE(manager().preempted.empty());
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_GE(clock.monotonic() - began, 1500ms);
  EXPECT_TRUE(total(kDrainNm, 0, 0));
  EXPECT_EQ(manager().told_totals, (std::vector<Told>{{1024, 4, kNever}, {1024, 5, 1500}, {0, 0, kNever}}));
}

TEST_F(DrainTest, OrderThatEndsInTheGraceSavesTheContainers) {
  offer(4096);
  const auto order = [&](std::string_view wish, int generation) {
    patch("n1",
          Json::object({{"metadata", Json::object({{"labels", Json::object({{"tidemark.io/state", Json(wish)}})}})}}));
    const std::string_view off =
        wish == "off" ? R"(,"drainUntil":"2026-01-01T00:00:00Z","evict":true,"graceSeconds":3)" : "";
    say(model::kStateDetailAnnotation,
        base::cat(R"({"schema":1,"generation":)", generation, R"(,"state":")", wish, R"(","node":{"generation":)",
                  generation, R"(,"orders":[{"wish":")", wish, R"(","by":"ann","why":"w",)",
                  R"("since":"2026-01-01T00:00:00Z")", off, "}]}}"));
  };
  order("off", 7);
  begin();
  EXPECT_TRUE(until([&] { return manager().nodes.at(kDrainNm).memory == 0; }));
  order("on", 8);
  EXPECT_TRUE(until([&] { return manager().nodes.at(kDrainNm).memory == 4096; }));
  pass(3500ms);
  EXPECT_TRUE(manager().preempted.empty());
}

// An offer that falls because of online work ends no container, also right after a drain.
TEST_F(DrainTest, LeavesContainersThatExceedALaterOffer) {
  offer(1024);
  drain(0ms);
  begin();
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  pass(500ms);  // a report shows that it is done
  offer(512, 6);
  EXPECT_TRUE(total(kDrainNm, 512, 4));
  pass(500ms);
  EXPECT_EQ(manager().preempted, std::vector{kNew});
}

// A cordoned node has a total of 0, which is not its offer.
TEST_F(DrainTest, EndsOnlyWhatExceedsTheOfferOnACordonedNode) {
  patch("n1", Json::object({{"spec", Json::object({{"unschedulable", true}})}}));
  offer(1024);
  drain(300ms);
  begin();
  EXPECT_TRUE(total(kDrainNm, 0, 0));
  EXPECT_TRUE(preempted({kNew}));
  pass(500ms);
  EXPECT_TRUE(total(kDrainNm, 0, 0));
  EXPECT_EQ(manager().preempted, std::vector{kNew});
}

// Independent of the poll interval.
TEST_F(DrainTest, WakesAtTheDeadline) {
  options.poll = 10min;
  offer(1024);
  drain(700ms);
  begin();
  EXPECT_TRUE(preempted({kNew}));
}

TEST_F(DrainTest, EndsNothingForAnOldDrain) {
  offer(1024);
  drain(-policy::evict::kDrainKept);
  begin();
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  pass(500ms);
  EXPECT_TRUE(manager().preempted.empty());
}

TEST_F(DrainTest, RetriesAfterTheResourceManagerDroppedIt) {
  offer(1024);
  begin();
  EXPECT_TRUE(total(kDrainNm, 1024, 4));
  manager().drops = true;
  const int before = manager().updates;
  drain(0ms);
  EXPECT_TRUE(until([&] { return manager().updates > before; }));
  manager().drops = false;
  EXPECT_TRUE(preempted({kNew}));
}

}  // namespace
}  // namespace tidemark::yarn_operator
