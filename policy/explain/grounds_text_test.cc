#include "policy/explain/grounds_text.h"

#include <gtest/gtest.h>

#include "policy/settings/rollout/rollout.h"

namespace tidemark::policy::explain {
namespace {

using namespace std::chrono_literals;

base::WallTime at(std::string_view text) {
  return *base::parse_rfc3339(text);
}

// Revision 1 is in force on all nodes, 2 on the canaries, where it is paused.
settings::Stored rolling_out() {
  settings::Stored stored;
  stored.book = {{1, "aaaa", at("2026-11-20T08:00:00Z"), true, {}}, {2, "bbbb", at("2026-11-21T09:00:00Z"), false, {}}};
  stored.state.emplace();
  stored.state->layers = {{"aaaa", settings::kAllNodes, settings::kAllNodes}, {"bbbb", settings::kAllNodes, ""}};
  stored.state->phase = settings::Phase::kSoak;
  stored.state->hold =
      settings::Hold{model::Reason::kRolloutEvictionSpike, at("2026-11-21T09:05:00Z"), {}, "web", 13, 12};
  return stored;
}

TEST(GroundsText, ShowsThePausedRolloutOfAKeptRevision) {
  const settings::Stored stored = rolling_out();
  Grounds grounds;
  grounds.settings = settings_ground(stored, *stored.state, "aaaa", false);
  grounds.settings.pool = "web";
  EXPECT_EQ(render_text(grounds),
            "settings: aaaa, pool web\n"
            "  revision 1 (aaaa), taken at 2026-11-20T08:00:00Z, still in force here while 2 (bbbb) is being rolled "
            "out: canary "
            "nodes run it, soaking\n"
            "  paused since 2026-11-21T09:05:00Z: paused: a pool with the new settings evicts more than the limit "
            "[TM-ROLLOUT-012]\n"
            "evictions of the pool: no limit reached\n");
  Json out = Json::object();
  add_json(out, grounds);
  EXPECT_EQ(out.text_at("settings"), "aaaa");
  EXPECT_EQ(out.text_at("revision", "here"), "kept");
  EXPECT_EQ(out.text_at("revision", "rollingOut", "name"), "2 (bbbb)");
  EXPECT_EQ(out.text_at("revision", "held", "since"), "2026-11-21T09:05:00Z");
  EXPECT_TRUE(out.at("evictions", "last")->is_null());

  const auto reached = settings_ground(stored, *stored.state, "bbbb", true);
  EXPECT_EQ(reached.place, SettingsGround::Place::kReached);
  settings::Stored settled = stored;
  settled.state->layers.resize(1);
  const auto everywhere = settings_ground(settled, *settled.state, "aaaa", true);
  EXPECT_EQ(everywhere.place, SettingsGround::Place::kEverywhere);
  EXPECT_EQ(everywhere.hold, std::nullopt);
}

TEST(GroundsText, ShowsTheRestOfABackOff) {
  const auto last = [](base::Duration ago) {
    Grounds grounds;
    grounds.evictions.back_off = 2min;
    grounds.evictions.evicted_ago = ago;
    grounds.evictions.told_by = "Pod jobs/etl-1";
    Json out = Json::object();
    add_json(out, grounds);
    return std::pair(render_text(grounds), out.at("evictions", "last", "backsOffSeconds")->get_int().value_or(-1));
  };
  const auto [during, left] = last(90s + 500ms);
  EXPECT_NE(during.find("evicted 1m30s ago (Pod jobs/etl-1): backs off for another 29s"), std::string::npos) << during;
  EXPECT_EQ(left, 30) << "rounded up: it is not over yet";
  const auto [after, none] = last(121s);
  EXPECT_NE(after.find("more than the 2m0s that it backs off"), std::string::npos) << after;
  EXPECT_EQ(none, 0);
}

TEST(GroundsText, DoesNotGuessCountsOfANewerVersion) {
  Grounds grounds;
  grounds.evictions.breaker.emplace();  // closed, by the part of it that could be read
  grounds.evictions.known = false;
  const std::string told = render_text(grounds);
  EXPECT_NE(told.find("evictions of the pool: a newer version counts them; the limits are unknown here: "
                      "offers are only cut\n"),
            std::string::npos)
      << told;
  Json out = Json::object();
  add_json(out, grounds);
  EXPECT_FALSE(out.at("evictions", "known")->as_bool());
}

TEST(GroundsText, AYoungPodCountsByItsHistoryOnlyOnceItWasReported) {
  model::PodView pod{.id = {"jobs", "web-1"}, .request = {model::CpuMilli{8000}, model::MemoryBytes{1 << 30}}};
  pod.warm_up = {500, model::Resources{model::CpuMilli{3000}, model::MemoryBytes{1 << 20}}};
  model::NodeSnapshot node;
  node.metric.emplace();
  const auto told = [&] {
    Grounds grounds;
    grounds.young = {young_pod(pod, node)};
    Json out = Json::object();
    add_json(out, grounds);
    return std::pair(render_text(grounds), std::string(out.member("youngPods")->as_array()[0].text_at("reason", "id")));
  };
  const auto [before, by_request] = told();
  EXPECT_NE(before.find("about to use 3000m and 1048576 (1.0 MiB), not reported yet: "), std::string::npos) << before;
  EXPECT_EQ(by_request, "TM-SAFE-010") << "policy/sell/overcommit counts it with its request";
  node.metric->pods.push_back({pod.id, {}, model::PriorityClass::kProd, model::Qos::kLs});
  const auto [after, by_history] = told();
  EXPECT_EQ(after.find("not reported yet"), std::string::npos) << after;
  EXPECT_EQ(by_history, "TM-SAFE-011");
}

}  // namespace
}  // namespace tidemark::policy::explain
