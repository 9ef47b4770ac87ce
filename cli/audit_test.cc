// The auditor by numbers written down by hand.
#include "cli/audit.h"

#include <gtest/gtest.h>

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
  return *AuditSettings::read(colocation, ours);
}
AuditSight sight(std::string_view batch_cpu, std::string_view more = "", base::Duration age = 10s) {
  const Json metric = metric_json(age);
  return sight_of(node_json(batch_cpu, more), &metric, {}, settings());
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
  EXPECT_TRUE(gentle.gentle);
  EXPECT_EQ(gentle.cpu_threshold_percent, 85);
  EXPECT_FALSE(AuditSettings::read("{", std::nullopt));
}

}  // namespace
}  // namespace tidemark::cli
