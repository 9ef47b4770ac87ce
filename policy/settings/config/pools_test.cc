#include "policy/waterline/pools.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/source_dir.h"
#include "base/text.h"
#include "policy/sell/ledger/over_report.h"
#include "policy/settings/config/parse.h"
#include "policy/settings/nodeslo/layer.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using model::Label;
using model::Reason;
using namespace std::chrono_literals;

const waterline::Zones& zones() {
  static const waterline::Zones kUtcOnly;
  return kUtcOnly;
}

waterline::TidemarkConfig pools_must(std::string_view text) {
  auto config = parse_tidemark_config(text, zones());
  EXPECT_TRUE(config.has_value()) << text << "\n" << (config ? "" : to_string(config.error()));
  return config ? std::move(*config) : waterline::TidemarkConfig();
}

std::string refusal(std::string_view text) {
  const auto config = parse_tidemark_config(text, zones());
  return config ? "" : to_string(config.error());
}

constexpr std::string_view kPools = R"(
schema: 1
mode: observe
pools:
- name: night
  nodeSelector: {matchLabels: {stage: night}}
  business: search
  mode: enforce
  profile: tidemark
- name: canary
  nodeSelector:
    matchExpressions:
    - {key: stage, operator: In, values: [canary, night]}
  canary: true
  mode: {capacity: enforce}
)";

TEST(TidemarkConfigText, PoolsInheritTheDefaults) {
  const auto config = pools_must(kPools);
  EXPECT_EQ(config.rest.name, "default");
  EXPECT_EQ(config.rest.modes,
            (model::PoolModes{
                model::Mode::kObserve, model::Mode::kObserve, {model::Mode::kObserve, {}}, model::Mode::kObserve}));
  ASSERT_EQ(config.pools.size(), 2U);
  const model::Pool& night = config.pools[0];
  EXPECT_EQ(night.name, "night");
  EXPECT_EQ(night.business, "search");
  EXPECT_EQ(night.modes, model::PoolModes());
  EXPECT_EQ(night.profile, model::Profile::kTidemark);
  EXPECT_FALSE(night.canary);
  const model::Pool& canary = config.pools[1];
  EXPECT_EQ(canary.modes,
            (model::PoolModes{
                model::Mode::kEnforce, model::Mode::kObserve, {model::Mode::kObserve, {}}, model::Mode::kObserve}));
  EXPECT_EQ(canary.profile, model::Profile::kKoordinator);
  EXPECT_TRUE(canary.canary);
  EXPECT_EQ(config.rollout, waterline::RolloutSettings());
  EXPECT_TRUE(config.classes.empty());
}

TEST(TidemarkConfigText, JsonIsYamlToo) {
  EXPECT_EQ(
      pools_must(R"({"schema": 1, "mode": "enforce", "rollout": {"nodesPerMinute": 7}})").rollout.nodes_per_minute, 7);
}

TEST(TidemarkConfigText, RolloutAndClasses) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
rollout:
  pace: staged
  nodesPerMinute: 120
  canarySoak: 30m
  stopOnEvictions: {watched: false, window: 10m, atLeast: 3, factorPercent: 200}
classes:
- {name: spark, order: 30, restartCost: 2m, cpuWeight: 60, memoryLowPercent: 25}
- {name: transcode, order: 10, checkpointing: true}
)");
  EXPECT_EQ(config.rollout, (waterline::RolloutSettings{true, 120, 30min, {false, 10min, 3, 200}}));
  ASSERT_EQ(config.classes.size(), 2U);
  EXPECT_EQ(config.classes[0], (model::WorkClass{"transcode", 10, 0s, true, 100}));
  EXPECT_EQ(config.classes[1], (model::WorkClass{"spark", 30, 2min, false, 60, 25}));
  EXPECT_FALSE(pools_must("schema: 1\nmode: enforce\nrollout: {pace: at-once}").rollout.staged);
}

TEST(TidemarkConfigText, EvictionsOfAllPoolsAndOfOne) {
  const auto config = parse_tidemark_config(R"(
schema: 1
mode: enforce
evictions: {perJobHour: 5, breaker: {atLeast: 30, window: 5m}}
pools:
- {name: night, nodeSelector: {}, evictions: {perPoolHour: 600, grants: true, backOff: 90s, breaker: {ratePercent: 20, coolDown: 1h}, node: {diskFreePercent: 20, inodesFreePercent: 10, yarn: preempt}}}
- {name: rough, nodeSelector: {matchLabels: {a: b}}, evictions: {perNodeHour: 7, breaker: {watched: false}}}
)",
                                            waterline::Zones());
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  using std::chrono::hours, std::chrono::minutes;
  EXPECT_EQ(config->rest.budget,
            (model::BudgetSettings{5, std::nullopt, false, {true, minutes(5), 30, 10, minutes(30)}, std::nullopt}));
  EXPECT_EQ(config->pools[0].budget,
            (model::BudgetSettings{5, 600, true, {true, minutes(5), 30, 20, hours(1)}, std::chrono::seconds(90)}));
  EXPECT_EQ(model::back_off_of(config->pools[0]), std::chrono::seconds(90));
  model::Pool ours = config->rest;
  ours.profile = model::Profile::kTidemark;
  EXPECT_EQ(model::back_off_of(ours), model::kBackOff);
  EXPECT_EQ(model::back_off_of(waterline::drop_in().rest), base::Duration(0)) << "the peer has none";
  EXPECT_EQ(waterline::node_evictions_of(waterline::drop_in().rest), model::kEvictionsPerHourMax)
      << "the peer has no limit";
  ours.budget.grants = false;
  EXPECT_EQ(waterline::node_evictions_of(ours), model::kNodeEvictionsPerHour);
  ours.budget.grants = true;
  EXPECT_EQ(waterline::node_evictions_of(ours), model::kUngrantedEvictionsPerHour)
      << "or the grants would not add up to perPoolHour";
  EXPECT_EQ(config->pools[1].budget.node_per_hour, 7);
  EXPECT_EQ(config->pools[0].budget.node_per_hour, std::nullopt);
  EXPECT_EQ(waterline::node_evictions_of(config->pools[1]), 7);
  EXPECT_FALSE(config->pools[1].budget.breaker.watched);
  model::EvictSettings night{std::chrono::seconds(30), std::nullopt, 20, 10};
  night.yarn_by_class = false;
  EXPECT_EQ(config->pools[0].evict, night);
  EXPECT_EQ(config->pools[1].evict, model::EvictSettings()) << "no line is drawn by itself";
  EXPECT_FALSE(waterline::drop_in().rest.budget.breaker.watched) << "a stand-in sells what the peer would";
  const auto wrong = parse_tidemark_config(R"(
schema: 1
mode: enforce
evictions: {perJobHour: 0, perNodeHour: 1025, perPoolHour: -1, backOff: 2h, breaker: {window: 2h, atLeast: 0, ratePercent: 100, coolDown: 1s, on: true}, node: {diskFreePercent: 91, inodesFreePercent: 0, yarn: newest}}
)",
                                           waterline::Zones());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().size(), 12U) << to_string(wrong.error());
  EXPECT_TRUE(to_string(wrong.error()).contains("evictions.perNodeHour: wanted a whole number in 1..1024, found 1025"))
      << to_string(wrong.error());
}

TEST(TidemarkConfigText, ArbitrationIsThePoolsAndGoesWithItsProfile) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
arbitrate: {taint: false, overAfter: 5m}
pools:
- {name: night, nodeSelector: {matchLabels: {a: a}}, profile: tidemark, arbitrate: {taint: true, tolerancePermille: 0}}
- {name: rough, nodeSelector: {matchLabels: {a: b}}, profile: tidemark, arbitrate: {enabled: false}}
- {name: peers, nodeSelector: {matchLabels: {a: c}}, arbitrate: {enabled: true}}
)");
  EXPECT_EQ(config.rest.arbitrate, (model::ArbitrateSettings{std::nullopt, false, 20, 5min}));
  EXPECT_EQ(config.pools[0].arbitrate, (model::ArbitrateSettings{std::nullopt, true, 0, 5min}));
  const auto on = [](const model::Pool& pool) { return pool.arbitrate.on(pool.profile); };
  EXPECT_FALSE(on(config.rest)) << "the peer has nothing of the kind";
  EXPECT_TRUE(on(config.pools[0]));
  EXPECT_FALSE(on(config.pools[1]));
  EXPECT_TRUE(on(config.pools[2]));
  const std::string wrong = refusal(R"(
schema: 1
mode: enforce
arbitrate: {enabled: yes please, taint: 1, tolerancePermille: 1001, overAfter: 0s, taints: true}
)");
  for (const char* place :
       {"arbitrate.enabled", "arbitrate.taint", "arbitrate.tolerancePermille", "arbitrate.overAfter", "taints"}) {
    EXPECT_NE(wrong.find(place), std::string::npos) << place << "\n" << wrong;
  }
}

TEST(TidemarkConfigText, DrainEvictionIsSetPerPool) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
drain: {yarn: end}
pools:
- {name: night, nodeSelector: {matchLabels: {a: a}}}
- {name: long, nodeSelector: {matchLabels: {a: b}}, drain: {yarn: keep}}
)");
  EXPECT_FALSE(waterline::drop_in().rest.ends_yarn_work);
  EXPECT_TRUE(config.rest.ends_yarn_work);
  EXPECT_TRUE(config.pools[0].ends_yarn_work);
  EXPECT_FALSE(config.pools[1].ends_yarn_work);
  const std::string wrong = refusal("schema: 1\nmode: enforce\ndrain: {yarn: kill, pods: end}\n");
  for (const char* place : {"drain.yarn", "pods"}) EXPECT_NE(wrong.find(place), std::string::npos) << wrong;
}

TEST(TidemarkConfigText, PoolNodeSloOverridesTheDocuments) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
nodeSlo:
  resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 60, memoryEvictThresholdPercent: 75, memoryEvictLowerPercent: 70}
pools:
- name: night
  nodeSelector: {matchLabels: {stage: night}}
  nodeSlo: {resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 50}, systemStrategy: {watermarkScaleFactor: 200}}
- {name: day, nodeSelector: {}}
)");
  const auto shown = [](const model::Pool& pool) { return slo_layer_json(pool.nodeslo).dump(); };
  EXPECT_EQ(
      shown(config.rest),
      R"({"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":60,"memoryEvictThresholdPercent":75,"memoryEvictLowerPercent":70}})");
  EXPECT_EQ(
      shown(config.pools[0]),
      R"({"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":50,"memoryEvictThresholdPercent":75,"memoryEvictLowerPercent":70},)"
      R"("systemStrategy":{"watermarkScaleFactor":200}})");
  EXPECT_EQ(shown(config.pools[1]), shown(config.rest));
  EXPECT_EQ(refusal("schema: 1\nmode: enforce\nnodeSlo: {resourceUsedThresholdWithBe: {enable: true}}"),
            "nodeSlo.\"resourceUsedThresholdWithBe\": unknown setting; did you mean resourceUsedThresholdWithBE?");
}

TEST(TidemarkConfigText, ReportsAllProblemsAtOnceWithPlaces) {
  EXPECT_EQ(refusal(R"(
schema: 1
mode: on
pool: []
pools:
- name: night
  nodeSelector: {matchLabel: {a: b}}
  modes: observe
- name: Night
  nodeSelector: {}
  canary: yes
- name: night
  business: "a b"
rollout: {nodesPerMinute: 0, canarySoak: 10, stopOnEvictions: {window: 2h}}
classes:
- {name: a, cpuWeight: 0}
- {name: b, order: 1, memoryLowPercent: 101}
- {name: c, order: 1}
)"),
            R"(classes[0] (a).order: missing: a number is required; the class with the lowest is reclaimed first
classes[0] (a).cpuWeight: wanted a whole number in 1..10000, found 0
classes[1] (b).memoryLowPercent: wanted a whole number in 0..100, found 101
classes[2] (c).order: classes[1] has the same order; orders must differ
mode: wanted observe or enforce, found "on"
pools[0] (night).nodeSelector."matchLabel": unknown setting; did you mean matchLabels?
pools[0] (night)."modes": unknown setting; did you mean mode?
pools[1].name: wanted up to 63 lower-case letters, digits or '-', with a letter or digit at both ends, found "Night"
pools[1].canary: wanted true or false, found "yes"
pools[2] (night).name: pools[0] has the same name
pools[2] (night).nodeSelector: missing: required; {} takes all nodes that the pools before it leave
pools[2] (night).business: wanted what a label can hold (up to 63 letters, digits, '-', '_' or '.'), found "a b"
rollout.nodesPerMinute: wanted a whole number in 1..100000, found 0
rollout.canarySoak: wanted a duration like "90s" or "10m" in 0s..168h0m0s, found 10
rollout.stopOnEvictions.window: wanted a duration like "90s" or "10m" in 10s..1h0m0s, found "2h"
"pool": unknown setting; did you mean pools?)");
}

TEST(TidemarkConfigText, RejectsUnknownFields) {
  EXPECT_EQ(refusal(""), "schema: missing: say schema: 1");
  EXPECT_EQ(refusal("{}"), "schema: missing: say schema: 1");
  EXPECT_EQ(refusal("schema: 2\nanything: goes"), "schema: this version reads schema 1, found 2");
  EXPECT_EQ(refusal("schema: 1"), "mode: missing: set observe or enforce, the default for pools without a mode");
  EXPECT_EQ(refusal("- 1"), "wanted settings by name, found [1]");
  EXPECT_NE(refusal("schema: [").find("line 1"), std::string::npos) << refusal("schema: [");
  EXPECT_NE(refusal("schema: 1\nschema: 1\nmode: observe").find("schema"), std::string::npos);
  EXPECT_NE(refusal(std::string(300 * 1024, ' ')).find("at most 262144"), std::string::npos);
}

TEST(TidemarkConfigText, LimitsTheNumberOfProblems) {
  std::string text = "schema: 1\nmode: observe\n";
  for (int i = 0; i < 50; ++i) text += cat("nonsense", i, ": 1\n");
  const auto config = parse_tidemark_config(text, zones());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().size(), waterline::Problems::kMax + 1);
  EXPECT_EQ(config.error().back().why, "and 30 more");
}

TEST(TidemarkConfigText, SelectorsAreHeldToKubernetesRules) {
  const auto wrong = [](std::string_view selector) {
    return refusal(cat("schema: 1\nmode: observe\npools:\n- name: a\n  nodeSelector: ", selector));
  };
  EXPECT_NE(wrong("{matchLabels: {a: 1}}").find("matchLabels.a: wanted a string"), std::string::npos);
  EXPECT_NE(wrong("{matchLabels: {\"a b\": c}}").find("label key"), std::string::npos);
  EXPECT_NE(wrong("{matchExpressions: [{key: a, operator: In}]}").find("In needs at least one value"),
            std::string::npos);
  EXPECT_NE(wrong("{matchExpressions: [{key: a, operator: Exists, value: [b]}]}").find("did you mean values?"),
            std::string::npos);
  EXPECT_NE(wrong("[]").find("nodeSelector"), std::string::npos);
  EXPECT_EQ(wrong("{}"), "");
}

TEST(TidemarkConfigText, TwoPoolsOfTheSameSelectorAreAMistake) {
  EXPECT_EQ(refusal(R"(
schema: 1
mode: observe
pools:
- {name: a, nodeSelector: {matchLabels: {x: y}}}
- {name: b, nodeSelector: {matchLabels: {x: y}}}
)"),
            "pools[1] (b).nodeSelector: the same as in pools[0], which takes all its nodes");
  EXPECT_NE(refusal("schema: 1\nmode: observe\npools: [{name: default, nodeSelector: {}}]"), "");
}

TEST(PoolOf, TheFirstThatMatchesElseTheRest) {
  const auto config = pools_must(kPools);
  const auto pool = [&](std::vector<Label> labels) { return waterline::pool_of(config, labels).name; };
  EXPECT_EQ(pool({{"stage", "night"}}), "night");
  EXPECT_EQ(pool({{"stage", "canary"}}), "canary");
  EXPECT_EQ(pool({{"stage", "day"}}), "default");
  EXPECT_EQ(pool({}), "default");
}

TEST(PoolOf, ReportsAnOverlapWithAnExample) {
  const auto config = pools_must(kPools);
  const std::vector<waterline::NodeLabels> nodes{{model::NodeName("n3"), {{"stage", "night"}}},
                                                 {model::NodeName("n1"), {{"stage", "night"}}},
                                                 {model::NodeName("n2"), {{"stage", "canary"}}},
                                                 {model::NodeName("n0"), {}}};
  const auto found = waterline::overlaps(config, nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].pool, "night");
  EXPECT_EQ(found[0].also, "canary");
  EXPECT_EQ(found[0].nodes, 2);
  EXPECT_EQ(found[0].example, model::NodeName("n1"));
  EXPECT_TRUE(waterline::overlaps(pools_must(cat(kPools, "- {name: rest, nodeSelector: {}}\n")), {}).empty());
  EXPECT_EQ(waterline::overlaps(pools_must(cat(kPools, "- {name: rest, nodeSelector: {}}\n")), nodes).size(), 1U)
      << "a last pool that takes the rest is no overlap";
}

// ---- what is in force ----

TEST(NextTidemarkConfig, MissingConfigUsesKoordinatorsSwitches) {
  const auto step = next_tidemark_config({}, {false, std::nullopt, {}}, zones());
  EXPECT_EQ(step.reason, Reason::kConfigDropIn);
  ASSERT_TRUE(step.state.config);
  EXPECT_EQ(step.state.config->rest.modes, model::PoolModes());
  EXPECT_FALSE(step.state.config->rollout.staged);
  EXPECT_FALSE(step.state.text);
}

TEST(NextTidemarkConfig, KeepsTheLastGoodOnRejectionOrLoss) {
  const auto good = next_tidemark_config({}, {true, kPools, {}}, zones());
  EXPECT_EQ(good.reason, Reason::kConfigApplied);
  EXPECT_EQ(good.state.text, kPools);
  for (const TidemarkSource& bad :
       {TidemarkSource{true, "schema: 9", {}}, TidemarkSource{true, std::nullopt, {}}, TidemarkSource{true, "", {}},
        TidemarkSource{true, std::nullopt, {"config.yml"}}, TidemarkSource{true, kPools, {"config.yml"}}}) {
    const auto step = next_tidemark_config(good.state, bad, zones());
    EXPECT_EQ(step.reason, Reason::kConfigInvalid);
    EXPECT_EQ(step.state.text, kPools);
    EXPECT_NE(step.problem, "");
    EXPECT_FALSE(next_tidemark_config({}, bad, zones()).state.config) << "never good: nothing is decided";
  }
  EXPECT_EQ(next_tidemark_config({}, {true, std::nullopt, {"config.yml"}}, zones()).problem,
            "missing key config.yaml; found config.yml");
  const auto gone = next_tidemark_config(good.state, {false, std::nullopt, {}}, zones());
  EXPECT_EQ(gone.reason, Reason::kConfigKept);
  EXPECT_EQ(gone.state.text, kPools);
}

constexpr std::string_view kOffers = R"(
schema: 1
mode: enforce
calendar: nights
ledger: {yarn: {minPercent: 20}}
calendars:
- name: nights
  zone: UTC
  lead: 1h
  holidays: {days: [2026-10-01], workdays: [2026-10-10]}
  entries:
  - {name: night, cron: "0 22 * * *", until: "0 7 * * *", cpu: 80, memory: 75, rampUp: 30m, on: workdays}
  - {name: sale, kind: freeze, from: 2026-11-10T18:00, to: 2026-11-12, priority: 3}
pools:
- name: plain
  nodeSelector: {}
  calendar: none
  ledger: {mode: strict, classAware: true, yarn: {maxPercent: 60, overReport: {cpuPercent: 120}}}
  motion: {slewPermillePerMinute: 50, hold: 2m}
)";

TEST(TidemarkConfigText, CalendarsLedgersAndMotion) {
  const auto config = pools_must(kOffers);
  ASSERT_EQ(config.calendars.size(), 1U);
  const waterline::Calendar& nights = config.calendars[0];
  EXPECT_EQ(nights.lead, 1h);
  EXPECT_TRUE(nights.holidays.rests(20'727));   // 2026-10-01
  EXPECT_FALSE(nights.holidays.rests(20'736));  // 2026-10-10, a Saturday that is worked
  ASSERT_EQ(nights.entries.size(), 2U);
  EXPECT_EQ(nights.entries[0].line, (waterline::LinePercent{80, 75}));
  EXPECT_EQ(nights.entries[0].on, waterline::OnDays::kWorkdays);
  EXPECT_EQ(nights.entries[0].ramp_up, 30min);
  EXPECT_EQ(nights.entries[1].kind, waterline::EntryKind::kFreeze);
  EXPECT_EQ(std::get<waterline::FixedDates>(nights.entries[1].when).to_local_s, 20'769LL * 86'400);

  EXPECT_EQ(config.rest.calendar, 0U);
  const model::Pool& plain = config.pools.at(0);
  EXPECT_EQ(plain.calendar, std::nullopt);
  EXPECT_EQ(plain.ledger.mode, model::LedgerMode::kStrict);
  EXPECT_EQ(plain.ledger.yarn.share_min_percent, 20) << "what the document says for all";
  EXPECT_EQ(plain.ledger.yarn.share_max_percent, 60);
  EXPECT_EQ(plain.ledger.yarn.over_report, (model::OverReport{120, 100}));
  EXPECT_EQ(plain.motion.slew_permille_per_minute, 50);
  EXPECT_EQ(plain.motion.hold, 2min);
}

TEST(TidemarkConfigText, OverReportByClassAndHour) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
ledger:
  yarn:
    overReport:
      cpuPercent: 110
      entries:
      - {class: spark, hours: 22-7, cpuPercent: 150}
      - {hours: 0-24, memoryPercent: 90}
pools:
- {name: same, nodeSelector: {matchLabels: {pool: same}}}
- {name: none, nodeSelector: {matchLabels: {pool: none}}, ledger: {yarn: {overReport: {entries: []}}}}
classes:
- {name: spark, order: 3}
- {name: training, order: 2}
)");
  const std::vector<model::OverReportEntry> wanted{{"spark", model::HourSpan{22, 7}, 150, std::nullopt, 1},
                                                   {"", model::HourSpan{0, 24}, std::nullopt, 90, 2}};
  EXPECT_EQ(config.rest.ledger.yarn.entries, wanted);
  EXPECT_EQ(config.pools[0].ledger.yarn.entries, wanted);
  EXPECT_TRUE(config.pools[1].ledger.yarn.entries.empty());
  const std::string told = refusal(R"(
schema: 1
mode: enforce
classes: [{name: spark, order: 3}]
ledger:
  kubernetes: {overReport: {entries: [{class: sparc, cpuPercent: 110}, {hours: 22, cpuPercent: 110}, {class: spark}]}}
  yarn: {overReport: {entries: [{hours: 7-7, cpuPercent: 110}, {hours: 7-25, cpuPercent: 301}, {hour: 1-2, cpuPercent: 110}]}}
)");
  for (const std::string_view part :
       {"ledger.kubernetes.overReport.entries[0].class: wanted spark, found \"sparc\"; did you mean spark?",
        "entries[1].hours: wanted a text", "entries[2].cpuPercent: missing: set cpuPercent",
        "ledger.yarn.overReport.entries[0].hours: wanted two hours of the day, as in 22-7",
        "entries[1].hours: wanted two hours", "entries[1].cpuPercent: wanted a whole number in 10..300, found 301",
        "entries[2].\"hour\": unknown setting; did you mean hours?"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << " is missing of\n" << told;
  }
}

TEST(OverReportHours, AreThoseOfTheWallAndEndWithTheHour) {
  const auto zone =
      *model::TimeZone::from_spans("Test/Half", {{std::numeric_limits<std::int64_t>::min(), 5 * 3600 + 1800}});
  const auto at = *base::parse_rfc3339("2026-11-21T18:10:00Z");  // 23:40 there
  EXPECT_EQ(sell::hour_of_day(zone, at), 23);
  EXPECT_EQ(sell::hour_left(zone, at), 20min);
  EXPECT_EQ(sell::hour_of_day(zone, at + 20min), 0);
  EXPECT_EQ(sell::hour_left(zone, at + 1ms), 20min - 1ms);
  EXPECT_TRUE((model::HourSpan{22, 7}.holds(23)));
  EXPECT_TRUE((model::HourSpan{22, 7}.holds(0)));
  EXPECT_FALSE((model::HourSpan{22, 7}.holds(7)));
  EXPECT_FALSE((model::HourSpan{7, 22}.holds(6)));
}

TEST(TidemarkConfigText, ProfilesAndPodsThatWarmUp) {
  const auto config = pools_must(R"(
schema: 1
mode: enforce
warmUp: 20m
profiles:
  sampleEvery: 1m
  storeEvery: 30m
  recommendations: {publish: true, marginPercent: 0, changePercent: 25, knownHours: 48, every: 5m}
pools:
- {name: cold, nodeSelector: {matchLabels: {pool: cold}}, warmUp: 0s}
- {name: same, nodeSelector: {matchLabels: {pool: same}}}
)");
  EXPECT_EQ(config.profiles, (waterline::ProfileSettings{true, 1min, 30min, {true, 0, 25, 48, 5min}}));
  EXPECT_EQ(config.rest.warm_up, 20min);
  EXPECT_EQ(config.pools[0].warm_up, 0s);
  EXPECT_EQ(config.pools[1].warm_up, 20min);
  EXPECT_TRUE(pools_must("schema: 1\nmode: enforce\n").profiles.learn);
  EXPECT_FALSE(pools_must("schema: 1\nmode: enforce\n").profiles.recommendations.publish);
  EXPECT_FALSE(waterline::drop_in().profiles.learn) << "nothing that the peer does not keep";
  const std::string told = refusal(
      "schema: 1\nmode: enforce\nwarmUp: 25h\n"
      "profiles: {learn: false, sampleEvery: 1ms, often: 1s, recommendations: {publish: true, knownHours: 200}}\n");
  for (const char* place :
       {"warmUp", "profiles.sampleEvery", "profiles.recommendations.knownHours", "profiles.learn", "often"}) {
    EXPECT_NE(told.find(place), std::string::npos) << place << " in\n" << told;
  }
}

TEST(TidemarkConfigText, ReportsCalendarProblemsWithPlaces) {
  EXPECT_EQ(
      refusal(R"(
schema: 1
mode: enforce
calendar: night
ledger: {kubernetes: {minPercent: 70}, yarn: {minPercent: 40}}
calendars:
- name: nights
  zone: Asia/Nowhere
  holidays: {days: [yesterday]}
  entries:
  - {name: a, cron: "0 25 * * *", for: 1h, cpu: 80}
  - {name: b, cron: "0 22 * * *", cpu: 101}
  - {name: c, from: 2026-11-12, to: 2026-11-11, cpu: 10}
  - {name: c, cron: "* * * * *", for: 1m}
  - {name: e, cron: "0 1 * * *", from: 2026-11-11, cpu: 1, rampup: 3m}
)"),
      R"(calendars[0] (nights).zone: unknown time zone "Asia/Nowhere"; use a name like Asia/Shanghai, and install the package tzdata
calendars[0] (nights).holidays.days[0]: wanted a date like 2026-10-01, found "yesterday"
calendars[0] (nights).entries[0] (a).cron: hour: wanted *, or numbers from 0 to 23 as in 1-5,8 or */2, found "25"
calendars[0] (nights).entries[1] (b).until: wanted either until (when it ends, like cron) or for (how long it lasts)
calendars[0] (nights).entries[1] (b).cpu: wanted a whole number in 0..100, found 101
calendars[0] (nights).entries[2] (c).to: ends before it begins
calendars[0] (nights).entries[3] (c).name: calendars[0] (nights).entries[2] has the same name
calendars[0] (nights).entries[3] (c).cron: begins 1440 times a day; at most 24
calendars[0] (nights).entries[3] (c).cpu: missing: set the water line of this window: cpu, memory or both, in percent
calendars[0] (nights).entries[4] (e).cron: wanted either cron with until or for (it recurs), or from and to (it happens once)
calendars[0] (nights).entries[4] (e)."rampup": unknown setting; did you mean rampUp?
calendar: wanted none or nights, found "night"; did you mean nights?
ledger.yarn.minPercent: kubernetes and yarn are guaranteed 110 % together)");
}

TEST(TidemarkConfigText, ACalendarThatIsNeverOrAllTheTimeIsRefused) {
  std::string text = "schema: 1\nmode: observe\ncalendars:\n- name: busy\n  zone: UTC\n  entries:\n";
  for (int i = 0; i < 17; ++i) text += base::cat("  - {name: e", i, ", cron: \"0 * * * *\", for: 30m, cpu: 80}\n");
  EXPECT_EQ(refusal(text), "calendars[0] (busy).entries: begin up to 408 times a day; at most 400");
  EXPECT_EQ(refusal("schema: 1\nmode: observe\ncalendars: [{name: a, zone: UTC, entries: [{name: leap, cron: \"0 0 30 "
                    "2 *\", for: 1h, "
                    "cpu: 80}]}]\n"),
            "calendars[0] (a).entries[0] (leap).cron: \"0 0 30 2 *\" never occurs: there is no such day");
}

TEST(TidemarkConfigText, ListsTheTimeZonesOfAText) {
  EXPECT_EQ(
      waterline::zone_names(
          "calendars: [{zone: Europe/Berlin}, {zone: Asia/Shanghai}, {zone: Europe/Berlin}, {zone: ../../etc/passwd}, "
          "{zone: /etc/passwd}, {zone: 3}, 7]"),
      (std::vector<std::string>{"Asia/Shanghai", "Europe/Berlin"}));
  EXPECT_TRUE(waterline::zone_names("calendars: {").empty());
  EXPECT_TRUE(waterline::zone_names("[]").empty());
}

TEST(TidemarkConfigText, TheGuidesExampleIsGood) {
  const auto bytes_of = [](const std::string& path) {
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  };
  const std::string guide = bytes_of(base::testing::from_root("docs/guide/water-line.md"));
  constexpr std::string_view kFence = "```yaml\n";
  const auto begin = guide.find(kFence);
  ASSERT_NE(begin, std::string::npos);
  const std::string text =
      guide.substr(begin + kFence.size(), guide.find("```", begin + kFence.size()) - begin - kFence.size());
  waterline::Zones all;
  for (const auto& name : waterline::zone_names(text)) {
    auto zone = model::TimeZone::parse(name, bytes_of("/usr/share/zoneinfo/" + name));
    ASSERT_TRUE(zone.has_value()) << name;
    all.add(*zone);
  }
  const auto config = parse_tidemark_config(text, all);
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  EXPECT_EQ(config->pools.size(), 2U);
  EXPECT_EQ(config->calendars.at(0).zone.name(), "Asia/Shanghai");
}

// The example of the guide is what a reader copies: it is read by the reader that it explains.
TEST(TidemarkConfigText, TheExampleOfEvictionsSaysTheDefaults) {
  std::ifstream file(base::testing::from_root("docs/guide/evictions.md"));
  const std::string guide{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto begin = guide.find("```yaml\n");
  const auto end = guide.find("```", begin + 3);
  ASSERT_NE(end, std::string::npos);
  const std::string text = "schema: 1\nmode: enforce\n" + guide.substr(begin + 8, end - begin - 8);
  const auto config = parse_tidemark_config(text, waterline::Zones());
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  EXPECT_EQ(config->rest.budget, model::BudgetSettings());
}

TEST(TidemarkConfigText, TheExampleOfTheGuideIsGood) {
  std::ifstream file(base::testing::from_root("docs/guide/settings.md"));
  std::stringstream guide;
  guide << file.rdbuf();
  const std::string text = guide.str();
  const auto begin = text.find("```yaml\n# tidemark-config");
  ASSERT_NE(begin, std::string::npos);
  const auto start = begin + 8;
  const auto config = pools_must(text.substr(start, text.find("\n```", start) - start));
  EXPECT_EQ(config.pools.size(), 3U);
  EXPECT_EQ(config.classes.size(), 4U);
  // What it says to be the defaults are the defaults.
  EXPECT_EQ(config.rollout, waterline::RolloutSettings());
}

}  // namespace
}  // namespace tidemark::policy::settings
