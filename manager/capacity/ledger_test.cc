// The ledger of a pool on a running manager: both sides' books, what waits, and what YARN is offered; against the API
// server in memory, under simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/state/mark_write.h"
#include "manager/testing/cluster.h"
#include "model/annotations.h"
#include "model/generation.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using model::CpuMilli;
using model::MemoryBytes;
using testing::kConfigPath;
using testing::kMerge;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

class LedgerTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    node("n1");
    metric("n1", "2");  // 17200 milli-cores for batch
  }
  void ledger(std::string_view text) {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", Json(base::cat("schema: 1\nmode: enforce\nledger: ", text, "\n"))}});
    must("POST", kConfigPath, map);
  }
  void annotate(std::string_view key, const Json& text) {
    must("PATCH", "/api/v1/nodes/n1",
         Json::object({{"metadata", Json::object({{"annotations", Json::object({{key, text}})}})}}), kMerge);
  }
  static model::Resources of(std::int64_t cpu_milli) { return {CpuMilli{cpu_milli}, MemoryBytes{200 * kGi}}; }
  // What the YARN operator says.
  void book(std::int64_t confirmed_milli, std::string_view waiting = "-", std::int64_t waiting_for_milli = 0) {
    model::YarnBook says;
    if (const auto offer = yarn_offer()) {
      says.generation = offer->generation;
      says.confirmed = offer->offer;
    }
    EXPECT_EQ(says.confirmed.cpu.value, confirmed_milli);
    says.sold.emplace();
    if (waiting != "-") says.waiting = waiting;
    says.sold->insert(says.sold->end(), yarn_holds_.begin(), yarn_holds_.end());
    if (waiting_for_milli > 0) says.waiting_for = {CpuMilli{waiting_for_milli}, MemoryBytes{kGi}};
    annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(says)));
  }
  std::optional<model::YarnOffer> yarn_offer() {
    const Json read = read_node("n1");
    const auto text = read.text_at("metadata", "annotations", model::kYarnOfferAnnotation);
    if (text.empty()) return std::nullopt;
    return *model::parse_yarn_offer(text);
  }
  // The amount that is reclaimed from pods of the node, as its agent reads it; null without a reclaim.
  Json told() {
    const Json object = must("GET", "/apis/slo.koordinator.sh/v1alpha1/nodeslos/n1", nullptr);
    const Json* found = object.at("spec", "extensions", "Object", "tidemark", "reclaim");
    if (found == nullptr) return {};
    last_told_ = std::max(last_told_, found->member("generation")->as_int());
    return found->member("classes")->as_array().empty() ? Json() : *found;
  }
  std::vector<model::Reclaim> yarn_reclaim() {
    return yarn_offer() ? yarn_offer()->reclaim : std::vector<model::Reclaim>();
  }
  std::optional<base::WallTime> yarn_drain() { return yarn_offer() ? yarn_offer()->drain_by : std::nullopt; }
  std::int64_t yarn_cpu() { return yarn_offer() ? yarn_offer()->offer.cpu.value : -1; }
  // What `tidemark off node n1 --only yarn` writes.
  void yarn_off() {
    policy::state::Parts only;
    only.yarn = true;
    off(only);
  }
  void off(const policy::state::Parts& only) {
    policy::state::StateCommand command;
    command.wish = policy::state::Wish::kOff;
    command.only = only;
    order(command);
  }
  void order(policy::state::StateCommand command) {
    command.by = "ann@ops";
    const std::string bytes = read_node("n1").dump();
    kube::Interner interner;
    const auto node = *kube::decode_node(bytes, node_fields(), interner);
    const auto exact = *exact_mark(bytes);
    const auto marks = read_marks(exact).marks;
    const auto generation = model::next_generation(marks.generation, clock.wall());
    const auto ordered = policy::state::command_node(marks, command, generation, clock.wall());
    const auto write = mark_write(exact, ordered.marks, clock.wall(), &node);
    must("PATCH", "/api/v1/nodes/n1/status", *Json::parse(write.body), "application/json-patch+json");
  }
  void pod(std::string_view name, std::string_view batch_cpu, bool bound, std::string_view work_class = "") {
    Json object = name_only(name);
    const Json amounts =
        Json::object({{"kubernetes.io/batch-cpu", Json(batch_cpu)}, {"kubernetes.io/batch-memory", "1Gi"}});
    Json spec = Json::object(
        {{"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    if (bound) spec["nodeName"] = Json("n1");
    object["metadata"]["labels"] = Json::object({{"koordinator.sh/qosClass", "BE"}});
    if (!work_class.empty()) object["metadata"]["labels"]["tidemark.io/class"] = Json(work_class);
    object["spec"] = std::move(spec);
    must("POST", "/api/v1/namespaces/default/pods", object);
  }
  void bind(std::string_view name) {
    must("POST", base::cat("/api/v1/namespaces/default/pods/", name, "/binding"),
         Json::object({{"metadata", Json::object({{"name", Json(name)}})},
                       {"target", Json::object({{"kind", "Node"}, {"name", "n1"}})}}));
  }

  std::vector<model::YarnBook::Sold> yarn_holds_;
  std::int64_t last_told_ = 0;  // the largest generation
};

TEST_F(LedgerTest, StrictLedgerMovesIdleCapacityOnlyAfterAConfirmedCut) {
  ledger("{mode: strict}");
  book(0);
  auto& replica = start();
  static_cast<void>(replica);
  run_for(30s);
  EXPECT_EQ(offered("n1"), "8600") << "no side wants more: halves";
  EXPECT_EQ(yarn_cpu(), 8600);
  book(8600);
  // Batch pods wait: YARN is cut at once, and Kubernetes grows when its ResourceManager acts on the cut.
  pod("waits", "9000", false);
  run_for(30s);
  EXPECT_EQ(yarn_cpu(), 0);
  EXPECT_EQ(yarn_offer()->up_to.cpu.value, 8600);
  EXPECT_EQ(offered("n1"), "8600");
  run_for(10min);
  metric("n1", "2");
  run_for(30s);
  EXPECT_EQ(offered("n1"), "8600") << "not confirmed yet";
  book(0);
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(yarn_offer()->up_to.cpu.value, 0) << "confirmed, and nothing is held: it has no more than it is offered";
  // Its ResourceManager goes away.
  auto silent = model::YarnBook{yarn_offer()->generation, yarn_offer()->offer, std::nullopt, std::nullopt};
  annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(silent)));
  run_for(30s);
  EXPECT_EQ(offered("n1"), "17200") << "what it gave up is not held again";
}

TEST_F(LedgerTest, KeepsYarnHeldAmountWhenItsLedgerIsStale) {
  ledger("{mode: strict}");
  book(0);
  start();
  run_for(30s);
  book(8600);
  pod("waits", "9000", false);
  run_for(30s);
  ASSERT_EQ(yarn_cpu(), 0);
  model::YarnBook says{yarn_offer()->generation, yarn_offer()->offer, std::nullopt, std::nullopt};
  says.sold = {{"", {CpuMilli{2000}, MemoryBytes{kGi}}}};
  annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(says)));
  run_for(10s);
  EXPECT_EQ(offered("n1"), "15200");
  EXPECT_EQ(yarn_offer()->up_to.cpu.value, 2000);
  says.sold.reset();
  annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(says)));
  run_for(30s);
  EXPECT_EQ(offered("n1"), "15200") << "unknown counts as held: what it held when it said so last";
}

// Transcoding holds the node, Spark waits on YARN.
TEST_F(LedgerTest, ReclaimsFromLessTimelyWorkFirst) {
  ledger("{mode: strict, classAware: true}\nclasses: [{name: transcode, order: 1}, {name: spark, order: 3}]");
  book(0);
  for (const char* name : {"t1", "t2", "t3"}) pod(name, "4000", true, "transcode");
  auto& replica = start();
  run_for(30s);
  EXPECT_EQ(offered("n1"), "14600");
  EXPECT_EQ(yarn_cpu(), 2600);
  EXPECT_TRUE(told().is_null());
  // 10 cores are waited for, 5.2 are idle.
  book(2600, "spark", 10'000);
  run_for(30s);
  EXPECT_EQ(offered("n1"), "7200") << "nothing new in its place";
  EXPECT_EQ(yarn_cpu(), 5200) << "no more before it is reclaimed";
  ASSERT_FALSE(told().is_null());
  const std::int64_t generation = told().member("generation")->as_int();
  const Json asked = told().member("classes")->as_array().at(0);
  EXPECT_EQ(told().member("classes")->as_array().size(), 1u);
  EXPECT_EQ(asked.text_at("class"), "transcode");
  EXPECT_EQ(asked.text_at("amount", "kubernetes.io/batch-cpu"), "4800");
  EXPECT_EQ(asked.text_at("keep", "kubernetes.io/batch-cpu"), "7200");
  EXPECT_EQ(asked.text_at("reason"), "TM-LEDGER-009");
  EXPECT_EQ(replica.metric(R"(tidemark_reclaim_nodes{pool="default",side="kubernetes"})"), 1);
  EXPECT_EQ(replica.metric(R"(tidemark_reclaim_cpu_cores{pool="default",side="kubernetes"})"), 4.8);
  // The agent obeys: two pods end.
  book(5200, "spark", 10'000);
  for (const char* name : {"t1", "t2"}) {
    must("DELETE", base::cat("/api/v1/namespaces/default/pods/", name, "?gracePeriodSeconds=0"), nullptr);
  }
  run_for(30s);
  EXPECT_TRUE(told().is_null());
  EXPECT_EQ(offered("n1"), "4k");
  EXPECT_EQ(yarn_cpu(), 13'200);
  EXPECT_EQ(replica.metric(R"(tidemark_reclaim_nodes{pool="default",side="kubernetes"})"), 0);
  // Asked again, it is another one.
  book(13'200, "spark", 16'000);
  pod("t4", "4000", true, "transcode");
  run_for(30s);
  ASSERT_FALSE(told().is_null());
  EXPECT_GT(told().member("generation")->as_int(), generation);
}

TEST_F(LedgerTest, PublishesYarnReclaimWithItsOffer) {
  ledger("{mode: strict, classAware: true}\nclasses: [{name: transcode, order: 1}, {name: training, order: 2}]");
  model::YarnBook says;
  says.sold = {{"transcode", {CpuMilli{12'000}, MemoryBytes{kGi}}}};
  annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(says)));
  start();
  run_for(10s);
  pod("waits", "9000", false, "training");
  run_for(30s);
  ASSERT_TRUE(yarn_offer());
  const auto reclaim = yarn_reclaim();
  ASSERT_EQ(reclaim.size(), 1u);
  EXPECT_EQ(reclaim[0].work_class, "transcode");
  EXPECT_EQ(reclaim[0].amount.cpu.value, 9000 - 5200);
  EXPECT_EQ(reclaim[0].keep.cpu.value, 12'000 - 3800);
  EXPECT_EQ(yarn_cpu(), 12'000 - 3800);
  EXPECT_TRUE(told().is_null()) << "pods give nothing back";
  // No pod waits any more.
  must("DELETE", "/api/v1/namespaces/default/pods/waits?gracePeriodSeconds=0", nullptr);
  run_for(10s);
  EXPECT_TRUE(yarn_reclaim().empty());
}

TEST_F(LedgerTest, BoundPodIsNoLongerPending) {
  ledger("{mode: shared, classAware: true}\nclasses: [{name: transcode, order: 1}, {name: training, order: 2}]");
  yarn_holds_ = {{"transcode", {CpuMilli{12'000}, MemoryBytes{kGi}}}};
  book(0);
  start();
  run_for(10s);
  pod("waits", "5000", false, "training");
  run_for(30s);
  EXPECT_TRUE(yarn_reclaim().empty()) << "there is room for it";
  EXPECT_EQ(yarn_cpu(), 12'200) << "kept for the pod";
  // Between two looks at what waits. It holds five cores, and would ask for five more while it waited as well.
  bind("waits");
  run_for(1s);
  EXPECT_TRUE(yarn_reclaim().empty());
  EXPECT_EQ(yarn_cpu(), 12'200);
}

TEST_F(LedgerTest, StoppedOperatorHasNoPendingWork) {
  ledger("{mode: strict, classAware: true}\nclasses: [{name: transcode, order: 1}, {name: spark, order: 3}]");
  book(0);
  for (const char* name : {"t1", "t2", "t3"}) pod(name, "4000", true, "transcode");
  start();
  run_for(30s);
  book(2600, "spark", 10'000);
  const auto minutes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      metric("n1", "2");
      run_for(1min);
    }
  };
  minutes(14);
  EXPECT_FALSE(told().is_null());
  annotate(model::kYarnBookRenewedAnnotation, Json("2026-11-22T12:00:00Z"));
  minutes(14);
  EXPECT_FALSE(told().is_null()) << "it lives, and has nothing else to say";
  minutes(3);
  EXPECT_TRUE(told().is_null()) << "for a quarter of an hour it was not seen";
  EXPECT_GT(last_told_, 0);
  // Back again: another one, with a larger number.
  const std::int64_t before = last_told_;
  annotate(model::kYarnBookRenewedAnnotation, Json("2026-11-22T13:00:00Z"));
  run_for(30s);
  EXPECT_FALSE(told().is_null());
  EXPECT_GT(last_told_, before);
}

TEST_F(LedgerTest, YarnPendingWorkSurvivesAnApiOutage) {
  ledger(
      "{mode: strict, classAware: true}\nprofile: tidemark\n"
      "classes: [{name: transcode, order: 1}, {name: spark, order: 3}]");
  book(0);
  for (const char* name : {"t1", "t2", "t3"}) pod(name, "4000", true, "transcode");
  start();
  const auto minutes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      metric("n1", "2");
      run_for(1min);
    }
  };
  minutes(2);
  book(yarn_cpu(), "spark", 10'000);
  minutes(5);
  ASSERT_FALSE(told().is_null());
  outage(Answers::kNone, 2h);
  minutes(9);
  EXPECT_FALSE(told().is_null()) << "its operator could not tell that it lives";
  minutes(3);
  EXPECT_TRUE(told().is_null()) << "and has not for a quarter of an hour in which it could";
}

TEST_F(LedgerTest, AmountHeldByPodsIsNotYarnsWhileKubernetesIsOff) {
  ledger("{mode: shared, classAware: true}\nclasses: [{name: transcode, order: 1}, {name: spark, order: 3}]");
  book(0, "spark", 16'000);
  for (const char* name : {"t1", "t2", "t3"}) pod(name, "4000", true, "transcode");
  start();
  run_for(30s);
  EXPECT_FALSE(told().is_null());
  policy::state::Parts only;
  only.k8s = true;
  off(only);
  run_for(30s);
  EXPECT_EQ(yarn_cpu(), 5200);
  EXPECT_TRUE(told().is_null()) << "off sells nothing and ends nothing";
  must("DELETE", "/api/v1/namespaces/default/pods/t1?gracePeriodSeconds=0", nullptr);
  run_for(30s);
  EXPECT_EQ(yarn_cpu(), 9200);
}

// YARN acts on an old offer, so the offer to Kubernetes does not grow; it is cut by the class that is off.
TEST_F(LedgerTest, AmountHeldByAnOffClassIsSubtractedOnce) {
  ledger("{mode: strict}\nclasses: [{name: transcode, order: 1}]");
  book(0);
  pod("t1", "3000", true, "transcode");
  start();
  run_for(30s);
  ASSERT_EQ(offered("n1"), "10100");
  model::YarnBook says{
      yarn_offer()->generation, {CpuMilli{20'000}, MemoryBytes{200 * kGi}}, std::nullopt, std::nullopt};
  says.sold.emplace();
  annotate(model::kYarnBookAnnotation, Json(model::format_yarn_book(says)));
  run_for(30s);
  ASSERT_EQ(offered("n1"), "10100");
  policy::state::Parts only;
  only.classes = {"transcode"};
  off(only);
  run_for(30s);
  EXPECT_EQ(offered("n1"), "7100");
  for (int i = 0; i < 5; ++i) {
    metric("n1", "2");
    run_for(1min);
  }
  EXPECT_EQ(offered("n1"), "7100") << "and not again and again";
}

TEST_F(LedgerTest, OverReportFollowsClassAndHour) {
  ledger(
      "{yarn: {overReport: {entries: [{class: spark, hours: 22-6, cpuPercent: 150}]}}}\n"
      "classes: [{name: spark, order: 3}]");
  book(0, "spark");
  start();
  const auto to_hour = [&](std::int64_t hour) {
    constexpr std::int64_t kHour_s = 3600;
    const auto now = std::chrono::floor<std::chrono::seconds>(clock.wall().since_epoch).count();
    const std::int64_t left = ((hour * kHour_s - now) % (24 * kHour_s) + 24 * kHour_s) % (24 * kHour_s);
    if (left > 60) run_for(std::chrono::seconds(left - 60));
    metric("n1", "2");
    run_for(30s);
  };
  to_hour(22);
  EXPECT_EQ(yarn_cpu(), 17'200);
  run_for(60s);
  EXPECT_EQ(yarn_cpu(), 25'800) << "by time alone, to the minute";
  to_hour(6);
  EXPECT_EQ(yarn_cpu(), 25'800);
  run_for(60s);
  EXPECT_EQ(yarn_cpu(), 17'200);
}

TEST_F(LedgerTest, IsSharedWithoutACompliantOperator) {
  ledger("{mode: strict, yarn: {overReport: {cpuPercent: 200}}}");
  annotate(model::kThirdPartyAllocationsAnnotation,
           Json(R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch",)"
                R"("resources":{"kubernetes.io/batch-cpu":"4k","kubernetes.io/batch-memory":"4Gi"}}]})"));
  start();
  run_for(10s);
  EXPECT_EQ(offered("n1"), "13200") << "what YARN holds is taken off in full: it was not offered more than is real";
  EXPECT_FALSE(yarn_offer());
}

TEST_F(LedgerTest, GuaranteedShareReturnsForPendingWork) {
  ledger("{mode: shared, yarn: {minPercent: 50}}");
  book(0);
  start();
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200") << "lent while no work wants it";
  book(17200, "spark");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "8600");
  EXPECT_EQ(yarn_cpu(), 17200);
}

TEST_F(LedgerTest, RemovesYarnOfferWithoutOperatorOrOnOffNode) {
  ledger("{mode: shared, yarn: {maxPercent: 50}}");
  book(0);
  start();
  run_for(10s);
  EXPECT_EQ(yarn_cpu(), 8600);
  annotate(model::kYarnBookAnnotation, nullptr);
  run_for(10s);
  EXPECT_FALSE(yarn_offer());
}

// An offer that is gone could as well be one that was never made, and YARN would go on with it.
TEST_F(LedgerTest, WithdrawnOfferIsPublishedAsZero) {
  ledger("{mode: shared}");
  book(0);
  start();
  run_for(10s);
  ASSERT_EQ(yarn_cpu(), 17200);
  const std::int64_t before = yarn_offer()->generation;
  must("DELETE", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/n1", Json());
  run_for(10s);
  EXPECT_EQ(offered("n1"), "") << "the node is reset";
  EXPECT_EQ(yarn_cpu(), 0);
  EXPECT_EQ(yarn_offer()->up_to.cpu.value, 17200) << "it may be on its way still";
  EXPECT_GT(yarn_offer()->generation, before);
  annotate(model::kYarnBookAnnotation, nullptr);
  run_for(10s);
  EXPECT_FALSE(yarn_offer()) << "no operator reads it";
}

TEST_F(LedgerTest, KeepsNothingForYarnWhileItIsOff) {
  ledger("{mode: strict, yarn: {minPercent: 50}}");
  book(0, "spark");
  start();
  run_for(30s);
  ASSERT_EQ(offered("n1"), "0") << "work waits at YARN's door";
  ASSERT_EQ(yarn_cpu(), 17200);
  book(17200, "spark");
  yarn_off();
  run_for(10s);
  EXPECT_EQ(yarn_cpu(), 0);
  book(0, "spark");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200") << "neither its share nor its part of what is idle";
}

TEST_F(LedgerTest, UnreadableYarnLedgerHoldsTheWholeYarnOffer) {
  ledger("{mode: shared}");
  book(0);
  start();
  run_for(10s);
  ASSERT_EQ(yarn_cpu(), 17200);
  book(17200);
  annotate(model::kYarnBookAnnotation, Json(R"({"schema":9})"));
  metric("n1", "3");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "0") << "YARN may hold all of it";
  EXPECT_EQ(yarn_cpu(), 16200);
  metric("n1", "1");
  run_for(10s);
  EXPECT_EQ(yarn_cpu(), 16200) << "it does not grow";
}

TEST_F(LedgerTest, UnreadableLedgerAndOfferLeaveYarnTheRest) {
  ledger("{mode: shared, yarn: {maxPercent: 90}}");
  annotate(model::kThirdPartyAllocationsAnnotation,
           Json(R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch",)"
                R"("resources":{"kubernetes.io/batch-cpu":"4k","kubernetes.io/batch-memory":"4Gi"}}]})"));
  start();
  run_for(10s);
  ASSERT_EQ(offered("n1"), "13200");
  annotate(model::kYarnOfferAnnotation, Json("garbage"));
  annotate(model::kYarnBookAnnotation, Json("garbage"));
  annotate(model::kThirdPartyAllocationsAnnotation, nullptr);
  run_for(30s);
  EXPECT_EQ(offered("n1"), "13200") << "an unreadable text is not nothing";
}

// YARN must end its containers when the drain ends. If the order is lifted just after that, the drain is withdrawn.
TEST_F(LedgerTest, LiftedDrainOrderEndsTheDrain) {
  ledger("{mode: shared}\ndrain: {yarn: end}");
  book(0);
  start();
  run_for(5s);
  ASSERT_TRUE(yarn_offer());
  ASSERT_GT(yarn_cpu(), 0);
  policy::state::StateCommand off;
  off.wish = policy::state::Wish::kOff;
  off.drain = 5min;
  pod("works", "1000", true);  // so that it drains to the end of its time
  order(off);
  run_for(5s);
  ASSERT_TRUE(yarn_drain());
  EXPECT_EQ(yarn_cpu(), 0);
  while (clock.wall() < *yarn_drain() + 20s) {
    metric("n1", "2");
    run_for(5s);
  }
  ASSERT_TRUE(yarn_drain()) << "the operator may end it a bit later";
  policy::state::StateCommand on;
  on.wish = policy::state::Wish::kOn;
  order(on);
  for (int i = 0; i < 6; ++i) {
    metric("n1", "2");
    run_for(5s);
    if (yarn_cpu() > 0) EXPECT_FALSE(yarn_drain()) << "with an offer of " << yarn_cpu() << " milli-cores";
  }
  EXPECT_GT(yarn_cpu(), 0);
}

// Within the lead before its window closes YARN hears when what is then too much ends; with each offer of that time.
TEST_F(LedgerTest, PublishesEndOfYarnWindowWork) {
  const auto at = [&](base::Duration from_now) {
    std::string text = base::format_rfc3339(clock.wall() + from_now);
    text.resize(std::string_view("2026-11-10T18:00").size());
    return text;
  };
  const auto closes = *base::parse_rfc3339(at(40min) + ":00Z");
  ledger(base::cat(
      "{mode: strict}\ndrain: {yarn: end}\ncalendar: a\ncalendars: [{name: a, zone: UTC, lead: 10m, entries: ",
      "[{name: night, from: ", at(-60min), ", to: ", at(40min), ", cpu: 90, memory: 90}]}]"));
  book(0);
  start();
  // Reports come, or nothing is sold for want of them.
  const auto wait = [&](base::Duration time) {
    for (base::Duration passed(0); passed < time; passed += 1min) {
      metric("n1", "2");
      if (yarn_offer()) book(yarn_cpu());
      run_for(1min);
    }
  };
  wait(25min);
  ASSERT_TRUE(yarn_offer());
  EXPECT_FALSE(yarn_drain());
  const auto before = yarn_offer()->generation;
  wait(7min);
  ASSERT_TRUE(yarn_drain());
  EXPECT_EQ(*yarn_drain(), closes);
  EXPECT_GT(yarn_offer()->generation, before);
  wait(7min);
  metric("n1", "9");  // a cut for another cause, still in the lead
  run_for(20s);
  // Past its moment it stands beside the offers of two minutes more; after that it goes with none.
  while (clock.wall() < closes + 30s) run_for(5s);
  metric("n1", "10");
  run_for(20s);
  EXPECT_EQ(*yarn_drain(), closes);
  while (clock.wall() < closes + 3min) run_for(5s);
  const auto last = yarn_offer()->generation;
  metric("n1", "12");
  run_for(20s);
  EXPECT_GT(yarn_offer()->generation, last);
  EXPECT_FALSE(yarn_drain());
}

}  // namespace
}  // namespace tidemark::manager
