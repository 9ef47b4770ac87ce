#include "policy/settings/nodeslo/nodeslo.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

SloConfig with(model::SloPart part, std::string_view text) {
  SloConfig config;
  auto parsed = parse_slo_part(part, text);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  if (parsed) config.parts[static_cast<std::size_t>(part)] = std::move(*parsed);
  return config;
}

SloSpec spec_of(const SloConfig& config) {
  return slo_for(config, {}, std::nullopt);
}

constexpr std::string_view kDefaultSpec =
    R"({"resourceUsedThresholdWithBE":{"enable":false,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cpuset",)"
    R"("memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"},"resourceQOSStrategy":{},)"
    R"("cpuBurstStrategy":{"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,)"
    R"("cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50},)"
    R"("systemStrategy":{"totalNetworkBandwidth":"0"},"extensions":{"Object":{}}})";

TEST(SloSpecText, IsCompactAndInTheOrderOfTheTables) {
  EXPECT_EQ(slo_spec_json(spec_of(SloConfig())), kDefaultSpec);
}

TEST(SloFingerprintOf, IgnoresTheFormOfTheText) {
  const SloFingerprint right = slo_fingerprint(spec_of(SloConfig()));
  EXPECT_EQ(slo_fingerprint_of_object(kDefaultSpec), right);
  // Members in another order, blanks, an empty list, unknown fields, extensions of another program.
  Json other = *Json::parse(kDefaultSpec);
  Json turned = Json::object();
  turned["hostApplications"] = Json::array();
  turned["psiStrategy"] = Json::object({{"whatever", 1}});
  turned["extensions"] = Json::object({{"Object", Json::object({{"x", 1}})}, {"tidemark", Json::object()}});
  for (const char* field :
       {"systemStrategy", "cpuBurstStrategy", "resourceQOSStrategy", "resourceUsedThresholdWithBE"}) {
    turned[field] = *other.at(field);
  }
  turned["cpuBurstStrategy"]["unknown"] = Json(true);
  EXPECT_EQ(slo_fingerprint_of_object(turned.dump_pretty()), right);
}

TEST(SloFingerprintOf, CoversEachPartSeparately) {
  const Json spec = *Json::parse(kDefaultSpec);
  const SloFingerprint right = slo_fingerprint_of_object(kDefaultSpec);
  for (const SloPartInfo& info : slo_parts()) {
    Json changed = spec;
    if (info.part == model::SloPart::kHostApplications) {
      changed["hostApplications"] = Json::array({Json::object({{"name", "x"}})});
    } else {
      changed.as_object().erase(info.field);
    }
    const SloFingerprint found = slo_fingerprint_of_object(changed.dump());
    for (std::size_t i = 0; i < model::kSloParts; ++i) {
      EXPECT_EQ(found.parts[i] == right.parts[i], i != static_cast<std::size_t>(info.part)) << info.field;
    }
  }
  Json bare = spec;
  bare.as_object().erase("extensions");
  EXPECT_FALSE(slo_fingerprint_of_object(bare.dump()).has_extensions);
  for (const char* none : {"", "null", "[]", "{", R"({"systemStrategy":5})"}) {
    EXPECT_EQ(slo_fingerprint_of_object(none), SloFingerprint()) << none;
  }
}

TEST(SloPatch, TouchesOnlyWhatDiffersAndHoldsForTheRevisionItWasMadeFrom) {
  const SloSpec wanted = spec_of(with(model::SloPart::kCpuBurst, R"({"clusterStrategy":{"policy":"auto"}})"));
  EXPECT_EQ(slo_patch(wanted, slo_fingerprint(wanted), "7"), "");
  EXPECT_EQ(slo_patch(wanted, slo_fingerprint_of_object(kDefaultSpec), "7"),
            R"([{"op":"add","path":"/metadata/resourceVersion","value":"7"},)"
            R"({"op":"add","path":"/spec/cpuBurstStrategy","value":{"policy":"auto","cpuBurstPercent":1000,)"
            R"("cfsQuotaBurstPercent":300,"cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50}}])");
}

TEST(SloPatch, RemovesOmittedPartsAndWritesExtensionsOnce) {
  Json spec = *Json::parse(kDefaultSpec);
  spec["hostApplications"] = Json::array({Json::object({{"name", "x"}})});
  spec.as_object().erase("extensions");
  EXPECT_EQ(slo_patch(spec_of(SloConfig()), slo_fingerprint_of_object(spec.dump()), "7"),
            R"([{"op":"add","path":"/metadata/resourceVersion","value":"7"},)"
            R"({"op":"remove","path":"/spec/hostApplications"},)"
            R"({"op":"add","path":"/spec/extensions","value":{"Object":{}}}])");
}

TEST(SloPatch, RepairsAMissingOrUnreadableSpec) {
  const SloSpec wanted = spec_of(SloConfig());
  const std::string patch = slo_patch(wanted, slo_fingerprint_of_object(""), "7");
  const Json operations = *Json::parse(patch);
  Json made = Json::object();
  for (const Json& each : operations.as_array()) {
    const auto path = each.text_at("path");
    EXPECT_EQ(each.text_at("op"), "add");
    if (path.starts_with("/spec/")) made[path.substr(6)] = *each.at("value");
  }
  EXPECT_EQ(operations.as_array()[1].text_at("path"), "/spec");
  EXPECT_EQ(made, *Json::parse(kDefaultSpec));
}

TEST(SloOfANode, LeavesBandwidthAloneWithoutTheAnnotation) {
  const SloConfig config = with(model::SloPart::kSystem, R"({"clusterStrategy":{"totalNetworkBandwidth":"5G"}})");
  const auto system = [&](std::optional<std::string_view> bandwidth) {
    return slo_for(config, {}, bandwidth).parts[static_cast<std::size_t>(model::SloPart::kSystem)];
  };
  EXPECT_EQ(system(std::nullopt).text, R"({"totalNetworkBandwidth":"5G"})");
  EXPECT_FALSE(system(std::nullopt).note.has_value());
  EXPECT_EQ(system("99M").text, R"({"totalNetworkBandwidth":"99M"})");
  EXPECT_EQ(system("").text, "");
  EXPECT_EQ(system("").note, model::Reason::kSloBandwidthUnreadable);
  // The part is then taken off the object.
  const std::string patch = slo_patch(slo_for(config, {}, "x"), slo_fingerprint(spec_of(config)), "1");
  EXPECT_NE(patch.find(R"({"op":"remove","path":"/spec/systemStrategy"})"), std::string::npos);
}

constexpr std::string_view kText =
    R"({"clusterStrategy":{"policies":{"cpuPolicy":"coreSched"},"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1},
     "blkioQOS":{"blocks":[{"name":"sda","ioCfg":{"readIOPS":1}},null]},"networkQOS":{"egressLimit":"5M"}}},
     "nodeStrategies":[{"name":"a","nodeSelector":{},"lsClass":{"memoryQOS":{"enable":true,"wmarkRatio":80}}}]})";

TEST(Property, CutTextIsRefusedOrReadAndWhatIsWrittenIsFoundRight) {
  std::mt19937_64 random(31);
  int read = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string text(kText);
    for (auto n = random() % 4; n > 0; --n) text[random() % text.size()] = "{}[]\",:0-e\\nNA\xff"[random() % 15];
    if (random() % 4 == 0) text.resize(random() % text.size());
    const auto part = static_cast<model::SloPart>(random() % model::kSloParts);
    auto parsed = parse_slo_part(part, text);
    if (!parsed) {
      EXPECT_FALSE(parsed.error().message.empty());
      continue;
    }
    ++read;
    SloConfig config;
    config.parts[static_cast<std::size_t>(part)] = std::move(*parsed);
    const SloSpec spec = spec_of(config);
    const std::string json = slo_spec_json(spec);
    EXPECT_TRUE(Json::parse(json).has_value()) << json;
    EXPECT_EQ(slo_patch(spec, slo_fingerprint_of_object(json), "1"), "") << json;
  }
  EXPECT_GT(read, 100);
}

// A strategy that is written into the settings as it came out changes nothing: rendering is idempotent.
TEST(Property, TheRenderedStrategyAsSettingsGivesItself) {
  for (const SloPartInfo& info : slo_parts()) {
    if (info.part == model::SloPart::kHostApplications) continue;
    const SloConfig first = with(info.part, info.part == model::SloPart::kQos ? kText : "{}");
    const std::string text = spec_of(first).parts[static_cast<std::size_t>(info.part)].text;
    const SloConfig again = with(info.part, base::cat(R"({"clusterStrategy":)", text, "}"));
    EXPECT_EQ(spec_of(again).parts[static_cast<std::size_t>(info.part)].text, text);
  }
}

TEST(SloOurs, OneKeyOfTheExtensionsIsOursAndTheOthersStay) {
  SloSpec wanted = spec_of(SloConfig());
  const auto on_object = [&](std::string_view extensions) {
    Json spec = *Json::parse(kDefaultSpec);
    spec.as_object().erase("extensions");
    if (!extensions.empty()) spec["extensions"] = *Json::parse(extensions);
    return slo_fingerprint_of_object(spec.dump());
  };
  constexpr std::string_view kOther = R"({"Object":{"mine":1,"tidemark":{"b":2,"a":[{"d":1,"c":2}]}}})";
  // No extension of ours is wanted: the present one stays.
  EXPECT_EQ(slo_patch(wanted, on_object(kOther), "7"), "");
  // It is to be there; the order of its members is the server's.
  wanted.ours = R"({"a":[{"c":2,"d":1}],"b":2})";
  EXPECT_EQ(slo_patch(wanted, on_object(kOther), "7"), "");
  EXPECT_EQ(slo_fingerprint_of_object(slo_spec_json(wanted)), slo_fingerprint(wanted));
  const std::string revision = R"([{"op":"add","path":"/metadata/resourceVersion","value":"7"},)";
  const std::string ours =
      base::cat(R"({"op":"add","path":"/spec/extensions/Object/tidemark","value":)", *wanted.ours, "}]");
  EXPECT_EQ(slo_patch(wanted, on_object(R"({"Object":{"mine":1}})"), "7"), revision + ours);
  EXPECT_EQ(slo_patch(wanted, on_object(R"({"Object":{"tidemark":{"b":3}}})"), "7"), revision + ours);
  EXPECT_EQ(slo_patch(wanted, on_object(R"({"x":1})"), "7"),
            revision + R"({"op":"add","path":"/spec/extensions/Object","value":{}},)" + ours);
  EXPECT_EQ(slo_patch(wanted, on_object(""), "7"),
            revision + R"({"op":"add","path":"/spec/extensions","value":{"Object":{}}},)" + ours);
  // It is to be gone.
  wanted.ours = "";
  EXPECT_EQ(slo_patch(wanted, on_object(R"({"Object":{"mine":1}})"), "7"), "");
  EXPECT_EQ(slo_patch(wanted, on_object(""), "7"),
            revision + R"({"op":"add","path":"/spec/extensions","value":{"Object":{}}}])");
  EXPECT_EQ(slo_patch(wanted, on_object(kOther), "7"),
            revision + R"({"op":"remove","path":"/spec/extensions/Object/tidemark"}])");
}

}  // namespace
}  // namespace tidemark::policy::settings
