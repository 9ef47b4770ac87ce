// The plan against the API server in memory. That what is planned is what then happens is in
// tests/cluster/test_plan.py.
#include "cli/plan_text.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "operate/plan_json.h"
#include "operate/testing/api_in_memory.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

class PlanTest : public operate::testing::ApiInMemory {
 protected:
  void create(std::string_view where, const Json& body) { call("POST", base::cat("/api/v1/", where), body.dump()); }
  void node(const std::string& name) {
    create("nodes", Json::object({{"metadata", Json::object({{"name", Json(name)}})}}));
  }
  void map(std::string_view name, const std::map<std::string, std::string>& data) {
    Json body = Json::object({{"metadata", Json::object({{"name", Json(name)}})}, {"data", Json::object()}});
    for (const auto& [key, text] : data) body["data"][key] = Json(text);
    create("namespaces/koordinator-system/configmaps", body);
  }
  Json plan(const std::string& name, const std::string& key, const std::string& text) {
    const Json manifest = Json::object({{"kind", "ConfigMap"},
                                        {"metadata", Json::object({{"name", Json(name)}})},
                                        {"data", Json::object({{key, Json(text)}})}});
    operate::PlanOptions options;
    options.text = manifest.dump();
    const auto report = net::testing::run_task(loop, clock, operate::plan_settings(loop, client, options));
    EXPECT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report && report->problems.empty());
    return report ? plan_json(*report, 20) : Json();
  }
};

policy::settings::SettingsTexts texts(int suppress_percent) {
  return {{{"colocation-config", R"({"enable":true})"},
           {"resource-threshold-config",
            base::cat(R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":)", suppress_percent, "}}")}},
          "schema: 1\nmode: enforce\n"};
}

// A new tidemark-config while new co-location settings are being rolled out: it comes beside those that every node is
// to have, whichever node is listed first.
TEST_F(PlanTest, UsesRolloutSettingsIfFileLacksThem) {
  std::string first = "a";
  std::string second = "b";
  if (policy::settings::order_of(second) > policy::settings::order_of(first)) {
    second = "bb";
    for (int i = 0; policy::settings::order_of(second) > policy::settings::order_of(first); ++i)
      second = base::cat("b", i);
  }
  node(first);
  node(second);
  const auto one = texts(60);
  const auto two = texts(70);
  auto book = policy::settings::with_revision({}, one, {}, clock.wall());
  book = policy::settings::with_revision(std::move(book), two, {}, clock.wall());
  policy::settings::RolloutState state;
  state.phase = policy::settings::Phase::kFleet;
  state.layers = {{hash_of(one), policy::settings::kAllNodes, policy::settings::kAllNodes},
                  {hash_of(two), policy::settings::kAllNodes, policy::settings::order_of(second)}};
  std::map<std::string, std::string> stored;
  for (const auto& [key, text] : policy::settings::stored_changes({}, book, state)) stored[key] = *text;
  map("tidemark-config-revisions", stored);
  map("slo-controller-config", two.slo);
  map("tidemark-config", {{"config.yaml", *two.tidemark}});

  const Json told = plan("tidemark-config", "config.yaml", "schema: 1\nmode: enforce\nrollout: {pace: at-once}\n");
  ASSERT_EQ(told.at("nodes")->as_array().size(), 1U) << told.dump();
  EXPECT_EQ(told.at("nodes")->as_array()[0].text_at("node"), first) << "the other one has them already";
}

// The future offer depends on the length of the silence, which is unknown.
TEST_F(PlanTest, ShowsNodeWithoutReports) {
  const auto now = texts(60);
  map("slo-controller-config", now.slo);
  map("tidemark-config", {{"config.yaml", *now.tidemark}});
  const auto notes = [&] {
    return plan("tidemark-config", "config.yaml", "schema: 1\nmode: enforce\nprofile: tidemark\n").at("notes")->dump();
  };
  node("never-offered");
  EXPECT_EQ(notes().find("did not report lately"), std::string::npos) << notes();
  const std::string origin = R"({"resources":{"kubernetes.io/batch-cpu":"8k","kubernetes.io/batch-memory":"8Gi"}})";
  create("nodes",
         Json::object(
             {{"metadata", Json::object({{"name", "silent"},
                                         {"annotations", Json::object({{"node.koordinator.sh/originExtendedAllocatable",
                                                                        Json(origin)}})}})}}));
  EXPECT_NE(notes().find("1 node with profile tidemark did not report lately"), std::string::npos) << notes();
}

}  // namespace
}  // namespace tidemark::cli
