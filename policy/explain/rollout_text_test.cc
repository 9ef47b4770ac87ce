#include "policy/explain/rollout_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::policy::explain {
namespace {

using model::Reason;

const base::WallTime kStart{std::chrono::hours(500'000)};

settings::Stored rolling() {
  settings::Stored stored;
  stored.book = settings::with_revision({}, {{{"a", "1"}}, {}}, {}, kStart);
  stored.book = settings::with_revision(std::move(stored.book), {{{"a", "2"}}, {}}, {}, kStart + std::chrono::hours(1));
  stored.book[0].completed = true;
  stored.state.emplace();
  stored.state->layers = {{stored.book[0].hash, settings::kAllNodes, settings::kAllNodes},
                          {stored.book[1].hash, settings::kAllNodes, settings::order_of("n")}};
  stored.state->phase = settings::Phase::kFleet;
  stored.state->began = kStart + std::chrono::hours(1);
  return stored;
}

TEST(RolloutText, ShowsRevisionReasonAndProgress) {
  const auto stored = rolling();
  settings::RolloutPlan plan;
  plan.waiting = 7;
  auto state = *stored.state;
  EXPECT_EQ(render_text(Reason::kRolloutFleet, state, stored.book, plan),
            base::cat("revision 2 (", stored.book[1].hash,
                      "): all other nodes get the new settings, at a limited number per minute [TM-ROLLOUT-010]; 7 "
                      "nodes do not run it yet"));
  state.hold = settings::Hold{Reason::kRolloutEvictionSpike, kStart, std::nullopt, "night", 13, 12};
  EXPECT_NE(
      render_text(Reason::kRolloutEvictionSpike, state, stored.book, {}).find("13 evictions in pool night, 12 allowed"),
      std::string::npos);
}

TEST(RolloutText, ListShowsTheNodesOfEachRevision) {
  auto stored = rolling();
  const std::string one = stored.book[0].hash;
  const std::string two = stored.book[1].hash;
  stored.state->hold =
      settings::Hold{Reason::kRolloutHeld, kStart + std::chrono::hours(2), kStart + std::chrono::hours(9), "", 0, 0};
  EXPECT_EQ(render_text(stored, kStart + std::chrono::hours(3)),
            "being rolled out: revision 2 (" + two + "), the other nodes get it, for 2h0m0s\n" +
                "paused for 1h0m0s: paused on request [TM-ROLLOUT-013]: until " +
                base::format_rfc3339(kStart + std::chrono::hours(9)) + "\n" +
                "REVISION  HASH              AGE     WAS EVERYWHERE  IN FORCE ON\n"
                "2         " +
                two +
                "  2h0m0s  no              all of the canary nodes, some of the others\n"
                "1         " +
                one + "  3h0m0s  yes             nodes without a newer one\n");
  stored.state.reset();
  EXPECT_EQ(render_text(stored, kStart).find("no revision yet"), 0U);
  EXPECT_TRUE(render_json(stored).at("state")->is_null());
}

TEST(RolloutText, EveryReasonHasAnEvent) {
  for (const auto& row : model::all_reasons()) EXPECT_FALSE(event_reason(row.reason).empty()) << row.id;
}

}  // namespace
}  // namespace tidemark::policy::explain
