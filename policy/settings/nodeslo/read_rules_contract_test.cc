// Holds the reading of a NodeSLO to contract 3.2 and 4.4.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/testing/source_dir.h"
#include "base/text.h"
#include "policy/protect/node_rules.h"
#include "policy/settings/nodeslo/nodeslo.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::policy::settings {
namespace {

protect::NodeRules rules_of(std::string_view spec) {
  auto step = next_node_rules({}, spec);
  for (const auto& each : step.problems) ADD_FAILURE() << each.part << ": " << each.why;
  return step.rules;
}
protect::NodeRules heard(protect::NodeRules rules) {
  rules.heard = true;
  return rules;
}

// "resource threshold: enable=false, 65, cpuset, 70, evictByRealLimit"; "cpu burst: none, 1000, 300, −1, 50".
TEST(NodeRules, WithoutASpecTheAgentsDefaultsHold) {
  const protect::NodeRules rules = next_node_rules({}, std::nullopt).rules;
  EXPECT_EQ(rules, protect::NodeRules());
  EXPECT_FALSE(rules.heard);
  EXPECT_FALSE(rules.threshold.enable);
  EXPECT_EQ(rules.threshold.cpu_suppress_percent, 65);
  EXPECT_EQ(rules.threshold.cpu_suppress_min_percent, std::nullopt);
  EXPECT_EQ(rules.threshold.cpu_suppress_policy, protect::SuppressPolicy::kCpuset);
  EXPECT_EQ(rules.threshold.memory_evict_percent, 70);
  EXPECT_EQ(rules.threshold.cpu_evict_policy, protect::CpuEvictPolicy::kByRealLimit);
  EXPECT_EQ(rules.burst.policy, protect::BurstPolicy::kNone);
  EXPECT_EQ(rules.burst.cpu_burst_percent, 1000);
  EXPECT_EQ(rules.burst.quota_burst_percent, 300);
  EXPECT_EQ(rules.burst.quota_burst_period_s, -1);
  EXPECT_EQ(rules.burst.share_pool_percent, 50);
  EXPECT_EQ(rules.qos.cpu_policy, protect::CpuQosPolicy::kGroupIdentity);
  EXPECT_EQ(rules.qos.network_policy, protect::NetworkQosPolicy::kTc);
  EXPECT_EQ(rules.mode_of(model::Strategy::kCpuSuppress), model::Mode::kEnforce);
  for (const char* nothing : {"", "  ", "{}", "null", R"({"resourceQOSStrategy":{}})", R"({"cpuBurstStrategy":null})",
                              R"({"extensions":{"Object":{}}})"}) {
    EXPECT_EQ(rules_of(nothing), heard(protect::NodeRules())) << nothing;
  }
}

TEST(NodeRules, ManagerOutputWithoutSettingsEqualsTheDefaults) {
  EXPECT_EQ(rules_of(slo_spec_json(slo_for(SloConfig(), {}, std::nullopt))), heard(protect::NodeRules()));
}

// "only present (non-empty) leaf fields override; … an explicit 0/false in a pointer field does override; an explicit
// empty string … does not".
TEST(NodeRules, PresentFieldsOverrideDefaults) {
  const protect::NodeRules rules =
      rules_of(R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":0,
      "cpuSuppressMinPercent":10,"cpuSuppressPolicy":"cfsQuota","memoryEvictThresholdPercent":null,"cpuEvictPolicy":"",
      "evictEnabledPriorityThreshold":-1,"cpuEvictTimeWindowSeconds":60,"whatever":[]},
      "cpuBurstStrategy":{"policy":"cfsQuotaBurstOnly","cfsQuotaBurstPeriodSeconds":0},
      "systemStrategy":{"minFreeKbytesFactor":100,"schedFeatures":{"A":true,"B":false},"pageCacheLimitEnabled":1,
                        "totalNetworkBandwidth":"10G"}})");
  protect::NodeRules wanted = heard({});
  wanted.threshold.enable = true;
  wanted.threshold.cpu_suppress_percent = 0;
  wanted.threshold.cpu_suppress_min_percent = 10;
  wanted.threshold.cpu_suppress_policy = protect::SuppressPolicy::kCfsQuota;
  wanted.threshold.evict_priority = -1;
  wanted.threshold.cpu_evict_window_s = 60;
  wanted.burst.policy = protect::BurstPolicy::kQuotaBurst;
  wanted.burst.quota_burst_period_s = 0;
  wanted.system.min_free_kbytes_factor = 100;
  wanted.system.sched_features = {{"A", true}, {"B", false}};
  wanted.system.page_cache_limit_enabled = 1;
  wanted.system.network_bandwidth = 10'000'000'000;
  EXPECT_EQ(rules, wanted);
}

// The table of contract 4.4, of classes that are switched on and say nothing else.
TEST(NodeRules, TheTableOfClasses) {
  std::string spec = R"({"resourceQOSStrategy":{)";
  for (const char* name : {"lsrClass", "lsClass", "beClass", "systemClass"}) {
    spec += base::cat(spec.back() == '}' ? "," : "", "\"", name,
                      R"(":{"cpuQOS":{"enable":true},"memoryQOS":{"enable":true},"resctrlQOS":{"enable":true}})");
  }
  const protect::QosRules qos = rules_of(spec + "}}").qos;
  struct Row {
    const protect::ClassQos* rules;
    protect::CpuQos cpu;
    protect::ResctrlQos resctrl;
    std::int64_t wmark_ratio, wmark_scale, wmark_adj;
  };
  const protect::CpuQos online{true, 2, 0, true};
  for (const Row& row :
       {Row{&qos.lsr, online, {true, 0, 100, 100}, 95, 20, -25}, Row{&qos.ls, online, {true, 0, 100, 100}, 95, 20, -25},
        Row{&qos.be, {true, -1, 0, false}, {true, 0, 30, 100}, 95, 20, 50},
        Row{&qos.system, {true, 0, 0, false}, {true, 0, 100, 100}, 0, 50, 0}}) {
    protect::MemoryQos memory;
    memory.enable = true;
    memory.wmark_ratio = row.wmark_ratio;
    memory.wmark_scale_permill = row.wmark_scale;
    memory.wmark_min_adj = row.wmark_adj;
    EXPECT_EQ(row.rules->cpu, row.cpu);
    EXPECT_EQ(row.rules->resctrl, row.resctrl);
    EXPECT_EQ(row.rules->memory, memory);
    EXPECT_EQ(row.rules->network, protect::NetworkQos());
    EXPECT_EQ(row.rules->blkio, protect::BlkioQos());
  }
}

// "After merging, for LSR/LS/BE any of cpuQOS/resctrlQOS/memoryQOS with enable:false is replaced by the "none" set (so
// disabling actively resets). SYSTEM is not replaced. Network and blkio are not replaced."
TEST(NodeRules, ResetsDisabledFeatures) {
  const std::string said = R"({"cpuQOS":{"groupIdentity":2,"coreExpeller":true},"memoryQOS":{"minLimitPercent":50,
      "wmarkRatio":80,"pageCacheEnable":true},"resctrlQOS":{"catRangeEndPercent":20,"mbaPercent":10},
      "networkQOS":{"egressLimit":40},"blkioQOS":{"blocks":[{"name":"sda","ioCfg":{"readIOPS":7}}]}})";
  const protect::QosRules qos =
      rules_of(base::cat(R"({"resourceQOSStrategy":{"beClass":)", said, R"(,"systemClass":)", said, "}}")).qos;
  EXPECT_EQ(qos.be.cpu, protect::CpuQos());
  EXPECT_EQ(qos.be.memory, protect::MemoryQos());
  EXPECT_EQ(qos.be.resctrl, (protect::ResctrlQos{false, 0, 100, 100}));
  EXPECT_EQ(qos.system.cpu, (protect::CpuQos{false, 2, 0, true}));
  EXPECT_EQ(qos.system.memory.min_limit_percent, 50);
  EXPECT_EQ(qos.system.memory.page_cache_enable, true);
  EXPECT_EQ(qos.system.resctrl, (protect::ResctrlQos{false, 0, 20, 10}));
  for (const protect::ClassQos* each : {&qos.be, &qos.system}) {
    EXPECT_EQ(each->network.egress_limit, (protect::NetworkShare{40, std::nullopt}));
    ASSERT_EQ(each->blkio.blocks.size(), 1U);
    EXPECT_EQ(each->blkio.blocks[0].io.read_iops, 7);
  }
}

TEST(NodeRules, SharesAndBlocks) {
  const protect::QosRules qos =
      rules_of(R"({"resourceQOSStrategy":{"policies":{"cpuPolicy":"coreSched","netQOSPolicy":""},
      "lsClass":{"networkQOS":{"enable":true,"ingressRequest":20,"ingressLimit":"50M"}},
      "cgroupRoot":{"blkioQOS":{"enable":true,"blocks":[null,{"name":"vg","type":"volumegroup",
                    "ioCfg":{"enableUserModel":true,"modelReadBPS":9}}]}}}})")
          .qos;
  EXPECT_EQ(qos.cpu_policy, protect::CpuQosPolicy::kCoreSched);
  EXPECT_EQ(qos.network_policy, protect::NetworkQosPolicy::kTc);
  EXPECT_EQ(qos.ls.network.ingress_request, (protect::NetworkShare{20, std::nullopt}));
  EXPECT_EQ(qos.ls.network.ingress_limit, (protect::NetworkShare{0, 50'000'000}));
  ASSERT_EQ(qos.root.blkio.blocks.size(), 1U);
  EXPECT_EQ(qos.root.blkio.blocks[0].kind, protect::BlockKind::kVolumeGroup);
  EXPECT_EQ(qos.root.blkio.blocks[0].io.user_model, true);
  EXPECT_EQ(qos.root.blkio.blocks[0].io.model_read_bytes_per_s, 9);
}

TEST(NodeRules, KeepsTheOldValueOfAnUnreadablePart) {
  const protect::NodeRules good =
      rules_of(R"({"resourceUsedThresholdWithBE":{"enable":true},"cpuBurstStrategy":{"policy":"auto"},
      "systemStrategy":{"watermarkScaleFactor":30},"resourceQOSStrategy":{"beClass":{"cpuQOS":{"enable":true}}}})");
  struct Case {
    const char* spec;
    const char* part;
  };
  for (const Case& each :
       {Case{R"({"resourceUsedThresholdWithBE":{"enable":"yes"}})", "resourceUsedThresholdWithBE"},
        Case{R"({"resourceUsedThresholdWithBE":[]})", "resourceUsedThresholdWithBE"},
        Case{R"({"cpuBurstStrategy":{"cpuBurstPercent":1.5}})", "cpuBurstStrategy"},
        Case{R"({"systemStrategy":{"totalNetworkBandwidth":"much"}})", "systemStrategy"},
        Case{R"({"resourceQOSStrategy":{"beClass":{"networkQOS":{"egressLimit":"much"}}}})", "resourceQOSStrategy"}}) {
    const auto step = next_node_rules(good, each.spec);
    ASSERT_EQ(step.problems.size(), 1U) << each.spec;
    EXPECT_EQ(step.problems[0].part, each.part);
    protect::NodeRules wanted;  // the other parts are not given any more
    wanted.heard = true;
    const std::string_view part = each.part;
    if (part == "resourceUsedThresholdWithBE") wanted.threshold = good.threshold;
    if (part == "cpuBurstStrategy") wanted.burst = good.burst;
    if (part == "systemStrategy") wanted.system = good.system;
    if (part == "resourceQOSStrategy") wanted.qos = good.qos;
    EXPECT_EQ(step.rules, wanted) << each.spec;
  }
  for (const char* text : {"{", "[]", "5"}) {
    const auto step = next_node_rules(good, text);
    ASSERT_EQ(step.problems.size(), 1U) << text;
    EXPECT_EQ(step.problems[0].part, "spec");
    EXPECT_EQ(step.rules, good);
  }
  EXPECT_EQ(next_node_rules(good, std::nullopt).rules, protect::NodeRules()) << "there is no object any more";
}

TEST(NodeRules, ReplacesAnUnknownWordByTheDefaultAndReportsIt) {
  const auto step = next_node_rules(
      {},
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsquota"},"cpuBurstStrategy":{"policy":"on"}})");
  EXPECT_TRUE(step.rules.threshold.enable) << "the rest of the part holds";
  EXPECT_EQ(step.rules.threshold.cpu_suppress_policy, protect::SuppressPolicy::kCpuset);
  EXPECT_EQ(step.rules.burst.policy, protect::BurstPolicy::kNone);
  ASSERT_EQ(step.problems.size(), 2U);
  EXPECT_EQ(step.problems[0].why,
            "cpuSuppressPolicy: wanted one of cpuset, cfsQuota, idle, found \"cfsquota\"; it counts as cpuset");
}

TEST(NodeRules, ListsAreBounded) {
  std::string blocks;
  for (std::size_t i = 0; i <= protect::kBlocksMax; ++i) blocks += blocks.empty() ? "{}" : ",{}";
  const std::string many = base::cat(R"({"resourceQOSStrategy":{"beClass":{"blkioQOS":{"blocks":[)", blocks, "]}}}}");
  EXPECT_EQ(next_node_rules({}, many).problems.size(), 1U);
  std::string features;
  for (std::size_t i = 0; i <= protect::kSchedFeaturesMax; ++i) {
    features += base::cat(features.empty() ? "" : ",", "\"F", i, "\":true");
  }
  EXPECT_EQ(next_node_rules({}, base::cat(R"({"systemStrategy":{"schedFeatures":{)", features, "}}}")).problems.size(),
            1U);
}

TEST(NodeRules, ReadsTheTidemarkExtension) {
  const std::string observe = R"({"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"modes":{"default":"observe",
      "cpuSuppress":"enforce"},"classes":[{"name":"spark","order":30}]}}}}})";
  const protect::NodeRules told = rules_of(observe);
  ASSERT_TRUE(told.word);
  EXPECT_EQ(told.mode_of(model::Strategy::kCpuSuppress), model::Mode::kEnforce);
  EXPECT_EQ(told.mode_of(model::Strategy::kBatchLimits), model::Mode::kObserve);
  EXPECT_EQ(told.word->classes.size(), 1U);

  const std::string newer = R"({"extensions":{"Object":{"tidemark":{"schema":2,"agent":{}}}}})";
  const auto kept = next_node_rules(told, newer);
  EXPECT_EQ(kept.rules.word, told.word) << "the last good one stays";
  ASSERT_EQ(kept.problems.size(), 1U);
  EXPECT_EQ(kept.problems[0].part, "extensions.Object.tidemark");
  // A stand-in for the peer goes on enforcing; an agent that has just started does not do what it does not understand.
  EXPECT_EQ(next_node_rules(rules_of("{}"), newer).rules.word, std::nullopt);
  const protect::NodeRules fresh = next_node_rules({}, newer).rules;
  for (const auto each : model::kStrategies) EXPECT_EQ(fresh.mode_of(each), model::Mode::kObserve);
  EXPECT_EQ(next_node_rules(fresh, newer).rules, fresh);
  // Taken away by the manager: the switches of the parts decide again.
  EXPECT_EQ(next_node_rules(fresh, "{}").rules.word, std::nullopt);
}

// policy/evict/budget/grants.h: a grant comes with or without a word, and one that cannot be read takes nothing back.
TEST(NodeRules, AGrantOfEvictions) {
  const std::string_view kGranted =
      R"({"extensions":{"Object":{"tidemark":{"schema":1,"evictions":{"perHour":3,"until":"2026-11-22T20:00:00Z"}}}}})";
  const protect::NodeRules granted = rules_of(std::string(kGranted));
  EXPECT_EQ(granted.word, std::nullopt);
  ASSERT_TRUE(granted.grant);
  EXPECT_EQ(granted.grant->now, (model::EvictionGrant{3, *base::parse_rfc3339("2026-11-22T20:00:00Z")}));
  const auto kept = next_node_rules(granted, R"({"extensions":{"Object":{"tidemark":{"schema":1,"evictions":{}}}}})");
  EXPECT_EQ(kept.rules.grant, granted.grant);
  ASSERT_EQ(kept.problems.size(), 1U);
  EXPECT_EQ(kept.problems[0].part, "extensions.Object.tidemark.evictions");
  EXPECT_EQ(next_node_rules(granted, "{}").rules.grant, std::nullopt) << "taken away by the manager";
}

// policy/settings/nodeslo/told.h: an order of the manager, which comes with or without a word and holds whether a part
// is
// enabled or not. One that cannot be read removes none.
TEST(NodeRules, ReadsReclaims) {
  const std::string_view kTold =
      R"({"extensions":{"Object":{"tidemark":{"schema":1,"reclaim":{"generation":7,"classes":[
          {"class":"transcode","amount":{"kubernetes.io/batch-cpu":"4800","kubernetes.io/batch-memory":"0"},
           "keep":{"kubernetes.io/batch-cpu":"7200","kubernetes.io/batch-memory":"40Gi"},"reason":"TM-LEDGER-009"},
          {"class":"","amount":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"},
           "keep":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"},"reason":"TM-STATE-027"}]}}}}})";
  const protect::NodeRules told = rules_of(std::string(kTold));
  EXPECT_FALSE(told.threshold.enable);
  ASSERT_EQ(told.reclaim.size(), 2U);
  EXPECT_EQ(told.reclaim[0].work_class, "transcode");
  EXPECT_EQ(told.reclaim[0].keep, (model::Resources{{7200}, {std::int64_t{40} << 30}}));
  EXPECT_EQ(told.reclaim[0].reason, "TM-LEDGER-009");
  EXPECT_EQ(told.reclaim[1].work_class, "");
  for (const char* unreadable : {R"({"generation":8,"classes":[{"class":"spark"}]})", R"({"classes":[]})", R"([])"}) {
    const auto kept = next_node_rules(
        told, base::cat(R"({"extensions":{"Object":{"tidemark":{"schema":1,"reclaim":)", unreadable, "}}}}"));
    EXPECT_EQ(kept.rules, told) << unreadable;
    ASSERT_EQ(kept.problems.size(), 1U) << unreadable;
    EXPECT_EQ(kept.problems[0].part, "extensions.Object.tidemark.reclaim");
  }
  const protect::NodeRules over =
      next_node_rules(told,
                      R"({"extensions":{"Object":{"tidemark":{"schema":1,"reclaim":{"generation":8,"classes":[]}}}}})")
          .rules;
  EXPECT_TRUE(over.reclaim.empty()) << "over";
  EXPECT_TRUE(next_node_rules(told, "{}").rules.reclaim.empty()) << "taken away by the manager";
  EXPECT_TRUE(next_node_rules(told, std::nullopt).rules.reclaim.empty()) << "there is no object any more";
}

// Eight specs that the peer's manager wrote on a real API server.
TEST(NodeRules, ReadsAllFieldsOfKoordinatorSpecs) {
  std::ifstream file(base::testing::from_root("tests/golden/nodeslo/expected.json"));
  std::stringstream text;
  text << file.rdbuf();
  const auto specs = Json::parse(text.str());
  ASSERT_TRUE(specs.has_value());
  ASSERT_EQ(specs->as_object().size(), 8U);
  for (const auto& [node, spec] : specs->as_object()) {
    EXPECT_TRUE(next_node_rules({}, spec.dump()).problems.empty()) << node;
  }
}

std::string without_effect_of(std::string_view spec) {
  return protect::without_effect_text(next_node_rules({}, spec).rules);
}

TEST(SettingsWithoutEffect, DefaultsOfTheManagerAreNotSet) {
  EXPECT_EQ(without_effect_of(""), "");
  EXPECT_EQ(without_effect_of(R"({"cpuBurstStrategy":{"policy":"none"},
      "resourceQOSStrategy":{"beClass":{"memoryQOS":{"enable":false},"resctrlQOS":{"enable":false}}},
      "systemStrategy":{"minFreeKbytesFactor":100,"watermarkScaleFactor":150,"memcgReapBackGround":0}})"),
            "");
}

TEST(SettingsWithoutEffect, SettingsThatTheAgentCarriesOutAreNotNamed) {
  EXPECT_EQ(without_effect_of(R"({"resourceUsedThresholdWithBE":{"enable":true},
      "resourceQOSStrategy":{"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2,"coreExpeller":true}}}})"),
            "");
}

TEST(SettingsWithoutEffect, NamesEachPartThatIsSet) {
  EXPECT_EQ(without_effect_of(R"({"cpuBurstStrategy":{"policy":"auto"},
      "resourceQOSStrategy":{
        "lsrClass":{"memoryQOS":{"enable":true}},
        "beClass":{"resctrlQOS":{"enable":true},"networkQOS":{"enable":true},"blkioQOS":{"enable":true}},
        "cgroupRoot":{"blkioQOS":{"enable":true}}},
      "systemStrategy":{"watermarkScaleFactor":200,"schedFeatures":{"ID_BALANCE":true}}})"),
            "set, without effect with Tidemark's agent: cpuBurstStrategy, resourceQOSStrategy.lsrClass.memoryQOS, "
            "resourceQOSStrategy.beClass.blkioQOS, resourceQOSStrategy.beClass.resctrlQOS, "
            "resourceQOSStrategy.beClass.networkQOS, resourceQOSStrategy.cgroupRoot.blkioQOS, "
            "systemStrategy.watermarkScaleFactor, systemStrategy.schedFeatures");
}

}  // namespace
}  // namespace tidemark::policy::settings
