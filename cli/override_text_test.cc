// The command against the API server in memory, with no manager there.
#include "cli/override_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "operate/testing/api_in_memory.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOverrideMaps = "/api/v1/namespaces/koordinator-system/configmaps";
constexpr std::string_view kConfig = R"(schema: 1
mode: enforce
calendars:
- name: nights
  zone: UTC
  lead: 1h
  entries:
  - {name: sale, kind: freeze, from: 2026-01-02T00:00, to: 2026-01-03T00:00, cpu: 30}
pools:
- name: web
  nodeSelector: {matchLabels: {pool: web}}
  calendar: nights
)";

class OverrideTest : public operate::testing::ApiInMemory {
 protected:
  OverrideTest() {
    clock.advance(12h);  // 2026-01-01T12:00:00Z
    Json map = Json::object({{"metadata", Json::object({{"name", "tidemark-config"}})}});
    map["data"] = Json::object({{"config.yaml", Json(kConfig)}});
    call("POST", kOverrideMaps, map.dump());
    for (const char* name : {"n1", "n2"}) {
      call("POST", "/api/v1/nodes", base::cat(R"({"metadata":{"name":")", name, R"(","labels":{"pool":"web"}}})"));
    }
  }
  operate::OverrideOptions order(std::string pool, std::optional<policy::waterline::LinePercent> line,
                                 base::Duration lasts = 2h) {
    operate::OverrideOptions options;
    options.pool = std::move(pool);
    options.command = {line, "ann@ops", "a fire drill", clock.wall() + lasts};
    return options;
  }
  Result<operate::OverrideReport> give(operate::OverrideOptions options) {
    return net::testing::run_task(loop, clock, operate::give_override(loop, client, std::move(options)));
  }
  std::string text(operate::OverrideOptions options) {
    const auto report = give(std::move(options));
    return report ? render_text(*report) : report.error().message;
  }
  std::string stored() {
    return std::string(call("GET", base::cat(kOverrideMaps, "/tidemark-state")).text_at("data", "overrides.json"));
  }
};

TEST_F(OverrideTest, ShowsNewWaterLineAndStoresIt) {
  EXPECT_EQ(text(order("web", policy::waterline::LinePercent{40, std::nullopt})),
            "override pool web: cpu 40 %, until 2026-01-01T14:00:00Z, by ann@ops: a fire drill\n"
            "  cpu: 60 % -> 40 %\n"
            "  memory: stays at 65 %\n"
            "  nodes of the pool now: 2\n");
  EXPECT_NE(stored().find(R"("name":"web","cpu":40)"), std::string::npos) << stored();
  EXPECT_EQ(text(order("web", policy::waterline::LinePercent{40, std::nullopt})).substr(0, 44),
            "override pool web: in force already: cpu 40 ");
  EXPECT_EQ(text(order("web", std::nullopt)),
            "override pool web: cleared, the calendar holds; before: cpu 40 %, until 2026-01-01T14:00:00Z, by ann@ops: "
            "a fire drill\n"
            "  cpu: 40 % -> 60 %\n"
            "  memory: stays at 65 %\n"
            "  nodes of the pool now: 2\n");
  EXPECT_EQ(text(order("web", std::nullopt)).substr(0, 52), "override pool web: none exists, nothing to remove\n  ");
}

TEST_F(OverrideTest, ADryRunWritesNothing) {
  auto options = order("web", policy::waterline::LinePercent{40, std::nullopt});
  options.dry_run = true;
  EXPECT_NE(text(options).find("(dry run, nothing was written): cpu 40 %"), std::string::npos);
  const auto state =
      net::testing::run_task(loop, clock, client.get(kube::kConfigMaps, "koordinator-system", "tidemark-state", 1s));
  EXPECT_FALSE(state);
}

TEST_F(OverrideTest, ReportsNotesForTheOperator) {
  const auto told = text(order("web", policy::waterline::LinePercent{80, std::nullopt}, 24h));
  EXPECT_NE(told.find("the freeze sale of the calendar is in force in that time (2026-01-02T00:00:00Z): the override "
                      "outranks it"),
            std::string::npos)
      << told;
  const auto brief = text(order("web", policy::waterline::LinePercent{80, std::nullopt}, 30min));
  EXPECT_NE(brief.find("cpu: 80 % -> 80 % (60 % sold)"), std::string::npos) << brief;
  EXPECT_NE(brief.find("within the lead of the calendar (1h0m0s)"), std::string::npos) << brief;
  text(order("", policy::waterline::LinePercent{50, std::nullopt}));
  const auto both = text(order("web", policy::waterline::LinePercent{80, 70}));
  EXPECT_NE(both.find("the whole cluster is overridden too"), std::string::npos) << both;
  EXPECT_NE(both.find("cpu: stays at 50 %"), std::string::npos) << both;
  EXPECT_NE(
      text(order("", policy::waterline::LinePercent{45, std::nullopt})).find("pool web has an override of its own"),
      std::string::npos);
}

TEST_F(OverrideTest, SuggestsNearestPoolName) {
  const auto report = give(order("wed", policy::waterline::LinePercent{40, 40}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(report.error().message.find("did you mean web?"), std::string::npos) << report.error().message;
  EXPECT_FALSE(give(order("wed", std::nullopt)));
}

TEST_F(OverrideTest, KeepsOtherOrdersInTheSameMap) {
  Json map = Json::object({{"metadata", Json::object({{"name", "tidemark-state"}})}});
  map["data"] = Json::object({{"state.json", R"({"schema":1,"generation":7,"pools":[]})"}});
  call("POST", kOverrideMaps, map.dump());
  ASSERT_TRUE(give(order("web", policy::waterline::LinePercent{40, std::nullopt})));
  const Json after = call("GET", base::cat(kOverrideMaps, "/tidemark-state"));
  EXPECT_EQ(after.text_at("data", "state.json"), R"({"schema":1,"generation":7,"pools":[]})");
  EXPECT_NE(after.text_at("data", "overrides.json"), "");
}

}  // namespace
}  // namespace tidemark::cli
