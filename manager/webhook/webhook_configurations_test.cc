#include "manager/webhook/webhook_configurations.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

ConfigurationOptions options() {
  ConfigurationOptions out;
  out.service_namespace = "koordinator-system";
  out.service_name = "koordinator-webhook-service";
  return out;
}

TEST(WebhookConfigurations, AreIgnoredWhenAwayAndExemptTheControlPlane) {
  for (const Json& list : {mutating_webhooks(options(), "PEM"), validating_webhooks(options(), "PEM")}) {
    for (const Json& hook : list.as_array()) {
      EXPECT_EQ(hook.text_at("failurePolicy"), "Ignore");
      EXPECT_EQ(hook.text_at("sideEffects"), "None");
      EXPECT_LE(hook.at("timeoutSeconds")->as_int(), 5);
      EXPECT_EQ(hook.text_at("clientConfig", "caBundle"), base::base64_encode("PEM"));
      EXPECT_EQ(hook.text_at("clientConfig", "service", "name"), "koordinator-webhook-service");
      const bool pods = hook.at("rules")->as_array()[0].at("resources")->as_array()[0].as_string() == "pods";
      const std::string selector = hook.at(pods ? "namespaceSelector" : "objectSelector")->dump();
      EXPECT_NE(selector.find(pods ? "control-plane" : "koordinator.sh/configmap-type"), std::string::npos) << selector;
    }
  }
}

TEST(WebhookConfigurations, ByAddressAndWithoutABundle) {
  ConfigurationOptions by_url = options();
  by_url.url = "https://127.0.0.1:9876";
  const Json hook = mutating_webhooks(by_url, std::nullopt).as_array()[0];
  EXPECT_EQ(hook.at("clientConfig")->dump(), R"({"url":"https://127.0.0.1:9876/mutate-pod"})");
}

TEST(WebhookConfigurations, WithoutABundleTheOneThatIsThereStays) {
  Json there = validating_webhooks(options(), "THEIRS");
  there.as_array()[1]["clientConfig"].as_object().erase("caBundle");
  const Json kept = with_bundles_of(validating_webhooks(options(), std::nullopt), there);
  EXPECT_EQ(kept.as_array()[0].text_at("clientConfig", "caBundle"), base::base64_encode("THEIRS"));
  EXPECT_EQ(kept.as_array()[1].at("clientConfig", "caBundle"), nullptr);
  const Json ours = with_bundles_of(validating_webhooks(options(), "OURS"), there);
  EXPECT_EQ(ours.as_array()[0].text_at("clientConfig", "caBundle"), base::base64_encode("OURS"));
  EXPECT_EQ(with_bundles_of(mutating_webhooks(options(), std::nullopt), nullptr),
            mutating_webhooks(options(), std::nullopt));
}

// Somebody undoes each write a second later, for an hour.
TEST(WebhookConfigurations, RepairsOfWhatIsUndoneEachTimeBecomeRare) {
  RepairBrake brake;
  base::MonotonicTime now{};
  int writes = 0;
  int told = 0;
  for (int second = 0; second < 3600; ++second, now = now + 1s) {
    const auto answer = brake.ask(now);
    if (answer == RepairBrake::Answer::kWait) continue;
    if (answer == RepairBrake::Answer::kGoAndTell) ++told;
    brake.wrote(now);
    ++writes;
  }
  EXPECT_GE(writes, 5 + 3600 / 120 - 1);
  EXPECT_LE(writes, 6 + 3600 / 120);
  EXPECT_GE(told, 3600 / 120 - 1);
  // After a calm time it is quick again.
  now = now + 1h;
  EXPECT_EQ(brake.ask(now), RepairBrake::Answer::kGo);
  brake.wrote(now);
  EXPECT_EQ(brake.ask(now + 1s), RepairBrake::Answer::kGo);
}

TEST(WebhookConfigurations, WhatIsSwitchedOffIsNotAskedAbout) {
  ConfigurationOptions off = options();
  off.pods_mutated = false;
  off.pods_validated = false;
  EXPECT_TRUE(mutating_webhooks(off, "PEM").as_array().empty());
  ASSERT_EQ(validating_webhooks(off, "PEM").as_array().size(), 1U);
  EXPECT_EQ(validating_webhooks(off, "PEM").as_array()[0].text_at("name"), "vconfigmap.koordinator.sh");
}

TEST(WebhookConfigurations, WhatTheServerAddsIsNoDifference) {
  const Json wanted = validating_webhooks(options(), "PEM");
  Json there = wanted;
  there.as_array()[0]["matchConditions"] = Json::array();
  EXPECT_TRUE(covers(there, wanted));
  there.as_array()[0]["failurePolicy"] = "Fail";
  EXPECT_FALSE(covers(there, wanted));
  there = wanted;
  there.as_array().pop_back();
  EXPECT_FALSE(covers(there, wanted));
  EXPECT_FALSE(covers(there, Json::object()) && covers(Json(), wanted));
}

}  // namespace
}  // namespace tidemark::manager
