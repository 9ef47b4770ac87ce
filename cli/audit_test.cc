// The auditor by numbers written down by hand.
#include "cli/audit.h"

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
  take_metric(sight, metric_json(age));
  return sight;
}

std::vector<Reason> seen(const std::vector<AuditSight>& sights, AuditOptions options = {}) {
  Auditor auditor(std::move(options));
  base::MonotonicTime now{1h};
  for (int i = 0; i < 20; ++i, now = now + 1s) auditor.look(sights, now, kNow);
  std::vector<Reason> reasons;
  for (const auto& each : auditor.findings()) reasons.push_back(each.reason);
  return reasons;
}

constexpr std::string_view kYarnHolds = R"(,"node.koordinator.sh/thirdPartyAllocations":
    "{\"allocations\":[{\"priority\":\"koord-batch\",\"resources\":{\"kubernetes.io/batch-cpu\":\"9000\"}}]}")";

TEST(Audit, TheCeilingIsWhatIsLeftUnderTheLine) {
  EXPECT_EQ(ceiling_of(sight("14200")).cpu, 14'201);
  EXPECT_EQ(seen({sight("14200")}), std::vector<Reason>{});
}

TEST(Audit, WhatIsAboveTheCeilingIsAMistakeOnceItLasts) {
  EXPECT_EQ(seen({sight("20000")}), (std::vector<Reason>{Reason::kAuditAboveCeiling, Reason::kAuditFollowing}));
  EXPECT_EQ(seen({sight("15000")}), std::vector<Reason>{Reason::kAuditUsageRose}) << "not worth a write";
  EXPECT_EQ(seen({sight("20000")}, {.lag = 1h}), std::vector<Reason>{Reason::kAuditFollowing});
}

TEST(Audit, TheSameCapacityIsNotForBoth) {
  EXPECT_EQ(seen({sight("5200", kYarnHolds)}), std::vector<Reason>{});
  EXPECT_EQ(seen({sight("14200", kYarnHolds)}),
            (std::vector<Reason>{Reason::kAuditSoldTwice, Reason::kAuditFollowing}));
}

TEST(Audit, LessThanNothingIsAMistakeAtOnce) {
  Auditor auditor({});
  auditor.look({sight("-1")}, {1s}, kNow);
  ASSERT_EQ(auditor.findings().size(), 1u);
  EXPECT_EQ(auditor.findings()[0].reason, Reason::kAuditNegative);
}

TEST(Audit, AnOfferOnOldReportsIsAMistakeAndSoIsItsGrowth) {
  EXPECT_EQ(seen({sight("9000", "", 16min)}), (std::vector<Reason>{Reason::kAuditStaleOffer, Reason::kAuditFollowing}));
  Auditor auditor({});
  auto before = sight("9000", "", 16min);
  before.origin = AuditAmounts{9000, 0};
  auditor.look({before}, {1s}, kNow);
  auditor.look({sight("9000", "", 16min)}, {2s}, kNow);  // its origin is 14200
  EXPECT_EQ(auditor.findings()[0].reason, Reason::kAuditStaleGrowth);
}

TEST(Audit, WhatSomebodyElseWroteIsTheirs) {
  EXPECT_EQ(seen({sight("20000")}, {.writer = "koord-manager"}),
            (std::vector<Reason>{Reason::kAuditForeignWriter, Reason::kAuditFollowing}));
}

TEST(Audit, WhatPodsHoldIsAddedUpUntilTheyAreOver) {
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
  EXPECT_EQ(seen({node}), std::vector<Reason>{Reason::kAuditOriginDropped});
}

TEST(Audit, SettingsOfTheNodeCountAndTheMostGenerousWhereItCannotTell) {
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
TEST(Audit, WhereThePoolIsNotKnownNothingIsHeldAgainstTheNode) {
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

TEST(Audit, WhileARollOutIsUnderWayEveryRevisionInForceCounts) {
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
  EXPECT_EQ(threshold({live, {}}), 90) << "nobody can tell: the most generous that is kept";
  stored["state"] = "{no JSON";
  EXPECT_EQ(threshold({live, {}}), 90);
  stored.clear();
  EXPECT_EQ(threshold({"{no JSON", {}}), -1);
}

}  // namespace
}  // namespace tidemark::cli
