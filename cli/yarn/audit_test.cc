// The auditor by numbers written down by hand.
#include "cli/yarn/audit.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;
using model::Reason;

constexpr base::WallTime kNow{std::chrono::hours(24 * 365 * 56)};

// 32 cores, 60 % of which may be used; the system uses 2 of them and an online pod 3: 14.2 cores are left.
Json node_json(std::string_view batch_cpu, std::string_view more = "") {
  return *Json::parse(base::cat(R"({"metadata":{"name":"n1","labels":{"size":"small"},"annotations":{
      "node.koordinator.sh/originExtendedAllocatable":"{\"resources\":{\"kubernetes.io/batch-cpu\":\"14200\"}}")",
                                more, R"(},"managedFields":[{"manager":"tidemark-manager","fieldsV1":{"f:status":{
      "f:allocatable":{"f:kubernetes.io/batch-cpu":{}}}}}]},
      "status":{"capacity":{"cpu":"32","memory":"128Gi"},"allocatable":{"cpu":"32","memory":"128Gi",
      "kubernetes.io/batch-cpu":")",
                                batch_cpu, R"("}}})"));
}
Json metric_json(base::Duration age) {
  return *Json::parse(base::cat(R"({"status":{"updateTime":")", base::format_rfc3339({kNow.since_epoch - age}),
                                R"(","nodeMetric":{"systemUsage":{"resources":{"cpu":"2","memory":"4Gi"}}},
      "podsMetric":[{"priority":"koord-prod","podUsage":{"resources":{"cpu":"3"}}},
                    {"priority":"koord-batch","podUsage":{"resources":{"cpu":"9"}}}]}})"));
}
AuditSettings settings(std::string_view colocation = R"({"enable":true})", std::string_view ours = "") {
  return *AuditSettings::read({std::string(colocation), std::string(ours)});
}
AuditSight sight(std::string_view batch_cpu, std::string_view more = "", base::Duration age = 10s) {
  AuditSight sight = sight_of(node_json(batch_cpu, more), settings());
  take_metric(sight, read_metric(metric_json(age)));
  return sight;
}

std::vector<Reason> found(const Auditor& auditor) {
  std::vector<Reason> reasons;
  for (const auto& each : auditor.findings()) reasons.push_back(each.reason);
  return reasons;
}
std::vector<Reason> seen(const AuditSight& sight, AuditOptions options = {}) {
  Auditor auditor(std::move(options));
  auditor.see(sight, {1h}, kNow);
  auditor.until({1h + 20s}, kNow);
  return found(auditor);
}
const AuditFinding& of(const std::vector<AuditFinding>& findings, Reason reason) {
  static const AuditFinding kNone;
  for (const auto& each : findings) {
    if (each.reason == reason) return each;
  }
  return kNone;
}

constexpr std::string_view kYarnHolds = R"(,"node.koordinator.sh/thirdPartyAllocations":
    "{\"allocations\":[{\"name\":\"hadoop-yarn\",\"priority\":\"koord-batch\",\"resources\":{\"kubernetes.io/batch-cpu\":\"9000\"}}]}")";
constexpr std::string_view kOthersHold = R"(,"node.koordinator.sh/thirdPartyAllocations":
    "{\"allocations\":[{\"name\":\"other\",\"priority\":\"koord-batch\",\"resources\":{\"kubernetes.io/batch-cpu\":\"4000\"}}]}")";

TEST(Audit, CeilingIsCapacityBelowWaterLine) {
  EXPECT_EQ(ceiling_of(sight("14200")).cpu, 14'201);
  EXPECT_EQ(seen(sight("14200")), std::vector<Reason>{});
}

TEST(Audit, LastingOfferAboveCeilingIsAFinding) {
  EXPECT_EQ(seen(sight("20000")), (std::vector<Reason>{Reason::kAuditAboveCeiling, Reason::kAuditFollowing}));
  EXPECT_EQ(seen(sight("15000")), std::vector<Reason>{Reason::kAuditUsageRose}) << "not worth a write";
  EXPECT_EQ(seen(sight("20000"), {.lag = 1h}), std::vector<Reason>{Reason::kAuditFollowing});
}

TEST(Audit, SameCapacityForBothSidesIsAFinding) {
  EXPECT_EQ(seen(sight("5200", kYarnHolds)), std::vector<Reason>{});
  EXPECT_EQ(seen(sight("14200", kYarnHolds)), (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
}

TEST(Audit, NegativeAmountIsAFindingAtOnce) {
  Auditor auditor({});
  auditor.see(sight("-1"), {1s}, kNow);
  ASSERT_EQ(auditor.findings().size(), 1u);
  EXPECT_EQ(auditor.findings()[0].reason, Reason::kAuditNegative);
}

TEST(Audit, OfferOnStaleReportsIsAFinding) {
  EXPECT_EQ(seen(sight("9000", "", 16min)), (std::vector<Reason>{Reason::kAuditStaleOffer, Reason::kAuditFollowing}));
  // The report is 15 minutes old in 30 s; 10 s later it should have been followed.
  Auditor auditor({});
  auditor.see(sight("9000", "", 14min + 30s), {1s}, kNow);
  auditor.until({101s}, {kNow.since_epoch + 100s});
  const auto findings = auditor.findings();
  EXPECT_NEAR(of(findings, Reason::kAuditStaleOffer).cpu_core_s, 9 * 60, 1e-6);
  EXPECT_NEAR(of(findings, Reason::kAuditFollowing).cpu_core_s, 9 * 10, 1e-6);
}

// An excess lasts from event to event, whenever they come.
TEST(Audit, SumsAreExactToTheEvent) {
  Auditor auditor({});
  auditor.see(sight("20000"), {0s}, kNow);       // 5799m above the 14201m under the line, worth a write
  auditor.see(sight("24000"), {12500ms}, kNow);  // 9799m
  auditor.see(sight("14200"), {13000ms}, kNow);  // as it should be
  auditor.see(sight("20000"), {500s}, kNow);     // again, and followed in time
  auditor.see(sight("14200"), {500s + 1ms}, kNow);
  auditor.until({600s}, kNow);
  const auto findings = auditor.findings();
  const auto& above = of(findings, Reason::kAuditAboveCeiling);
  EXPECT_NEAR(above.cpu_core_s, 5.799 * 2.5 + 9.799 * 0.5, 1e-6);
  EXPECT_EQ(above.times, 1);
  EXPECT_EQ(above.worst.cpu, 9'799);
  EXPECT_NEAR(of(findings, Reason::kAuditFollowing).cpu_core_s, 5.799 * 10 + 5.799 * 0.001, 1e-6);
  EXPECT_EQ(of(findings, Reason::kAuditFollowing).times, 2);
}

TEST(Audit, TimeWithoutWatchDoesNotCount) {
  Auditor auditor({});
  auditor.see(sight("20000"), {0s}, kNow);
  auditor.look_away({15s});
  auditor.until({100s}, kNow);
  auditor.see(sight("20000"), {100s}, kNow);
  auditor.until({111s}, kNow);
  EXPECT_NEAR(of(auditor.findings(), Reason::kAuditAboveCeiling).cpu_core_s, 5.799 * (5 + 1), 1e-6);
}

// Reports and nodes are watched each by itself: what growth rests on may be seen after it.
TEST(Audit, GrowthWithoutReportIsAFinding) {
  const auto grow = [](base::Duration report_after) {
    Auditor auditor({});
    auto before = sight("9000", "", 16min);
    before.origin = AuditAmounts{9000, 0};
    auditor.see(before, {1s}, kNow);
    auditor.see(sight("9000", "", 16min), {2s}, kNow);  // its origin is 14200
    auditor.see(sight("9000", "", 0s), {2s + report_after}, kNow);
    auditor.until({30s}, kNow);
    return found(auditor);
  };
  EXPECT_EQ(grow(kWatchSkew + 1s), (std::vector<Reason>{Reason::kAuditStaleGrowth, Reason::kAuditFollowing}));
  EXPECT_EQ(grow(kWatchSkew - 1s), std::vector<Reason>{Reason::kAuditFollowing});
}

// ---- the ledger of a pool ----

constexpr std::string_view kOver =
    "profile: koordinator\nledger: {kubernetes: {overReport: {cpuPercent: 120}}, "
    "yarn: {overReport: {cpuPercent: 150, entries: [{class: spark, cpuPercent: 200}]}}}\n";
constexpr std::string_view kStrict = "ledger: {mode: strict}\n";

std::string amounts(std::int64_t cpu) {
  return base::cat(R"({\"kubernetes.io/batch-cpu\":\")", cpu, R"(\"})");
}
// What YARN's operator says, and what it was offered.
std::string book(std::int64_t sold, std::int64_t confirmed = 0, std::int64_t generation = 1) {
  return base::cat(R"(,"tidemark.io/yarn-book":"{\"schema\":1,\"generation\":)", generation, R"(,\"confirmed\":)",
                   amounts(confirmed), R"(,\"sold\":[{\"class\":\"\",\"resources\":)", amounts(sold), R"(}]}")");
}
constexpr std::string_view kSilentBook = R"(,"tidemark.io/yarn-book":"{\"schema\":1,\"generation\":1}")";
std::string offer(std::int64_t cpu, std::int64_t up_to, std::int64_t generation = 1) {
  return base::cat(R"(,"tidemark.io/yarn-offer":"{\"schema\":1,\"generation\":)", generation, R"(,\"resources\":)",
                   amounts(cpu), R"(,\"upTo\":)", amounts(up_to), R"(}")");
}
AuditSight in_ledger(std::string_view ours, std::string_view batch_cpu, const std::string& more) {
  AuditSight sight = sight_of(node_json(batch_cpu, more), settings("{}", ours));
  take_metric(sight, read_metric(metric_json(10s)));
  return sight;
}

TEST(Audit, OfferCountsWithItsRealAmount) {
  EXPECT_EQ(seen(in_ledger(kOver, "17040", "")), std::vector<Reason>{}) << "120 % of what is under the line";
  EXPECT_EQ(seen(in_ledger(kOver, "20000", "")),
            (std::vector<Reason>{Reason::kAuditAboveCeiling, Reason::kAuditFollowing}));
  // YARN holds 6000 by its own count: 4000 are real, by the over-report for work without a class.
  EXPECT_EQ(seen(in_ledger(kOver, "12240", book(6000, 6000) + offer(6000, 6000))), std::vector<Reason>{});
  EXPECT_EQ(seen(in_ledger("", "13440", book(6000, 6000) + offer(6000, 6000))),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
  const auto pool =
      settings("{}", base::cat("pools: [{name: a, nodeSelector: {matchLabels: {size: small}}, ledger: {yarn: "
                               "{overReport: {cpuPercent: 100}}}}]\n",
                               kOver));
  EXPECT_EQ(pool.of(node_json("1")).kubernetes.real({1200, 7}, std::nullopt), (AuditAmounts{1000, 7}));
}

// What is known of class and hour is gone by; what is not is the most generous.
TEST(Audit, ShowsOverReportOfClassAndHour) {
  const auto told = [](std::string_view ours, const AuditByClass& held, std::optional<std::int64_t> hour) {
    return settings("{}", ours).of(node_json("1")).yarn.real({1200, 0}, hour, held).cpu;
  };
  constexpr std::string_view kEntries =
      "ledger: {yarn: {overReport: {cpuPercent: 120, entries: [{class: spark, hours: 22-7, cpuPercent: 200}, "
      "{class: training, cpuPercent: 100}]}}}\n";
  EXPECT_EQ(told(kEntries, {}, 23), 600) << "any class may take it";
  EXPECT_EQ(told(kEntries, {}, std::nullopt), 600);
  EXPECT_EQ(told(kEntries, {}, 12), 1000);
  EXPECT_EQ(told(kEntries, {{"training", {1200, 0}}}, 23), 1200);
  EXPECT_EQ(told(kEntries, {{"spark", {1200, 0}}}, 12), 1000);
  EXPECT_EQ(told(kEntries, {{"spark", {400, 0}}, {"training", {200, 0}}}, 23), 200 + 200 + 300);
  EXPECT_EQ(told(kEntries, {{"", {1200, 0}}}, 23), 1000);
  EXPECT_EQ(told("ledger: {yarn: {overReport: {entries: [{hours: 8-20, cpuPercent: 150}]}}}\n", {}, 20), 1200);
  const auto pool = [](std::string_view zone) {
    return settings("{}", base::cat("calendar: night\ncalendars: [{name: night, zone: ", zone, ", entries: []}]\n"))
        .of(node_json("1"));
  };
  EXPECT_TRUE(pool("UTC").utc);
  EXPECT_FALSE(pool("Asia/Shanghai").utc) << "zones are not read";
}

// An offer that goes on after its hour is seen without any event, when the hour is over.
TEST(Audit, TheHourEndsByItself) {
  constexpr std::string_view kNight =
      "profile: koordinator\nledger: {kubernetes: {overReport: {entries: [{hours: 9-10, cpuPercent: 200}]}}}\n";
  auto sight = in_ledger(kNight, "20000", "");
  Auditor auditor({});
  const base::WallTime before_ten = *base::parse_rfc3339("2026-11-21T09:59:50Z");
  sight.stamp = "2026-11-21T09:59:45Z";
  auditor.see(sight, {0s}, before_ten);
  auditor.until({9s}, before_ten + 9s);
  EXPECT_TRUE(auditor.findings().empty());
  auditor.until({25s}, before_ten + 25s);
  EXPECT_NEAR(of(auditor.findings(), Reason::kAuditAboveCeiling).cpu_core_s, 5.799 * 5, 1e-6) << "10 s are its lag";
}

// Of 14200 a third party beside YARN holds 4000.
TEST(Audit, ThirdPartyAmountBelongsToNeitherSide) {
  const auto ledger = [](std::string_view ours, std::string_view batch_cpu, std::int64_t to_yarn, std::int64_t sold) {
    AuditSight sight =
        in_ledger(ours, batch_cpu, book(2000, to_yarn) + offer(to_yarn, to_yarn) + std::string(kOthersHold));
    sight.sold = {sold, 0};
    return seen(sight);
  };
  EXPECT_EQ(ledger("", "8200", 10'200, 0), std::vector<Reason>{});
  EXPECT_EQ(ledger("", "12200", 10'200, 0), (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
  EXPECT_EQ(ledger("", "8200", 14'200, 0), (std::vector<Reason>{Reason::kAuditYarnOffer, Reason::kAuditFollowing}));
  EXPECT_EQ(ledger(kStrict, "8200", 2'000, 0), std::vector<Reason>{});
  EXPECT_EQ(ledger(kStrict, "8200", 6'000, 0),
            (std::vector<Reason>{Reason::kAuditBothOffered, Reason::kAuditFollowing}));
  EXPECT_EQ(seen(in_ledger("", "10200", std::string(kOthersHold))), std::vector<Reason>{});
  EXPECT_EQ(seen(in_ledger("", "14200", std::string(kOthersHold))),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
  // The total of a ResourceManager without offers, and YARN's own part of it.
  AuditSight asked = in_ledger("", "8200", std::string(kOthersHold));
  asked.takes_no_work = false;
  take_rm(asked, {{10'200, 0}, {2'000, 0}});
  EXPECT_EQ(asked.third_party, (AuditAmounts{6'000, 0}));
  EXPECT_EQ(seen(asked), std::vector<Reason>{});
  take_rm(asked, {{14'200, 0}, {2'000, 0}});
  EXPECT_EQ(seen(asked), (std::vector<Reason>{Reason::kAuditYarnTotal, Reason::kAuditFollowing}));
}

TEST(Audit, YarnLedgerIsWhatYarnHolds) {
  EXPECT_EQ(seen(in_ledger("", "10200", book(4000, 4000) + offer(4000, 4000) + std::string(kYarnHolds))),
            std::vector<Reason>{})
      << "third parties are not asked where there is a book";
  EXPECT_EQ(seen(in_ledger("", "14200", book(4000, 4000) + offer(4000, 4000))),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
  // A book that does not say what is held: all that it may be.
  EXPECT_EQ(seen(in_ledger("", "5200", std::string(kSilentBook) + offer(1000, 9000))), std::vector<Reason>{});
  EXPECT_EQ(seen(in_ledger("", "10200", std::string(kSilentBook) + offer(1000, 9000))),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
  // What YARN is offered is not what pods hold.
  auto sight = in_ledger("", "14200", book(0) + offer(14200, 14200));
  EXPECT_EQ(seen(sight), std::vector<Reason>{});
  sight.sold = {6000, 0};
  sight.yarn_writer = "tidemark-manager";
  EXPECT_EQ(seen(sight), (std::vector<Reason>{Reason::kAuditYarnOffer, Reason::kAuditFollowing}));
  // It may run on after a cut.
  EXPECT_EQ(seen(in_ledger("", "10200", book(4000, 1000) + offer(1000, 4000))),
            std::vector<Reason>{Reason::kAuditOriginDropped});
}

// Of what the ResourceManager itself says, in thousandths of a core.
AuditSight asked(AuditSight of, std::int64_t total, std::int64_t used, bool takes_work = true) {
  take_rm(of, {{total, 0}, {used, 0}});
  of.takes_no_work = !takes_work;
  return of;
}

TEST(Audit, RmTotalAboveYarnOfferIsAFinding) {
  const std::vector<Reason> too_much{Reason::kAuditYarnTotal, Reason::kAuditFollowing};
  EXPECT_EQ(seen(asked(sight("14200"), 14200, 0)), std::vector<Reason>{});
  EXPECT_EQ(seen(asked(sight("14200"), 15000, 0)), too_much);
  EXPECT_EQ(seen(asked(sight("14200"), 15000, 0), {.lag = 1h}), std::vector<Reason>{Reason::kAuditFollowing});
  auto with_pods = sight("14200");
  with_pods.sold = {4200, 0};
  EXPECT_EQ(seen(asked(with_pods, 10000, 0)), std::vector<Reason>{});
  EXPECT_EQ(seen(asked(with_pods, 11000, 0)), too_much);
  EXPECT_EQ(seen(asked(sight("14200"), 1000, 0, false)), too_much) << "cordoned, or not ready";
  EXPECT_EQ(seen(asked(sight("14200"), 0, 0, false)), std::vector<Reason>{});
  // By the offer, and up to what it may still be while it is not confirmed.
  const auto offered = [](std::int64_t generation) {
    return in_ledger("", "10200", book(4000, 4000, generation) + offer(4000, 9000, 2));
  };
  EXPECT_EQ(seen(asked(offered(1), 9000, 4000)), std::vector<Reason>{});
  EXPECT_EQ(seen(asked(offered(1), 9001, 4000)), too_much);
  EXPECT_EQ(seen(asked(offered(2), 4000, 4000)), std::vector<Reason>{});
  EXPECT_EQ(seen(asked(offered(2), 9000, 4000)), too_much);
}

TEST(Audit, YarnHeldComesFromResourceManager) {
  EXPECT_EQ(seen(asked(sight("14200"), 9000, 9000)),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}))
      << "no annotation says it";
  EXPECT_EQ(seen(asked(sight("5200", kYarnHolds), 9000, 1000)), std::vector<Reason>{});
  // Containers run on after a cut.
  EXPECT_EQ(seen(asked(in_ledger("", "10200", book(0, 1000) + offer(1000, 1000)), 1000, 4000)),
            std::vector<Reason>{Reason::kAuditOriginDropped});
}

TEST(Audit, StrictLedgerLimitsSumOfBothOffers) {
  EXPECT_EQ(seen(in_ledger(kStrict, "7100", book(0) + offer(7100, 7100))), std::vector<Reason>{});
  EXPECT_EQ(seen(in_ledger(kStrict, "14200", book(0) + offer(7100, 7100))),
            (std::vector<Reason>{Reason::kAuditBothOffered, Reason::kAuditFollowing}));
  EXPECT_EQ(seen(in_ledger("", "14200", book(0) + offer(7100, 7100))), std::vector<Reason>{}) << "a shared one";
}

TEST(Audit, StrictLedgerOffersOnlyAfterConfirmedCut) {
  const auto moved = [](const AuditSight& before, base::Duration cut_lasts, const AuditSight& cut,
                        const AuditSight& given) {
    Auditor auditor({});
    auditor.see(before, {0s}, kNow);
    auditor.see(cut, {1s}, kNow);
    auditor.see(given, {1s + cut_lasts}, kNow);
    auditor.until({5min}, kNow);
    return found(auditor);
  };
  const std::vector<Reason> caught{Reason::kAuditGivenUnconfirmed, Reason::kAuditFollowing};
  // From YARN to Kubernetes: its operator has confirmed the cut, or not yet.
  const auto all_yarns = in_ledger(kStrict, "0", book(0, 14200, 1) + offer(14200, 14200, 1));
  const auto yarn_cut = in_ledger(kStrict, "0", book(0, 14200, 1) + offer(0, 14200, 2));
  const auto confirmed = in_ledger(kStrict, "0", book(0, 0, 2) + offer(0, 14200, 2));
  const auto to_kubernetes = in_ledger(kStrict, "14200", book(0, 0, 2) + offer(0, 14200, 2));
  EXPECT_EQ(moved(all_yarns, 1s, confirmed, to_kubernetes), std::vector<Reason>{});
  EXPECT_EQ(moved(all_yarns, 1min, yarn_cut, to_kubernetes), caught);
  // The other way round: a scheduler may bind for a while by what the node carried.
  const auto all_kubernetes = in_ledger(kStrict, "14200", book(0, 0) + offer(0, 0));
  const auto kubernetes_cut = in_ledger(kStrict, "0", book(0, 0) + offer(0, 0));
  const auto to_yarn = in_ledger(kStrict, "0", book(0, 0) + offer(14200, 14200, 2));
  EXPECT_EQ(moved(all_kubernetes, kAuditBindLag, kubernetes_cut, to_yarn), std::vector<Reason>{});
  EXPECT_EQ(moved(all_kubernetes, kAuditBindLag - 1s, kubernetes_cut, to_yarn), caught);
}

Json topology_json(std::string_view cpu, std::string_view manager) {
  return *Json::parse(base::cat(
      R"({"metadata":{"name":"n1","managedFields":[{"manager":"koordlet","fieldsV1":{"f:topologyPolicies":{}}},
      {"manager":")",
      manager, R"(","fieldsV1":{"f:zones":{}}}]},"zones":[{"name":"node-0","resources":[
      {"name":"cpu","capacity":"16","allocatable":"16","available":"16"},
      {"name":"kubernetes.io/batch-cpu","capacity":"7000","allocatable":")",
      cpu, R"(","available":"7000"}]},{"name":"node-1"},{"name":"node-2","resources":[
      {"name":"kubernetes.io/batch-cpu","capacity":"7199500m","allocatable":"7199500m","available":"7199500m"}]}]})"));
}

TEST(Audit, SumOfZonesIsLimitedByNode) {
  const auto with = [](std::string_view ours, std::string_view cpu, std::string_view manager = "tidemark-manager") {
    auto sight = in_ledger(ours, "14200", "");
    take_zones(sight, read_zones(topology_json(cpu, manager)));
    return seen(sight);
  };
  constexpr std::string_view kSafe = "profile: tidemark\n";
  EXPECT_EQ(with(kSafe, "7000500m"), std::vector<Reason>{}) << "to the thousandth";
  EXPECT_EQ(with(kSafe, "7001"), (std::vector<Reason>{Reason::kAuditZones, Reason::kAuditFollowing}));
  EXPECT_EQ(with("", "9000"), std::vector<Reason>{}) << "the peer's: they wait for a tenth";
  EXPECT_EQ(with(kSafe, "9000", "kubectl"),
            (std::vector<Reason>{Reason::kAuditForeignWriter, Reason::kAuditFollowing}));
  auto unreadable = in_ledger(kSafe, "14200", "");
  take_zones(unreadable, read_zones(topology_json("many", "tidemark-manager")));
  EXPECT_EQ(seen(unreadable), std::vector<Reason>{Reason::kAuditUnreadable});
  auto gone = in_ledger(kSafe, "14200", "");
  take_zones(gone, read_zones(*Json::parse(R"({"metadata":{"name":"n1"},"zones":7})")));
  EXPECT_EQ(seen(gone), std::vector<Reason>{});
}

TEST(Audit, NegativeMeasurementDoesNotRaiseCeiling) {
  Json metric = metric_json(10s);
  for (const char* amount : {"0", "-50"}) {
    auto& pods = metric["status"]["podsMetric"].as_array();
    pods[0]["podUsage"]["resources"]["cpu"] = Json(amount);
    AuditSight sight = sight_of(node_json("14200"), settings());
    take_metric(sight, read_metric(metric));
    EXPECT_EQ(ceiling_of(sight).cpu, 17'201) << amount;
  }
}

TEST(Audit, IgnoresForeignWriter) {
  EXPECT_EQ(seen(sight("20000"), {.writer = "koord-manager"}),
            (std::vector<Reason>{Reason::kAuditForeignWriter, Reason::kAuditFollowing}));
}

TEST(Audit, SumsPodsUntilTheyEnd) {
  const std::string pod = R"({"metadata":{"name":"p","nodeName":"not this"},"spec":{"containers":[
      {"name":"a","resources":{"limits":{"kubernetes.io/batch-cpu":"9k"},
       "requests":{"kubernetes.io/batch-cpu":"2k","kubernetes.io/batch-memory":"1Gi"}}},
      {"name":"b"},{"resources":{"requests":{"kubernetes.io/batch-cpu":"500","cpu":"7"}}}],
      "nodeName":"n1"},"status":{"phase":")";
  const auto running = read_pod(pod + R"(Running"}})");
  ASSERT_TRUE(running) << running.error().message;
  EXPECT_EQ(running->node, "n1");
  EXPECT_EQ(running->sold, (AuditAmounts{2500, std::int64_t{1} << 30}));
  EXPECT_EQ(read_pod(pod + R"(Succeeded"}})")->sold, AuditAmounts());
  EXPECT_FALSE(read_pod(R"({"spec":{"containers":)"));
  EXPECT_FALSE(read_pod(R"({"spec":{"containers":[{"resources":{"requests":{"kubernetes.io/batch-cpu":"much"}}}]}})")
                   ->unreadable.empty());

  auto node = sight("2000");
  take_pod(node, *running);
  EXPECT_EQ(seen(node), std::vector<Reason>{Reason::kAuditOriginDropped});
}

TEST(Audit, UsesMostGenerousSettingsIfUnknown) {
  const Json node = node_json("1");
  EXPECT_EQ(settings(R"({"cpuReclaimThresholdPercent":50,"nodeConfigs":[
      {"nodeSelector":{"matchLabels":{"size":"large"}},"cpuReclaimThresholdPercent":90},
      {"nodeSelector":{"matchLabels":{"size":"small"}},"cpuReclaimThresholdPercent":40}]})")
                .of(node)
                .cpu_threshold_percent,
            40);
  EXPECT_EQ(settings(R"({"cpuReclaimThresholdPercent":50,"nodeConfigs":[
      {"nodeSelector":{"matchExpressions":[]},"cpuReclaimThresholdPercent":70}]})")
                .of(node)
                .cpu_threshold_percent,
            70);
  const auto gentle = settings("{}", "profile: tidemark\ncalendars: [{entries: [{cpu: 85}]}]\n").of(node);
  EXPECT_TRUE(gentle.decays && gentle.slewed);
  EXPECT_EQ(gentle.cpu_threshold_percent, 85);
  EXPECT_FALSE(AuditSettings::read({"{", std::nullopt}));
}

// A pool chosen by expressions, which are not evaluated here, may be this node's or not.
TEST(Audit, UnknownPoolGivesNoFinding) {
  const auto of = [](std::string_view pools) { return settings("{}", pools).of(node_json("1")); };
  const AuditRules perhaps =
      of("profile: koordinator\npools: [{name: a, nodeSelector: {matchExpressions: []}, profile: tidemark,"
         " motion: {slewPermillePerMinute: 500}}]\n");
  EXPECT_TRUE(perhaps.decays) << "an offer without reports may be one that decays";
  EXPECT_FALSE(perhaps.slewed) << "growth may be one that jumps";
  const AuditRules other =
      of("profile: tidemark\npools: [{name: a, nodeSelector: {matchExpressions: []}, profile: koordinator}]\n");
  EXPECT_TRUE(other.decays && !other.slewed);
  const AuditRules faster =
      of("profile: tidemark\npools: [{name: a, nodeSelector: {matchExpressions: []}, motion: {slewPermillePerMinute: "
         "500}},"
         " {name: b, nodeSelector: {matchLabels: {size: small}}, motion: {slewPermillePerMinute: 20}}]\n");
  EXPECT_TRUE(faster.slewed) << "whichever it is";
  EXPECT_EQ(faster.slew_permille_per_minute, 500);
  // What matches for sure takes nothing away from what may have matched before it.
  EXPECT_EQ(settings(R"({"nodeConfigs":[{"nodeSelector":{"matchExpressions":[]},"cpuReclaimThresholdPercent":70},
      {"nodeSelector":{"matchLabels":{"size":"small"}},"cpuReclaimThresholdPercent":40}]})")
                .of(node_json("1"))
                .cpu_threshold_percent,
            70);
}

Json revision(std::string_view colocation, std::string_view hash) {
  return Json::object({{"schema", 1},
                       {"number", 1},
                       {"hash", Json(hash)},
                       {"slo-controller-config", Json::object({{"colocation-config", Json(colocation)}})}});
}

TEST(Audit, RolloutAllowsEveryRevisionInForce) {
  const Json node = node_json("1");
  const std::string old = R"({"cpuReclaimThresholdPercent":65})";
  const std::string live = R"({"cpuReclaimThresholdPercent":50})";
  std::map<std::string, std::string, std::less<>> stored{
      {"revision-1", revision(R"({"cpuReclaimThresholdPercent":90})", "long ago").dump()},
      {"revision-2", revision(old, "old").dump()},
      {"revision-3", revision(live, "new").dump()},
      {"state", R"({"layers":[{"revision":"old"},{"revision":"new"}]})"}};
  const auto threshold = [&](const AuditTexts& texts) {
    const auto read = AuditSettings::read(texts, stored);
    return read ? read->of(node).cpu_threshold_percent : -1;
  };
  EXPECT_EQ(threshold({live, {}}), 65) << "nodes that were not reached yet";
  stored["state"] = R"({"layers":[{"revision":"old"}]})";
  EXPECT_EQ(threshold({live, {}}), 65) << "an edit that no manager has taken: held, refused, or just made";
  EXPECT_EQ(threshold({"{no JSON", {}}), 65) << "the last good one holds";
  EXPECT_EQ(threshold({live, "pools: ["}), 65);
  stored["state"] = R"({"layers":[{"revision":"new"}]})";
  EXPECT_EQ(threshold({live, {}}), 50);
  stored["state"] = R"({"layers":[{"revision":"too large to keep"}]})";
  EXPECT_EQ(threshold({live, {}}), 50);
  stored["state"] = R"({"layers":[{"revision":"old"},{"revision":"nowhere"}]})";
  EXPECT_EQ(threshold({live, {}}), 90) << "it is unknown: the most generous that is kept";
  stored["state"] = "{no JSON";
  EXPECT_EQ(threshold({live, {}}), 90);
  stored.clear();
  EXPECT_EQ(threshold({"{no JSON", {}}), -1);
}

}  // namespace
}  // namespace tidemark::cli
