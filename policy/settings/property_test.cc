// What is let in can be used: the controllers read it. And the tables here know every field that those read.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/settings/check.h"
#include "policy/settings/fields.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;

constexpr int kRounds = 20'000;

const char* const kStarts[][2] = {
    {"colocation-config",
     R"({"enable":true,"cpuReclaimThresholdPercent":60,"degradeTimeMinutes":15,"resourceDiffThreshold":0.1,"metricAggregatePolicy":{"durations":["5m"]},"nodeConfigs":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"midCPUThresholdPercent":50},{"name":"b","nodeSelector":{"matchLabels":{"pool":"b"}},"cpuCalculatePolicy":"usage"}]})"},
    {"resource-threshold-config",
     R"({"clusterStrategy":{"enable":true,"memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":65,"cpuSuppressPolicy":"cpuset"},"nodeStrategies":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"cpuSuppressThresholdPercent":50}]})"},
    {"resource-qos-config",
     R"({"clusterStrategy":{"policies":{"cpuPolicy":"coreSched"},"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1},"networkQOS":{"ingressRequest":"10M"},"blkioQOS":{"blocks":[{"name":"sda","type":"device","ioCfg":{"readIOPS":1}}]}}}})"},
    {"system-config",
     R"({"clusterStrategy":{"totalNetworkBandwidth":"100M","watermarkScaleFactor":150,"schedFeatures":{"ID":true}}})"},
    {"cpu-burst-config", R"({"clusterStrategy":{"policy":"auto","cpuBurstPercent":1000}})"},
    {"host-application-config",
     R"({"applications":[{"name":"nginx","qos":"LS","priority":"koord-prod","cgroupPath":{"base":"CgroupRoot","relativePath":"nginx"}}]})"},
};

// One place of the tree becomes something else.
void spoil(Json& value, base::Random& random, int depth) {
  if (depth > 0 && random.below(4) != 0) {
    if (value.is_object() && !value.as_object().empty()) {
      auto at = value.as_object().begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random.below(value.as_object().size())));
      return spoil(at->second, random, depth - 1);
    }
    if (value.is_array() && !value.as_array().empty()) {
      return spoil(value.as_array()[random.below(value.as_array().size())], random, depth - 1);
    }
  }
  switch (random.below(9)) {
    case 0:
      value = nullptr;
      return;
    case 1:
      value = Json(static_cast<std::int64_t>(random.below(300)) - 100);
      return;
    case 2:
      value = Json(random.unit() * 10);
      return;
    case 3:
      value = "text";
      return;
    case 4:
      value = Json::array({Json(1), Json("a")});
      return;
    case 5:
      value = Json::object({{"enable", true}});
      return;
    case 6:
      value = Json(random.below(2) == 0);
      return;
    case 7:
      value = Json(INT64_MAX);
      return;
    default:
      value = "50";
  }
}

bool usable(std::string_view key, const std::string& text) {
  if (key == "colocation-config") return sell::parse_colocation_config(text).has_value();
  for (const SloPartInfo& info : slo_parts()) {
    if (info.key == key) return parse_slo_part(info.part, text).has_value();
  }
  return true;
}

TEST(SettingsProperties, AcceptedSettingsAreUsableByTheControllers) {
  base::Random random(7);
  int taken = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto& [key, start] = kStarts[random.below(std::size(kStarts))];
    Json document = *Json::parse(start);
    for (std::uint64_t i = random.below(3); i > 0; --i) spoil(document, random, 5);
    const std::string text = document.dump();
    const std::vector<SettingsKey> after{{key, text},
                                         {"system-config", R"({"clusterStrategy":{"totalNetworkBandwidth":"1G"}})"}};
    const auto ours = check_settings({{}, after, {}, false, model::Profile::kTidemark});
    const auto peers = check_settings({{}, after, {}, false, model::Profile::kKoordinator});
    if (key != std::string_view("resource-qos-config")) {  // whose bandwidth ours reads with more sense
      EXPECT_TRUE(peers.allowed() || !ours.allowed()) << key << " " << text;
    }
    for (const auto& problem : peers.errors) {
      EXPECT_FALSE(problem.key.empty() || problem.found.empty() || problem.allowed.empty());
    }
    if (!peers.allowed()) continue;
    ++taken;
    EXPECT_TRUE(usable(key, text)) << key << " " << text;
  }
  EXPECT_GT(taken, kRounds / 10);
}

// A document with every field that the tables of NodeSLO have is known here to the last field.
Json every_field(const ObjectSchema& schema) {
  Json object = schema.embedded == nullptr ? Json::object() : every_field(*schema.embedded);
  for (const Field& field : schema.fields) {
    const bool list = field.kind == FieldKind::kObjects || field.kind == FieldKind::kObjectPointers;
    if (field.object == nullptr) {
      object[field.name] = nullptr;
    } else {
      object[field.name] = list ? Json::array({every_field(*field.object)}) : every_field(*field.object);
    }
  }
  return object;
}

TEST(SettingsProperties, EveryFieldThatIsReadIsKnown) {
  for (const SloPartInfo& info : slo_parts()) {
    Json document = Json::object();
    const bool hosts = info.part == model::SloPart::kHostApplications;
    if (hosts) {
      document = every_field(*info.schema);
    } else {
      document["clusterStrategy"] = every_field(*info.schema);
    }
    const std::string text = document.dump();
    const std::vector<SettingsKey> after{{info.key, text}};
    const auto verdict = check_settings({{}, after, {}, false, model::Profile::kTidemark});
    for (const auto& warning : verdict.warnings) {
      ADD_FAILURE() << warning.key << " " << warning.place << ": " << warning.found;
    }
  }
}

// The limits hold: a selector of very many combinations, and very many mistakes.
TEST(SettingsProperties, ManyCombinationsAndManyMistakesAreBounded) {
  Json::Array expressions;
  for (int key = 0; key < 12; ++key) {
    Json::Array values;
    for (int value = 0; value < 12; ++value) values.emplace_back(cat("v", value));
    expressions.push_back(
        Json::object({{"key", Json(cat("k", key))}, {"operator", "In"}, {"values", Json(std::move(values))}}));
  }
  Json::Array entries;
  for (int i = 0; i < 3; ++i) {
    Json entry = Json::object({{"name", Json(cat("s", i))}, {"degradeTimeMinutes", 1}});
    entry["nodeSelector"] = Json::object({{"matchExpressions", expressions}});
    entries.push_back(std::move(entry));
  }
  const std::string text = Json::object({{"nodeConfigs", Json(entries)}}).dump();
  for (const model::Profile parity : {model::Profile::kKoordinator, model::Profile::kTidemark}) {
    const auto verdict = check_settings({{}, std::vector<SettingsKey>{{"colocation-config", text}}, {}, false, parity});
    ASSERT_TRUE(verdict.conflict);
    EXPECT_EQ(verdict.conflict->strategies.size(), 3U);
  }
  for (Json& entry : entries) entry.as_object().erase("nodeSelector");
  while (entries.size() < 500) entries.push_back(entries.front());
  const std::string wrong = Json::object({{"nodeConfigs", Json(entries)}}).dump();
  const auto verdict = check_settings(
      {{}, std::vector<SettingsKey>{{"colocation-config", wrong}}, {}, false, model::Profile::kKoordinator});
  EXPECT_EQ(verdict.errors.size(), kSettingsProblemsMax);
  EXPECT_EQ(verdict.left_off, 500 - kSettingsProblemsMax);
}

// Strategies that exclude each other, each of which 10,000 made-up nodes describe: not all pairs are tried.
TEST(SettingsProperties, OverlapSearchIsBoundedAndReportsIt) {
  Json::Array entries;
  for (int i = 0; i < 40; ++i) {
    Json::Array expressions{Json::object({{"key", "own"}, {"operator", "In"}, {"values", Json::array({cat("e", i)})}})};
    for (const auto key : {"a", "b"}) {
      Json::Array values;
      for (int value = 0; value < 100; ++value) values.emplace_back(cat("v", value));
      expressions.push_back(Json::object({{"key", key}, {"operator", "In"}, {"values", Json(std::move(values))}}));
    }
    Json entry = Json::object({{"degradeTimeMinutes", 1}});
    entry["nodeSelector"] = Json::object({{"matchExpressions", Json(std::move(expressions))}});
    entries.push_back(std::move(entry));
  }
  const std::vector<model::Label> labels(1000, model::Label{"a", "v1"});
  const std::vector<LabelledNode> nodes(1000, LabelledNode{"n", labels});
  const auto check = [&](std::span<const LabelledNode> of) {
    const std::string text = Json::object({{"nodeConfigs", Json(entries)}}).dump();
    return check_settings(
        {{}, std::vector<SettingsKey>{{"colocation-config", text}}, of, false, model::Profile::kKoordinator});
  };
  const auto verdict = check(nodes);
  EXPECT_TRUE(verdict.allowed());
  ASSERT_EQ(verdict.warnings.size(), 2U) << "of the made-up nodes, and of those that are there";
  EXPECT_EQ(verdict.warnings[0].reason, model::Reason::kSettingsSuspect);
  EXPECT_NE(verdict.warnings[0].found.find("40 strategies"), std::string::npos);
  EXPECT_NE(verdict.warnings[1].found.find("1000 nodes"), std::string::npos);

  entries.resize(3);
  EXPECT_TRUE(check({}).warnings.empty());
  entries = {*Json::parse(R"({"nodeSelector":{"matchLabels":{"a":"b"}}})")};
  while (entries.size() <= kSettingsStrategiesMax) entries.push_back(entries.front());
  const auto many = check({});
  ASSERT_EQ(many.errors.size(), 1U);
  EXPECT_EQ(many.errors[0].place, "nodeConfigs");
  EXPECT_EQ(many.errors[0].found, "1001 node strategies");
}

}  // namespace
}  // namespace tidemark::policy::settings
